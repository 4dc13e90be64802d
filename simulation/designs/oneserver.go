package designs

import "github.com/redquorum/redlock/simulation"

// The commands that the recipes are made of.

func setNX(s Session) (bool, error) { return s.Is("SETNX", s.Key, s.Value) }
func setNXPX(s Session) (bool, error) {
	return s.Is("SET", s.Key, s.Value, "NX", "PX", s.Milliseconds())
}
func expire(s Session) (bool, error)     { return s.Is("EXPIRE", s.Key, s.Seconds()) }
func del(s Session) (bool, error)        { return s.Is("DEL", s.Key) }
func compareDel(s Session) (bool, error) { return s.Is("COMPAREDEL", s.Key, s.Value) }
func compareExpire(s Session) (bool, error) {
	return s.Is("COMPAREEXPIRE", s.Key, s.Value, s.Milliseconds())
}

// setNXPXAT and expireAt leave it to the server's clock to find the moment that the
// client means. (The extension isn't compared: nothing hangs on that here.)
func setNXPXAT(s Session) (bool, error) {
	return s.Is("SET", s.Key, s.Value, "NX", "PXAT", s.Deadline())
}
func expireAt(s Session) (bool, error) { return s.Is("PEXPIREAT", s.Key, s.Deadline()) }

// setNXThenExpire takes two commands for what must be one.
func setNXThenExpire(s Session) (bool, error) {
	if had, err := setNX(s); err != nil || !had {
		return false, err
	}
	// Nobody looks at this answer: the key was set a moment ago.
	_, err := expire(s)
	return err == nil, err
}

// setEX overwrites what is there, whoever set it.
func setEX(s Session) (bool, error) { return s.Is("SETEX", s.Key, s.Seconds(), s.Value) }

// evalSetNXPX is setNXPX by a script, which changes nothing about it.
func evalSetNXPX(s Session) (bool, error) {
	return s.Is("EVAL", simulation.SetNXPX, "1", s.Key, s.Value, s.Milliseconds())
}

// getThenDel takes two commands for what must be one.
func getThenDel(s Session) (bool, error) {
	reply, err := s.Do("GET", s.Key)
	if err != nil || reply.Text != s.Value {
		return false, err
	}
	return del(s)
}

// compareExpireOrSet extends, and sets the key where it has gone.
func compareExpireOrSet(s Session) (bool, error) {
	return s.Is("EVAL", simulation.CompareExpireOrSet, "1", s.Key, s.Value, s.Milliseconds())
}

// tairExtend and tairRelease are Tair's commands for what others need scripts for.
// Without PX, CAS would take the expiry away.
func tairExtend(s Session) (bool, error) {
	return s.Is("CAS", s.Key, s.Value, s.Value, "PX", s.Milliseconds())
}
func tairRelease(s Session) (bool, error) { return s.Is("CAD", s.Key, s.Value) }

// single instance, correctly: what the Redis document builds on.
var correct = Recipe{Acquire: setNXPX, Extend: compareExpire, Release: compareDel}

func oneServer() []Design {
	return []Design{{
		Name: "setnx", Title: "SETNX, released by DEL", Group: OneServer, Servers: 1,
		Source:   "the first step of most articles; the Redis command reference, SETNX, \"Design pattern: Locking with SETNX\", which discourages it",
		Promises: "one holder at a time, for as long as it likes",
		Breaks:   "a holder that crashes (X1), or whose DEL gets lost, holds it forever; a server that forgets (S7, S26)",
		Cure:     "setpx-cad",
		Apply: OnOneServer(Recipe{
			Acquire: setNX,
			Extend:  func(Session) (bool, error) { return true, nil }, // it has all the time there is
			Release: del,
			Lasts:   true,
		}),
	}, {
		Name: "setnx-expire", Title: "SETNX, then EXPIRE, released by DEL", Group: OneServer, Servers: 1,
		Source:   "common in articles; redis/jedis issue 321; redis-py's Lock up to 2.10.5 (redis/redis-py issue 818); Redis in Action, 6.2.5 \"Locks with timeouts\", which mends the crash by having losers look for a missing expiry",
		Promises: "free again when the holder has crashed",
		Breaks:   "a crash or a lost packet between the two commands: held forever (S16); DEL without a comparison (S17)",
		Cure:     "setpx-del",
		Apply:    OnOneServer(Recipe{Acquire: setNXThenExpire, Extend: expire, Release: del}),
	}, {
		Name: "setpx-del", Title: "SET NX PX, released by DEL", Group: OneServer, Servers: 1,
		Source:   "common in articles; the Redis document, \"Correct Implementation with a Single Instance\", warns of it: \"Using just DEL is not safe\"",
		Promises: "free again when the holder has crashed, in one command",
		Breaks:   "a holder that is late deletes, and extends, the next one's lock (S17)",
		Cure:     "setpx-cad",
		Apply:    OnOneServer(Recipe{Acquire: setNXPX, Extend: expire, Release: del}),
	}, {
		Name: "setpx-cad", Title: "SET NX PX, released by compare-and-delete", Group: OneServer, Servers: 1,
		Source:   "the Redis document, \"Correct Implementation with a Single Instance\"; bsm/redislock and many others",
		Promises: "one holder at a time while the server lives and its holder is quick; nobody releases another's lock",
		Breaks:   "the time that the SET took isn't counted (S3), nor that for which the machine was suspended (S15); a pause or a late packet after the look at the clock (S1, S2); a server that hangs or is down (S27), forgets (S7, S26) or has another idea of the time (S4, S6)",
		Cure:     "redlock",
		Apply:    OnOneServer(correct),
	}, {
		Name: "tair-cas", Title: "SET NX PX, extended by CAS and released by CAD (Tair)", Group: OneServer, Servers: 1,
		Source:   "Alibaba Cloud, \"Implement high-performance distributed locks by using TairString\"",
		Promises: "as setpx-cad, without scripts",
		Breaks:   "what breaks setpx-cad: the commands are quicker, not other ones",
		Cure:     "redlock",
		Apply:    OnOneServer(Recipe{Acquire: setNXPX, Extend: tairExtend, Release: tairRelease}),
	}}
}
