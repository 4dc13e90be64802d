package quorum

import "sync"

// registry knows which member is which server. Two members that are one server, by
// whatever names, have one vote, because a majority that counts it twice is none
// (scenario S13).
type registry struct {
	mu     sync.Mutex
	owner  map[string]string // server -> the member that reaches it
	server map[string]string // member -> the server that it reaches
}

func newRegistry() *registry {
	return &registry{owner: make(map[string]string), server: make(map[string]string)}
}

// claim notes that the member reaches the server, and no longer the one that it
// reached before. If another member reaches it, claim returns that member's name and
// notes nothing. An empty server is hidden, and can't be told from another.
func (r *registry) claim(server, member string) (other string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.server[member]; old != "" && old != server {
		delete(r.owner, old)
		delete(r.server, member)
	}
	if server == "" {
		return ""
	}
	//guard:one-server-one-vote  one server under two names votes once
	if owner, taken := r.owner[server]; taken && owner != member {
		return owner
	}
	r.owner[server], r.server[member] = member, server
	return ""
}
