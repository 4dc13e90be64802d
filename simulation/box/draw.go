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
	paused   string
	down     string          // servers that hang, are stopped or elsewhere
	end      verb            // ends that
	broken   map[string]bool // clients whose links are disturbed
	dead     map[string]bool
	late     []string // clients whose writes are on their way
}

// drawSteps is how many steps are drawn before the end.
const drawSteps = 12

// draw draws a schedule with faults of one kind.
func draw(seed uint64, fault string, n int) Schedule {
	d := &drawer{Rand: rand.New(rand.NewPCG(seed, 0x626f78)), fault: fault, n: n, broken: map[string]bool{}, dead: map[string]bool{}}
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

func (d *drawer) add(do verb, client, servers string) {
	d.schedule = append(d.schedule, Step{Do: do, Client: client, Servers: servers})
}

// alive returns the clients that run: at least one, because no two are paused or dead at a time.
func (d *drawer) alive() []string {
	return slices.DeleteFunc(slices.Clone(d.clients), func(c string) bool { return c == d.paused || d.dead[c] })
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
		d.add(releases, c, "")
		d.holder = ""
	case c == d.holder:
		d.add([]verb{works, works, checks, extends}[d.IntN(4)], c, "")
	case d.holder == "" || d.holder == d.paused:
		d.add(waits, c, "")
		d.add(works, c, "")
		d.holder = c
	default:
		d.add(tries, c, "")
		d.add(works, c, "")
	}
}

// disturb adds a fault, or its end.
func (d *drawer) disturb() {
	switch one := string(letters[d.IntN(d.n)]); d.fault {
	case "pause":
		d.pauses()
	case "crash":
		d.crashes()
	case "network":
		d.cuts()
	case "hang":
		d.toggle(d.minority(), wake, hang)
	case "address":
		d.toggle(d.minority(), home, move)
	case "stop", evenNumber:
		if d.down == "" { // until the end, because servers that start are empty: that is another fault
			d.toggle(d.minority(), start, stop)
		}
	case clockFault:
		if d.down == "" { // until the end: the clocks of other servers would be of no minority any more
			d.toggle(d.minority(), right, []verb{ahead, ahead, behind}[d.IntN(3)])
		}
	case "failover":
		if d.down == "" {
			d.toggle(one, fail, follow, lag)
		} else if d.end != "" { // no server fails twice
			d.add(fail, "", d.down)
			d.end = ""
		}
	case "flush":
		d.add(flush, "", one)
	case "old data", "restart":
		if d.fault == "old data" && d.IntN(2) == 0 {
			d.add(save, "", one)
			return
		}
		d.add(stop, "", one)
		d.add(start, "", one)
	}
}

// crashes kills a client, or starts it again.
func (d *drawer) crashes() {
	for _, client := range d.clients {
		if d.dead[client] {
			d.add(spawn, client, "")
			delete(d.dead, client)
			return
		}
	}
	client := d.someone()
	d.add(kill, client, "")
	d.dead[client] = true
	if d.holder == client {
		d.holder = ""
	}
}

// cuts disturbs a client's links, or ends that.
func (d *drawer) cuts() {
	client, servers := d.someone(), d.minority()
	if d.broken[client] {
		d.add(heal, client, letters[:d.n])
		delete(d.broken, client)
	} else if servers != "" {
		d.add([]verb{cut, delay, hold, lose}[d.IntN(4)], client, servers)
		d.broken[client] = true
	}
}

// pauses begins a pause, sometimes between a holder's check and its write, or ends it.
func (d *drawer) pauses() {
	if d.paused != "" {
		d.add(resume, d.paused, "")
		d.add(writes, d.paused, "")
		d.paused = ""
		return
	}
	client := d.someone()
	if client == d.holder {
		d.add(checks, client, "")
		d.add(reads, client, "")
		if d.IntN(3) == 0 { // the write is late, and not the client
			d.add(sends, client, "")
			d.late = append(d.late, client)
			return
		}
	}
	d.add(pause, client, "")
	d.paused = client
}

// toggle begins a fault of servers, or ends it.
func (d *drawer) toggle(servers string, end verb, begin ...verb) {
	if d.down != "" {
		d.add(d.end, "", d.down)
		d.down = ""
	} else if servers != "" {
		for _, do := range begin {
			d.add(do, "", servers)
		}
		d.down, d.end = servers, end
	}
}

// minority returns some servers, fewer than half of them.
func (d *drawer) minority() string {
	order := d.Perm(d.n)[:d.IntN((d.n-1)/2+1)]
	slices.Sort(order)
	var servers []byte
	for _, i := range order {
		servers = append(servers, letters[i])
	}
	return string(servers)
}

// finish ends all faults, and has a client get the lock at the end.
func (d *drawer) finish() {
	if d.paused != "" {
		d.pauses()
	}
	if d.down != "" && d.end != "" {
		d.add(d.end, "", d.down)
	}
	for _, c := range d.clients {
		if d.broken[c] {
			d.add(heal, c, letters[:d.n])
		}
	}
	for _, c := range d.late {
		d.add(lands, c, "")
	}
	d.paused, d.down = "", ""
	for _, c := range d.alive() {
		d.add(works, c, "")
		d.add(releases, c, "")
	}
	last := d.someone()
	d.add(waits, last, "")
	d.add(works, last, "")
	d.add(releases, last, "")
}
