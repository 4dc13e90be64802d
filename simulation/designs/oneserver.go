package designs

import "github.com/redquorum/redlock/simulation/redismodel"

// The commands of the recipes.

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

// setNXPXAT and expireAt send a time by the client's clock, which the server compares with its
// own. (The extension doesn't compare values, which makes no difference here.)
func setNXPXAT(s Session) (bool, error) {
	return s.Is("SET", s.Key, s.Value, "NX", "PXAT", s.Deadline())
}
func expireAt(s Session) (bool, error) { return s.Is("PEXPIREAT", s.Key, s.Deadline()) }

// setNXThenExpire uses two commands instead of one.
func setNXThenExpire(s Session) (bool, error) {
	if had, err := setNX(s); err != nil || !had {
		return false, err
	}
	// The reply is not checked: the key was set a moment ago.
	_, err := expire(s)
	return err == nil, err
}

// setEX overwrites any client's key.
func setEX(s Session) (bool, error) { return s.Is("SETEX", s.Key, s.Seconds(), s.Value) }

// evalSetNXPX is setNXPX in a script, with the same effect.
func evalSetNXPX(s Session) (bool, error) {
	return s.Is("EVAL", redismodel.SetNXPX, "1", s.Key, s.Value, s.Milliseconds())
}

// getThenDel uses two commands instead of one.
func getThenDel(s Session) (bool, error) {
	reply, err := s.Do("GET", s.Key)
	if err != nil || reply.Text != s.Value {
		return false, err
	}
	return del(s)
}

// compareExpireOrSet extends, or sets the key if it is missing.
func compareExpireOrSet(s Session) (bool, error) {
	return s.Is("EVAL", redismodel.CompareExpireOrSet, "1", s.Key, s.Value, s.Milliseconds())
}

// tairExtend and tairRelease use Tair's commands where others need scripts. Without PX, CAS
// would remove the expiry.
func tairExtend(s Session) (bool, error) {
	return s.Is("CAS", s.Key, s.Value, s.Value, "PX", s.Milliseconds())
}
func tairRelease(s Session) (bool, error) { return s.Is("CAD", s.Key, s.Value) }

// correct is the Redis document's correct implementation with a single instance.
var correct = Recipe{Acquire: setNXPX, Extend: compareExpire, Release: compareDel}

func oneServer() []Design {
	return []Design{{
		Name: "setnx", Title: "SETNX, released by DEL", Group: OneServer, Servers: 1,
		Source:   "the first step of most articles; the Redis command reference, SETNX, \"Design pattern: Locking with SETNX\", which discourages it",
		Promises: "one holder at a time, for any duration",
		Breaks:   "a holder that crashes (X1), or whose DEL gets lost, holds it forever; a server that loses data (S7, S26)",
		Cure:     "setpx-cad",
		Apply: OnOneServer(Recipe{
			Acquire: setNX,
			Extend:  func(Session) (bool, error) { return true, nil }, // it does not expire
			Release: del,
			Lasts:   true,
		}),
	}, {
		Name: "setnx-expire", Title: "SETNX, then EXPIRE, released by DEL", Group: OneServer, Servers: 1,
		Source:   "common in articles; redis/jedis issue 321; redis-py's Lock up to 2.10.5 (redis/redis-py issue 818); Redis in Action, 6.2.5 \"Locks with timeouts\", which fixes the crash by having losers check for a missing expiry",
		Promises: "free again when the holder has crashed",
		Breaks:   "a crash or a lost packet between the two commands: held forever (S16); DEL without a comparison (S17)",
		Cure:     "setpx-del",
		Apply:    OnOneServer(Recipe{Acquire: setNXThenExpire, Extend: expire, Release: del}),
	}, {
		Name: "setpx-del", Title: "SET NX PX, released by DEL", Group: OneServer, Servers: 1,
		Source:   "common in articles; the Redis document, \"Correct Implementation with a Single Instance\", warns of it: \"Using just DEL is not safe\"",
		Promises: "free again when the holder has crashed, in one command",
		Breaks:   "a late holder deletes, and extends, the next holder's lock (S17)",
		Cure:     "setpx-cad",
		Apply:    OnOneServer(Recipe{Acquire: setNXPX, Extend: expire, Release: del}),
	}, {
		Name: "setpx-cad", Title: "SET NX PX, released by compare-and-delete", Group: OneServer, Servers: 1,
		Source:   "the Redis document, \"Correct Implementation with a Single Instance\"; bsm/redislock and many others",
		Promises: "one holder at a time while the server is up and the holder is quick; no client releases another client's lock",
		Breaks:   "the time that the SET took isn't counted (S3), nor is the time of a suspension (S15); a pause or a late packet after the check of the clock (S1, S2); a server that hangs or is down (S27), loses data (S7, S26) or has another time (S4, S6)",
		Cure:     "redlock",
		Apply:    OnOneServer(correct),
	}, {
		Name: "tair-cas", Title: "SET NX PX, extended by CAS and released by CAD (Tair)", Group: OneServer, Servers: 1,
		Source:   "Alibaba Cloud, \"Implement high-performance distributed locks by using TairString\"",
		Promises: "as setpx-cad, without scripts",
		Breaks:   "what breaks setpx-cad: these commands are quicker, but do the same",
		Cure:     "redlock",
		Apply:    OnOneServer(Recipe{Acquire: setNXPX, Extend: tairExtend, Release: tairRelease}),
	}}
}
