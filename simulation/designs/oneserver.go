package designs

// tair is the same as correct by Tair's commands. Without PX, CAS would remove the expiry.
var tair = Recipe{Acquire: setNXPX, Extend: Commands("CAS KEY VALUE VALUE PX MS"), Release: Commands("CAD KEY VALUE")}

func oneServer() []Design {
	return []Design{{
		Name: "setnx", Title: "SETNX, released by DEL", Group: OneServer, Servers: 1,
		Source: "the first step of most articles; the Redis command reference, SETNX, \"Design pattern: Locking with SETNX\", which discourages it",
		Breaks: "a holder that crashes (X1), or whose DEL gets lost, holds it forever; a server that loses data (S7, S26)",
		Apply:  OnOneServer(Recipe{Acquire: Commands("SETNX KEY VALUE"), Release: del, Lasts: true}),
	}, {
		Name: "setnx-expire", Title: "SETNX, then EXPIRE, released by DEL", Group: OneServer, Servers: 1,
		Source: "common in articles; redis/jedis issue 321; redis-py's Lock up to 2.10.5 (redis/redis-py issue 818); Redis in Action, 6.2.5 \"Locks with timeouts\", which fixes the crash by having losers check for a missing expiry",
		Breaks: "a crash or a lost packet between the two commands: held forever (S16); DEL without a comparison (S17)",
		Apply:  OnOneServer(Recipe{Acquire: Commands("SETNX KEY VALUE; EXPIRE KEY SECONDS"), Extend: expire, Release: del}),
	}, {
		Name: "setpx-del", Title: "SET NX PX, released by DEL", Group: OneServer, Servers: 1,
		Source: "common in articles; the Redis document, \"Correct Implementation with a Single Instance\", warns of it: \"Using just DEL is not safe\"",
		Breaks: "a late holder deletes, and extends, the next holder's lock (S17)",
		Apply:  OnOneServer(Recipe{Acquire: setNXPX, Extend: expire, Release: del}),
	}, {
		Name: "setpx-cad", Title: "SET NX PX, released by compare-and-delete", Group: OneServer, Servers: 1,
		Source: "the Redis document, \"Correct Implementation with a Single Instance\"; bsm/redislock and many others",
		Breaks: "the time that the SET took isn't counted (S3), nor is the time of a suspension (S15); a pause or a late packet after the check of the clock (S1, S2); a server that hangs or is down (S27), loses data (S7, S26), or whose clock is wrong (S4, S6)",
		Apply:  OnOneServer(correct),
	}, {
		Name: "tair-cas", Title: "SET NX PX, extended by CAS and released by CAD (Tair)", Group: OneServer, Servers: 1,
		Source: "Alibaba Cloud, \"Implement high-performance distributed locks by using TairString\"",
		Breaks: "as setpx-cad: these commands are quicker, but do the same",
		Apply:  OnOneServer(tair),
	}}
}
