package contract

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// Requests are drawn at random, and the model says what comes of each (model.go). So the histories cover
// states that nobody thought of: some of several keys lost, counters that may be older copies, ahead of
// the clock, at the last token. The draws are the same each time, so that a failure comes back.

const (
	histories = 40
	steps     = 60
)

// odd has the names of locks, four for each history: texts that some layer may mangle, those beside each
// other that it may take for one. Values are drawn from all of them.
var odd = [][]string{
	{"a", "b", "c", "d"},
	{"plain", "plain ", " plain", "plain\n"},
	{"UPPER", "upper", "Upper", "upper*"},
	{"line", "line\nbreak", "crlf\r\nend", "tab\there"},
	{"ünïcode", "日本語", "e\u0301", "\u00e9"},
	{"quote\"s'`", `back\slash`, `\n`, "%s%d"},
	{"*", "?", "[a-z]", "a:b:c"},
	{"0", "-1", "1e3", "007"},
	{"nil", "OK", "$1", "with space"},
	{"\xff\xfe", "\x01\x02\x7f", "\u202e", "🔒"},
	{strings.Repeat("x", 1024-64), strings.Repeat("ß", 480), " ", "x"},
}

// history draws requests about a few locks.
type history struct {
	*check
	*rand.Rand
	names  []string
	values []string
	run    wire.Run   // of the server, empty if it is hidden
	others []wire.Run // that it isn't in

	// The histories take turns: in a plain one counters stay behind the clock. Otherwise most requests
	// would fail.
	plain, large bool
}

func checkHistories(c *check) {
	id, prefix, seen := c.probe(wire.Known{}), c.prefix, map[string]int{}
	c.id = &id
	for i := range histories {
		h := &history{
			check: c, Rand: rand.New(rand.NewPCG(1, uint64(i))), names: odd[i%len(odd)], values: []string{"v", "w"}, run: id.Run(),
			plain: i%3 > 0, large: i%6 == 3 && !c.virtual, // a server in virtual time may not keep a key for 300 years
		}
		c.prefix = fmt.Sprint(prefix, i, ":")
		for _, value := range append([]string{"vv", "V", " v", "v ", "v*", "v\n"}, odd[(9+i/4)%len(odd)]...) {
			if h.IntN(2) == 0 {
				h.values = append(h.values, value)
			}
		}
		if h.run != "" {
			h.others = otherRuns(h.run)
		}
		for range steps {
			if h.IntN(3) == 0 {
				c.clock.Sleep(tick) // the clock gets ahead of the counters
			}
			h.tamper()
			cmd := h.draw()
			seen[cmd.Op.String()+" "+c.do(cmd).Outcome.String()]++
		}
	}
	for _, outcome := range []string{
		"acquire granted", "acquire refused", "acquire failed", "raise granted", "raise refused", "raise failed", "extend granted", "extend refused",
		"restore granted", "restore refused", "restore failed", "release granted", "release refused", "look granted", "look refused", "tick granted",
	} {
		require.GreaterOrEqual(c.t, seen[outcome], 10, "%s: %v", outcome, seen)
	}
}

// otherRuns are runs that differ from this one in the replication ID, the epoch or the set, each of which is
// compared in full.
func otherRuns(run wire.Run) []wire.Run {
	others := []wire.Run{anotherRun}
	if id, epoch, set := run.ReplID(), run.Epoch(), run.Set(); epoch != "" {
		others = append(others, wire.MarkOf(anotherRun, epoch, set), wire.MarkOf(id, epoch, set+"0"))
		for _, other := range []string{"1", "1" + epoch, epoch[1:], epoch + "1"} {
			others = append(others, wire.MarkOf(id, other, set))
		}
	}
	return others
}

func one[T any](draw interface{ IntN(n int) int }, of ...T) T { return of[draw.IntN(len(of))] }

// tamper does to a key what no request does, if the instance is a Putter.
func (h *history) tamper() {
	if _, ok := h.inst.(Putter); !ok {
		return
	}
	if h.IntN(24) == 0 {
		h.put(one(h, h.names...), one(h, h.values...), one(h, wire.NoExpiry, long))
	}
}

// draw draws a request for one lock or several. As a rule it names the value that one of them has.
func (h *history) draw() wire.Request {
	op := one(h, wire.Acquire, wire.Acquire, wire.Acquire, wire.Raise, wire.Extend, wire.Restore, wire.Restore, wire.Release, wire.Release, wire.Look, wire.Tick)
	if op == wire.Restore && h.IntN(3) == 0 {
		op = wire.Pass
	}
	if op == wire.Tick {
		return wire.Request{Op: op, Run: h.anyRun()}
	}
	n := 1
	if op != wire.Look && h.IntN(2) == 0 {
		n += h.IntN(len(h.names))
	}
	names := slices.Clone(h.names)
	h.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = slices.Sorted(slices.Values(names[:n]))
	cmd := h.of(wire.Request{Op: op, Clock: h.IntN(2) == 0}, names...)
	if cmd.Fence.On = h.IntN(4) > 0; op == wire.Look {
		return cmd
	}
	cmd.Value = h.held(names)
	switch op {
	case wire.Release:
		cmd.Fence.On = false
		return cmd
	case wire.Acquire:
		h.drawAcquire(&cmd)
	default:
		cmd.Fence.On = cmd.Fence.On || op == wire.Raise
		cmd.Fence.Token = h.token(names[0])
	}
	if cmd.Fence.On {
		cmd.Fence.TTL, cmd.Fence.Ahead = time.Hour, h.bound()
	}
	if op != wire.Raise {
		cmd.TTL = one(h, long, 2*long, 10*long, 45_678*time.Millisecond)
	}
	cmd.Run = h.anyRun()
	return cmd
}

func (h *history) drawAcquire(cmd *wire.Request) {
	held := cmd.Value
	if cmd.Value = one(h, h.values...); len(cmd.Keys) > 1 {
		cmd.Value = fmt.Sprint("of several ", h.Uint64()) // no key has it: of several keys none keeps it unless all do
	}
	for range one(h, 0, 0, 1, 1, 2, 3) {
		if value := one(h, held, held, one(h, h.values...)); value != cmd.Value && !slices.Contains(cmd.Delete, value) {
			cmd.Delete = append(cmd.Delete, value)
		}
	}
	if !cmd.Fence.On {
		return
	}
	now := h.clockToken()
	cmd.Fence.Floor = one(h, 1, 1, now-minute, now+minute)
	if h.IntN(2) == 0 {
		cmd.Fence.Token = one(h, now-minute, now+15*minute, now+90*minute)
		if h.plain {
			cmd.Fence.Token = now - minute
		}
	}
}

// held is the value that one of the locks has, or another one.
func (h *history) held(names []string) string {
	value, _, held := h.model.Keys.Get(h.key(one(h, names...)), h.clock.Now().Add(h.check.ahead))
	if held && h.IntN(6) > 0 {
		return value
	}
	return one(h, h.values...)
}

// token is one to raise a counter to, or one that is too low.
func (h *history) token(name string) fencing.Token {
	counter, _, _ := h.model.Counters.Get(h.key(name), h.clock.Now().Add(h.check.ahead))
	switch {
	case h.large && h.IntN(3) == 0:
		return fencing.MaxToken - fencing.Token(h.IntN(3))
	case !h.plain && h.IntN(2) == 0:
		return h.clockToken() + one[fencing.Token](h, 15, 16, 29, 30, 90)*minute
	case h.IntN(4) == 0:
		return 999_999_999_999_999 // which is lower, and comes later in the alphabet
	case counter > 1 && h.IntN(3) > 0:
		return min(counter+one[fencing.Token](h, 0, 1, 1000)-1, fencing.MaxToken)
	}
	return one(h, 100_000_000_000_000, h.clockToken()-minute) // no less: a server may take that for a lost counter
}

// bound is how far counters may be ahead of the clock.
func (h *history) bound() time.Duration {
	if h.large {
		return endless
	}
	return one(h, ahead, ahead, 20*time.Minute, time.Second, time.Microsecond)
}

func (h *history) anyRun() wire.Run {
	switch n := h.IntN(12); {
	case h.run == "" || n < 4:
		return ""
	case n == 4:
		return one(h, h.others...)
	}
	return h.run
}

func (h *history) clockToken() fencing.Token {
	return fencing.Token(h.clock.Now().Add(h.check.ahead).UnixMicro())
}
