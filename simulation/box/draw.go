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
	fault    string
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
	d := &drawer{Rand: rand.New(rand.NewPCG(seed, 0x626f78)), fault: fault, n: n, ends: map[string]Schedule{}}
	d.clients = clientNames[:2+d.IntN(2)]
	for range drawSteps {
		if d.IntN(5) < 2 {
			d.disturb()
		} else {
			d.act()
		}
	}
	d.finish()
	return d.schedule
}

// does adds steps of a client.
func (d *drawer) does(client string, verbs ...verb) {
	for _, do := range verbs {
		d.schedule = append(d.schedule, Step{Do: do, Client: client})
	}
}

// suffers adds faults of servers.
func (d *drawer) suffers(servers string, verbs ...verb) {
	for _, do := range verbs {
		d.schedule = append(d.schedule, Step{Do: do, Servers: servers})
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

// disturb adds a fault, or its end.
func (d *drawer) disturb() {
	client, some := d.someone(), d.minority()
	one := string(letters[d.IntN(d.n)])
	_, begun := d.ends[ofServers]
	switch d.fault {
	case "pause":
		d.pauses(client)
	case "crash":
		if d.toggle(ofServers, Schedule{{spawn, client, ""}}, Step{kill, client, ""}) && d.holder == client {
			d.holder = ""
		}
	case "network":
		if some != "" {
			do := []verb{cut, delay, hold, lose}[d.IntN(4)]
			d.toggle(client, Schedule{{heal, client, letters[:d.n]}}, Step{do, client, some})
		}
	case "hang":
		d.breaks(some, hang, wake)
	case "address":
		d.breaks(some, move, home)
	case "stop", evenNumber:
		if !begun { // until the end, because servers that start are empty: that is another fault
			d.breaks(some, stop, start)
		}
	case clockFault:
		if !begun { // until the end: the clocks of other servers would be of no minority any more
			d.breaks(some, []verb{ahead, ahead, behind}[d.IntN(3)], right)
		}
	case "failover":
		d.toggle(ofServers, Schedule{{fail, "", one}}, Step{follow, "", one}, Step{lag, "", one})
		if begun {
			d.fault = "" // no server fails twice
		}
	case "flush":
		d.suffers(one, flush)
	case "restart":
		d.suffers(one, stop, start)
	case "old data":
		if d.IntN(2) == 0 {
			d.suffers(one, save)
		} else {
			d.suffers(one, stop, start)
		}
	}
}

// toggle ends the fault of something that is disturbed, or else begins it, and reports which.
func (d *drawer) toggle(what string, end Schedule, begin ...Step) (begun bool) {
	if open, ok := d.ends[what]; ok {
		d.schedule = append(d.schedule, open...)
		delete(d.ends, what)
		return false
	}
	d.schedule = append(d.schedule, begin...)
	d.ends[what] = end
	return true
}

// breaks is toggle for some servers.
func (d *drawer) breaks(servers string, begin, end verb) {
	if servers != "" {
		d.toggle(ofServers, Schedule{{end, "", servers}}, Step{begin, "", servers})
	}
}

// pauses begins a pause, sometimes between a holder's check and its write, or ends it.
func (d *drawer) pauses(client string) {
	if _, begun := d.ends[ofServers]; client == d.holder && !begun {
		d.does(client, checks, reads)
		if d.IntN(3) == 0 { // the write is late, and not the client
			d.does(client, sends)
			d.ends[client] = Schedule{{lands, client, ""}}
			return
		}
	}
	d.toggle(ofServers, Schedule{{resume, client, ""}, {writes, client, ""}}, Step{pause, client, ""})
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

// finish ends all faults, and has a client get the lock at the end.
func (d *drawer) finish() {
	for _, what := range append([]string{ofServers}, d.clients...) {
		d.schedule = append(d.schedule, d.ends[what]...)
	}
	clear(d.ends)
	for _, c := range d.clients {
		d.does(c, works, releases)
	}
	d.does(d.someone(), waits, works, releases)
}
