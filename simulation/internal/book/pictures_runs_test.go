package book_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/drift"
	"github.com/redquorum/redlock/quorum"
	"github.com/redquorum/redlock/simulation"
	"github.com/redquorum/redlock/simulation/fault"
	"github.com/redquorum/redlock/simulation/internal/drawing"
	"github.com/redquorum/redlock/simulation/record"
)

const ms = time.Millisecond

// axisLeft is where time axes begin: right of the lanes' names.
const axisLeft, axisRight = 62.0, drawing.Width - 8.0

// pictureSeed is the seed of all runs that are drawn.
const pictureSeed = 2

// drawRound draws one round on five servers that is won by the third vote, and what is subtracted
// from the TTL.
func drawRound() (*drawing.Canvas, error) {
	const ttl, rounds = 10 * time.Second, 3
	result, err := simulation.Run(pictureSeed, simulation.Config{
		Processes: 1, LatencyMin: ms, LatencyMax: 12 * ms, Quorum: quorum.Config{Terms: quorum.Terms{TTL: ttl}},
	}, nil, func(c *simulation.Client) {
		// The last of several rounds: the first identifies the servers, and brings their counters
		// together.
		for range rounds {
			if lease, err := c.TryAcquire("orders:42"); err == nil {
				c.Sleep(time.Second)
				_ = c.Release(lease)
			}
			c.Sleep(time.Second)
		}
	})
	if err != nil {
		return nil, err
	}
	held := leases(result.Log)
	if len(held) != rounds {
		return nil, fmt.Errorf("picture: %d of %d rounds were won", len(held), rounds)
	}
	decided, validity := held[rounds-1].from, held[rounds-1].validity
	var sent, last time.Duration
	var asked []exchange
	for _, e := range exchanges(result.Log) {
		if e.op == "acquire" && e.sent > decided-time.Second {
			asked = append(asked, e)
			sent, last = e.sent, max(last, e.received)
		}
	}
	x := func(at time.Duration) float64 {
		return axisLeft + float64(at-sent)/float64(last-sent)*(axisRight-axisLeft-6)
	}
	p := &drawing.Canvas{Title: "One round: five servers are asked, and the third yes decides"}
	p.Text("h", 0, 14, "The third yes of five decides")
	y, before := 36.0, 0
	for _, e := range asked {
		class, answer := "yes", "yes"
		if e.received > decided {
			class, answer = "pale", "yes, not waited for"
		} else {
			before++
		}
		p.Text("n", 0, y+12, e.server)
		p.Box(class, x(e.sent), y, x(e.received)-x(e.sent), 17)
		begin := x(e.sent) + 5
		if x(e.received)-x(e.sent) < 80 {
			begin = x(e.received) + 5
		}
		p.Text("", begin, y+12.5, fmt.Sprintf("%s, %s", millis(e.received-sent), answer))
		y += 23
	}
	p.Line("ink", x(decided), 28, x(decided), y+2)
	p.Text("ok m", x(decided), y+16, "won after "+millis(decided-sent))
	y += 40

	elapsed := decided - sent
	allowance := drift.Default().Of(ttl)
	p.Text("h", 0, y, "What comes off the TTL of 10 s")
	y += 12
	cut := 56.0 // both pieces are drawn wider than they are
	p.Box("no", 0, y, cut, 20)
	p.Box("wait", cut, y, cut, 20)
	p.Box("yes", 2*cut, y, drawing.Width-2*cut-1, 20)
	p.Text("m", (drawing.Width+2*cut)/2, y+14, "validity "+millis(validity)+": the holder may act")
	p.Line("", cut/2, y+20, cut/2, y+48)
	p.Line("", 1.5*cut, y+20, 1.5*cut, y+30)
	p.Text("", 4, y+60, "elapsed "+millis(elapsed)+", from before the first request")
	p.Text("", 1.5*cut-6, y+42, "drift allowance "+millis(allowance)+": 1 % and 2 ms")
	p.Height = y + 70
	p.Desc = fmt.Sprintf("%d servers are asked at once. %d said yes within %s: the round is won, and the others are not waited for. The validity is the TTL of 10 s less %s elapsed and %s drift allowance: %s.",
		len(asked), before, millis(elapsed), millis(elapsed), millis(allowance), millis(validity))
	return p, nil
}

// millis writes a time in milliseconds.
func millis(d time.Duration) string {
	text := fmt.Sprintf("%.1f ms", float64(d)/float64(ms))
	if d >= time.Second {
		text = fmt.Sprintf("%.0f ms", float64(d)/float64(ms))
		if n := len(text) - 6; n > 0 {
			text = text[:n] + " " + text[n:]
		}
	}
	return strings.Replace(text, ".0 ms", " ms", 1)
}

// drawQuarantine draws the first start of three servers, and a restart of one of them.
func drawQuarantine() (*drawing.Canvas, error) {
	const restart, end = 63 * time.Second, 105 * time.Second
	result, err := simulation.Run(pictureSeed, simulation.Config{
		Servers: 3, Processes: 1, ServerAge: ms,
		Quorum: quorum.Config{MaxTTL: 30 * time.Second, Terms: quorum.Terms{MaxWait: time.Minute}},
	}, simulation.Schedule{
		{Kind: fault.Restart, Server: "B", At: restart, For: 100 * ms},
	}, func(c *simulation.Client) {
		for began := c.Clock().Now(); c.Clock().Now().Sub(began) < end; {
			lease, err := c.Acquire("orders:42")
			if err != nil {
				return
			}
			c.Sleep(8 * time.Second)
			_ = c.Release(lease)
			c.Sleep(3 * time.Second)
		}
	})
	if err != nil {
		return nil, err
	}
	held := leases(result.Log)
	x := func(at time.Duration) float64 {
		return axisLeft + float64(min(at, end))/float64(end)*(axisRight-axisLeft)
	}
	p := &drawing.Canvas{Title: "The first start, and a restart, on a time axis"}
	p.Text("h", 0, 14, "The first start, and a restart")
	y := 30.0
	for _, server := range []string{"A", "B", "C"} {
		p.Text("n", 0, y+13, server)
		from := time.Duration(0)
		for e := range result.Log.All() {
			if e.Kind != record.Quarantined || e.Place != server || e.At+e.Validity <= from {
				continue
			}
			if e.At > from && from > 0 {
				vote(p, x(from), y, x(e.At)-x(from))
			}
			until := e.At + e.Validity
			p.Box("wait", x(e.At), y, x(until)-x(e.At), 18)
			p.Text("fa", x(e.At)+5, y+13, "quarantine")
			from = until
		}
		if from < end {
			vote(p, x(from), y, x(end)-x(from))
		}
		y += 24
	}
	p.Text("n", 0, y+13, "client")
	first := held[0].from
	p.Box("pale", x(0), y, x(first)-x(0), 18)
	p.Text("s", x(0)+5, y+13, "waits")
	for _, l := range held {
		if l.from < end {
			p.Box("b0", x(l.from), y, x(l.until)-x(l.from), 18)
		}
	}
	y += 30
	p.Line("", axisLeft, y, axisRight, y)
	for at := time.Duration(0); at <= end; at += 30 * time.Second {
		p.Line("", x(at), y, x(at), y+4)
		p.Text("s m", x(at), y+18, fmt.Sprintf("%.0f s", at.Seconds()))
	}
	p.Line("cut", x(restart), 26, x(restart), y)
	p.Text("al m", x(restart), y+33, "B restarts")
	y += 50
	p.Box("b0", 0, y-9, 12, 10)
	p.Text("", 18, y, "holds the lock; A and C are enough without B")
	p.Height = y + 10
	p.Desc = fmt.Sprintf("Three servers come up at 0 s and are in quarantine for MaxTTL. The client gets its first lock at %.1f s. B restarts at 63 s and is in quarantine for MaxTTL again; the client goes on taking its lock on A and C.", first.Seconds())
	return p, nil
}

func vote(p *drawing.Canvas, x, y, w float64) {
	p.Box("yes", x, y, w, 18)
	if w > 40 {
		p.Text("ok", x+5, y+13, "votes")
	}
}

// lease is a lease from its acquisition to its release.
type lease struct {
	from, until, validity time.Duration
}

// leases reads the log of a run with one client, which releases its leases.
func leases(log record.Log) []lease {
	var all []lease
	for e := range log.All() {
		switch e.Kind {
		case record.Acquired:
			all = append(all, lease{from: e.At, validity: e.Validity})
		case record.Released:
			all[len(all)-1].until = e.At
		}
	}
	return all
}

// exchange is a request and its answer.
type exchange struct {
	server, op     string
	n              uint64
	sent, received time.Duration
}

// exchanges lists the answered requests of a run with one client, by server.
func exchanges(log record.Log) []exchange {
	var all []exchange
	for e := range log.All() {
		switch e.Kind {
		case record.Sent:
			all = append(all, exchange{server: e.Place, op: e.Op, n: e.N, sent: e.At})
		case record.Received, record.Ignored:
			i := slices.IndexFunc(all, func(x exchange) bool { return x.server == e.Place && x.n == e.N })
			all[i].received = e.At
		}
	}
	slices.SortStableFunc(all, func(a, b exchange) int { return cmp.Compare(a.server, b.server) })
	return all
}
