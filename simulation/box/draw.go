package box

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// episodes is how often a random schedule has its fault.
const episodes = 3

// draw draws a random schedule: two or three clients that lock, work and unlock, and a fault that begins and ends
// several times, and never affects more than a minority of the servers at a time. At the end a client gets the lock.
// A client skips the steps that it can't do, because it has the lock or has none.
func draw(seed uint64, fault string, n int) (s Schedule) {
	r := rand.New(rand.NewPCG(seed, 0x626f78))
	of, clients := faultNamed(fault), clientNames[:2+r.IntN(2)]
	does := func(client string, verbs ...verb) {
		for _, do := range verbs {
			s = append(s, Step{Do: do, Client: client})
		}
	}
	another := func(than string) string {
		others := slices.DeleteFunc(slices.Clone(clients), func(c string) bool { return c == than })
		return others[r.IntN(len(others))]
	}
	releaseAll := func() {
		for _, c := range clients {
			does(c, releases)
		}
	}
	act := func(but string) {
		for range 1 + r.IntN(3) {
			does(another(but), [][]verb{{tries, works}, {tries, works}, {works}, {checks}, {extends, works}, {releases}}[r.IntN(6)]...)
		}
	}
	for range episodes {
		act("")
		if len(of.random) == 0 {
			continue
		}
		way, client, servers := of.random[r.IntN(len(of.random))], another(""), minority(r, n)
		begin, end := way[0], way[1]
		if end == "" || end == "fail S" { // it is over at once, or needs no majority that works
			servers = string(letters[r.IntN(n)])
		}
		takes := func(text string) {
			steps, err := ParseSchedule(strings.NewReplacer("C", client, "S", servers).Replace(text), n)
			if err != nil {
				panic(err) // a test draws all ways
			}
			s = append(s, steps...)
		}
		ofServers := strings.Contains(begin, "S")
		switch {
		case ofServers && servers == "":
			continue
		case ofServers && r.IntN(2) == 0: // nobody has the lock, and the client has to get it
			takes(begin)
			releaseAll()
			does(client, waits, works)
		default: // the fault comes between the client's check and its write
			releaseAll()
			does(client, tries, checks, reads)
			takes(begin)
		}
		switch {
		case ofServers:
			does(another(client), tries, works)
			does(client, extends, works)
			act("")
		case begin == "C sends":
			act(client)
		default:
			does(another(client), waits, works)
			act(client)
		}
		if end != "" {
			takes(end)
		}
		if of.once {
			break
		}
	}
	for _, c := range clients {
		does(c, works, releases)
	}
	does(another(""), waits, works, releases)
	return s
}

// minority returns some servers, fewer than half of them: none, if there are less than three.
func minority(r *rand.Rand, n int) string {
	most := (n - 1) / 2
	order := r.Perm(n)[:min(most, 1+r.IntN(max(1, most)))]
	slices.Sort(order)
	var servers []byte
	for _, i := range order {
		servers = append(servers, letters[i])
	}
	return string(servers)
}
