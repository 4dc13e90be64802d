package contract

import "github.com/stretchr/testify/require"

// parts is the contract. The parts are independent, so that a broken instance fails the part
// that names what is broken.
var parts = []part{
	{"name", checkName},
	{"acquire a free key", checkAcquireFree},
	{"acquire a held key", checkAcquireHeld},
	{"acquire without fence", checkAcquireBare},
	{"tokens rise", checkTokens},
	{"a new counter starts from the clock", checkSeed},
	{"a counter of another run is lifted to the clock", checkRun},
	{"a run is Acquire's to write", checkRunKept},
	{"another run is not asked", checkOtherRun},
	{"counters expire", checkCounterTTL},
	{"tokens are exact to the last", checkLargeTokens},
	{"raise", checkRaise},
	{"raise only while mine", checkRaiseMine},
	{"extend", checkExtend},
	{"extend only while mine", checkExtendMine},
	{"restore", checkRestore},
	{"restore over nobody else", checkRestoreOthers},
	{"restore without fence", checkRestoreBare},
	{"release", checkRelease},
	{"release only while mine", checkReleaseMine},
	{"acquire reserves tokens", checkReserved},
	{"reserved tokens end at the clock", checkReservedClock},
	{"how far acquire counts", checkAcquireAhead},
	{"where counters start", checkStart},
	{"how far raise and restore lift", checkLiftAhead},
	{"replace", checkReplace},
	{"replace without fence", checkReplaceBare},
	{"the wait queue", checkQueue},
	{"notifications", checkNotifications},
	{"closed subscriptions are passed over", checkClosedSubscriptions},
	{"look changes nothing", checkLook},
	{"keys without expiry", checkNoExpiry},
	{"ttl", checkTTL},
	{"clock", checkClock},
	{"set: the same and a new one", checkSetAgrees},
	{"set: mismatch", checkSetMismatch},
	{"set: a held key is not taken over", checkSetHeld},
	{"keys", checkKeys},
	{"values", checkValues},
	{"send: one vote for each", checkSendOnce},
	{"send: a timeout", checkSendTimeout},
	{"send: many at once", checkSendMany},
	{"send: from a receiver", checkSendAgain},
	{"probe: the context is over", checkContextOver},
	{"one of many acquires", checkRace},
	{"tokens of many cycles", checkCycles},
	{"many keys at once", checkManyKeys},
	{"several keys: acquire", checkSeveralAcquire},
	{"several keys: one token", checkSeveralTokens},
	{"several keys: nothing by halves", checkSeveralRefusals},
	{"several keys: held", checkSeveralHeld},
	{"several keys: replace", checkSeveralReplace},
	{"several keys: one of many acquires", checkSeveralRace},
	{"probe", checkProbe},
	{"mark", checkMark},
	{"restart", checkRestart},
}

func checkName(c *check) {
	require.NotEmpty(c.t, c.inst.Name())
	require.Equal(c.t, c.inst.Name(), c.inst.Name())
}
