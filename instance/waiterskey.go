package instance

// WaitersKey is the key of the line of those who wait for a lock: a list beside the
// lock's key, in the same slot, which is there only while somebody waits, at one of
// the instances. It is no part of the lock: deleting it costs a wake-up.
func WaitersKey(key string) string { return "{" + key + waitersSuffix }

const waitersSuffix = "}:redlock:waiters"
