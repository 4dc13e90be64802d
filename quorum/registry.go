package quorum

import "sync"

// registry gives each server to one instance. Two instances that reach the same server,
// under whatever names, have one vote: a majority that counts a server twice is none
// (scenario S13). The zero registry is empty.
type registry struct {
	mu         sync.Mutex
	instanceAt map[string]string // server -> the instance that reaches it
	serverOf   map[string]string // instance -> the server that it reaches
}

// claim notes that the instance reaches the server now, and no longer the one before. If
// another instance has claimed the server, claim returns that instance's name, and notes only
// that the instance has left its earlier server. An empty server is hidden: it can't be told from
// another.
func (r *registry) claim(server, instance string) (other string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.instanceAt == nil {
		r.instanceAt, r.serverOf = make(map[string]string), make(map[string]string)
	}
	if old := r.serverOf[instance]; old != "" && old != server {
		delete(r.instanceAt, old)
		delete(r.serverOf, instance)
	}
	if server == "" {
		return ""
	}
	//guard:one-server-one-vote  one server under two names votes once
	if other := r.instanceAt[server]; other != "" && other != instance {
		return other
	}
	r.instanceAt[server], r.serverOf[instance] = instance, server
	return ""
}
