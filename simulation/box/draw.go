package box

import (
	"math/rand/v2"
	"slices"
)

// drawer draws a random schedule: two or three clients that lock, work and unlock, and faults of
// one kind that never affect more than a minority of the servers at a time. At the end all
// faults end, and the last client gets the lock.
//
// It follows what the clients would do without faults, so that most steps come to something.
type drawer struct {
	*rand.Rand
	fault    faultKind
	n        int
	schedule Schedule
	clients  []string
	holder   string
	ends     map[string]Schedule // the steps that end a fault, by what is disturbed
}

// ofServers is the key in drawer.ends for servers and processes, which have only one fault at a time.
const ofServers = ""

// drawSteps is how many steps are drawn before the end.
const drawSteps = 12

// draw draws a schedule with faults of one kind.
func draw(seed uint64, fault string, n int) Schedule {
	d := &drawer{Rand: rand.New(rand.NewPCG(seed, 0x626f78)), fault: faultNamed(fault), n: n, ends: map[string]Schedule{}}
	d.clients = clientNames[:2+d.IntN(2)]
	for range drawSteps {
		if d.IntN(5) < 2 && len(d.fault.random) > 0 {
			d.disturb()
		} else {
			d.act()
		}
	}
	for _, what := range append([]string{ofServers}, d.clients...) {
		d.schedule = append(d.schedule, d.ends[what]...)
	}
	clear(d.ends)
	for _, c := range d.clients {
		d.does(c, works, releases)
	}
	d.does(d.someone(), waits, works, releases)
	return d.schedule
}

// does adds steps of a client.
func (d *drawer) does(client string, verbs ...verb) {
	for _, do := range verbs {
		d.schedule = append(d.schedule, Step{Do: do, Client: client})
	}
}

// alive returns the clients that run: at least one, because no two are paused or dead at a time.
func (d *drawer) alive() []string {
	return slices.DeleteFunc(slices.Clone(d.clients), func(c string) bool {
		return slices.ContainsFunc(d.ends[ofServers], func(s Step) bool { return s.Client == c })
	})
}

func (d *drawer) someone() string {
	alive := d.alive()
	return alive[d.IntN(len(alive))]
}

// act has a client do something.
func (d *drawer) act() {
	c := d.someone()
	switch {
	case c == d.holder && d.IntN(3) == 0:
		d.does(c, releases)
		d.holder = ""
	case c == d.holder:
		d.does(c, []verb{works, works, checks, extends}[d.IntN(4)])
	case !slices.Contains(d.alive(), d.holder):
		d.does(c, waits, works)
		d.holder = c
	default:
		d.does(c, tries, works)
	}
}

// disturb begins a fault, or ends it.
func (d *drawer) disturb() {
	client, of := d.someone(), d.fault.random[d.IntN(len(d.fault.random))]
	target := forms[of.begin[0]]
	what, servers := ofServers, d.minority()
	switch {
	case target == linkLast:
		what = client
	case of.end == nil || of.end[0] == fail: // it is over at once, or needs no majority that works
		servers = string(letters[d.IntN(d.n)])
	}
	if end, begun := d.ends[what]; begun {
		if !d.fault.alone {
			d.schedule = append(d.schedule, end...)
			delete(d.ends, what)
		}
		return
	}
	if servers == "" && target >= serversLast {
		return
	}
	steps := func(verbs []verb) (all Schedule) {
		for _, do := range verbs {
			step := Step{Do: do}
			if forms[do] != serversLast {
				step.Client = client
			}
			if forms[do] >= serversLast {
				step.Servers = servers
			}
			all = append(all, step)
		}
		return all
	}
	if client == d.holder && of.begin[0] != kill && target <= clientLast {
		d.does(client, checks, reads) // the fault comes between the check and the write
	} else if client == d.holder && of.begin[0] == kill {
		d.holder = ""
	}
	d.schedule = append(d.schedule, steps(of.begin)...)
	if of.end != nil {
		d.ends[what] = steps(of.end)
	}
}

// minority returns some servers, fewer than half of them: none, if there are less than three.
func (d *drawer) minority() string {
	order := d.Perm(d.n)[:min((d.n-1)/2, 1+d.IntN(max(1, (d.n-1)/2)))]
	slices.Sort(order)
	var servers []byte
	for _, i := range order {
		servers = append(servers, letters[i])
	}
	return string(servers)
}
