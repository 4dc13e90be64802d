//go:build unix

package box

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// fleetTest is a Fleet that takes requests.
type fleetTest struct {
	t *testing.T
	*Fleet
	addr []string // of the servers
}

func fleetFor(t *testing.T, n int, embedded bool) *fleetTest {
	t.Helper()
	if !embedded {
		instancetest.Since(t, 6, 0) // skips it if there is none
	}
	f, err := StartFleet(t.Context(), Options{Servers: n, Embedded: embedded})
	require.NoError(t, err)
	test := &fleetTest{t: t, Fleet: f}
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	require.Equal(t, embedded, f.Product() == "embedded servers", f.Product())
	for _, m := range f.Members() {
		test.addr = append(test.addr, m.Address)
	}
	require.Len(t, test.addr, n)
	return test
}

// request sends a request, and returns the answer.
func (f *fleetTest) request(method, path, body string) (status int, answer []byte) {
	f.t.Helper()
	w := httptest.NewRecorder()
	f.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	require.Equal(f.t, "application/json", w.Header().Get("Content-Type"))
	return w.Code, w.Body.Bytes()
}

// does has steps carried out, and returns the states and faults of the servers, such as "hung up [cut B]".
func (f *fleetTest) does(steps string) string {
	f.t.Helper()
	status, text := f.request("POST", "/", steps)
	require.Equal(f.t, http.StatusOK, status, "%s: %s", steps, text)
	var all []Member
	require.NoError(f.t, json.Unmarshal(text, &all))
	var states []string
	for i, m := range all {
		require.Equal(f.t, letters[i:i+1]+f.addr[i], m.Name+m.Address)
		if states = append(states, m.State); len(m.Faults) > 0 {
			states = append(states, fmt.Sprintf("[%v]", m.Faults))
		}
	}
	return strings.Join(states, " ")
}

// fails sends a request that is refused, and returns why.
func (f *fleetTest) fails(method, path, body string, status int) string {
	f.t.Helper()
	got, text := f.request(method, path, body)
	require.Equal(f.t, status, got, "%s %s %s: %s", method, path, body, text)
	var answer struct{ Error string }
	require.NoError(f.t, json.Unmarshal(text, &answer))
	return answer.Error
}

// has requires that the servers have the key k, "v" for each that has it and "-" for each that hasn't.
func (f *fleetTest) has(want string) {
	f.t.Helper()
	got := ""
	for _, addr := range f.addr {
		reply, err := redisproc.AskAt(addr, "GET", "k")
		require.NoError(f.t, err)
		got += strings.TrimSuffix(strings.TrimPrefix(reply, "$"), "1")
	}
	require.Equal(f.t, want, got)
}

func (f *fleetTest) set(i int) {
	f.t.Helper()
	_, err := redisproc.AskAt(f.addr[i], "SET", "k", "v")
	require.NoError(f.t, err)
}

// caller is an open connection of a client.
type caller struct {
	t *testing.T
	net.Conn
}

func (f *fleetTest) call(i int) caller {
	f.t.Helper()
	conn, err := net.Dial("tcp", f.addr[i])
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = conn.Close() })
	c := caller{f.t, conn}
	c.pings()
	return c
}

func (c caller) send() {
	_, err := io.WriteString(c, "*1\r\n$4\r\nPING\r\n")
	require.NoError(c.t, err)
}

// answers reads an answer. It waits for so long, and far less is enough where one has to come.
func (c caller) answers(most time.Duration) error {
	require.NoError(c.t, c.SetReadDeadline(time.Now().Add(most)))
	_, err := io.ReadFull(c, make([]byte, len("+PONG\r\n")))
	return err
}

func (c caller) receives() {
	c.t.Helper()
	require.NoError(c.t, c.answers(time.Minute))
}

func (c caller) pings() {
	c.t.Helper()
	c.send()
	c.receives()
}

func (c caller) silent() {
	c.t.Helper()
	require.ErrorIs(c.t, c.answers(50*time.Millisecond), os.ErrDeadlineExceeded)
}

func (c caller) isCut() {
	c.t.Helper()
	err := c.answers(time.Minute)
	require.Error(c.t, err)
	require.NotErrorIs(c.t, err, os.ErrDeadlineExceeded)
}

// both runs a test with embedded servers and with server processes.
func both(t *testing.T, test func(t *testing.T, embedded bool)) {
	for _, embedded := range []bool{true, false} {
		t.Run(fmt.Sprintf("embedded=%v", embedded), func(t *testing.T) { test(t, embedded) })
	}
}

// Each step does what its description says, to the servers that are named and to no other, and ends.
func TestFleet(t *testing.T) {
	both(t, func(t *testing.T, embedded bool) {
		f := fleetFor(t, 3, embedded)
		for i := range f.addr {
			f.set(i)
		}
		a, b := f.call(0), f.call(1)

		require.Equal(t, "hung up up", f.does("hang A"))
		require.Equal(t, "hung up up", f.does("hang A"), "again")
		a.send()
		a.silent()
		b.pings()
		require.Equal(t, "up up up", f.does("wake A, wake A"))
		a.receives()

		f.does("slow A 70ms")
		began := time.Now()
		a.pings()
		require.GreaterOrEqual(t, time.Since(began), 70*time.Millisecond)
		f.does("slow A 60s")
		began = time.Now()
		a.send()
		f.does("heal A")
		a.receives()
		require.Less(t, time.Since(began), 30*time.Second)

		f.does("delay A")
		a.send()
		a.silent()
		f.does("heal A")
		a.receives()
		f.does("lose A")
		f.call(2)
		a.send()
		a.silent()
		f.does("cut AB")
		a.isCut()
		b.isCut()
		_, err := redisproc.AskAt(f.addr[1], "PING")
		require.Error(t, err)
		f.does("heal AB")
		f.has("vvv")

		f.does("flush C")
		f.has("vv-")
		a = f.call(0)
		require.Equal(t, "stopped up up", f.does("stop A"))
		a.isCut()
		_, err = redisproc.AskAt(f.addr[0], "PING")
		require.Error(t, err)
		require.Equal(t, "up up up", f.does("start A"))
		f.has("-v-")

		require.Equal(t, "stopped [slow A 1m0s] hung [slow B 1m0s] hung [slow C 1m0s, cut C]", f.does("hang ALL, slow ALL 60s, cut C, stop A"), "it stands still no longer")
		require.Equal(t, "up up up", f.does("reset"))
		f.has("-v-")
	})
}

// What only processes have: data that outlives them, clocks, replicas.
func TestFleetOfProcesses(t *testing.T) {
	f := fleetFor(t, 2, false)
	f.set(0)
	f.does("save A, stop A, start A")
	f.has("v-")
	f.does("stop A, start A")
	f.has("--")

	_, err := redisproc.AskAt(f.addr[0], "SHUTDOWN", "NOSAVE")
	require.Error(t, err)
	require.Contains(t, f.fails("POST", "/", "hang A", 500), "redisproc: ")
	require.Equal(t, "up up", f.does("stop A, start A"), "a server that has died on its own starts again")

	require.Contains(t, f.fails("POST", "/", "fail B", 409), "there is no replica that lags")
	require.Equal(t, "up up [follow B, lag B]", f.does("follow B, lag B"))
	f.set(1)
	require.Equal(t, "up stopped [fail B]", f.does("fail B"))
	f.has("--")
	f.does("reset")
	require.Equal(t, "up [move A] up", f.does("move A"))
	f.set(0)
	require.Equal(t, "up up", f.does("home A"))
	f.has("--")

	if status, text := f.request("POST", "/", "ahead A 1h"); status == http.StatusNotImplemented {
		require.Contains(t, string(text), "no clocks that jump")
		t.Skip(string(text))
	}
	isAhead := func(i int, want time.Duration) {
		t.Helper()
		text, err := redisproc.AskAt(f.addr[i], "EVAL", "return redis.call('TIME')[1]", "0")
		require.NoError(t, err)
		seconds, err := strconv.ParseInt(text, 10, 64)
		require.NoError(t, err)
		require.InDelta(t, want, time.Until(time.Unix(seconds, 0)), float64(10*time.Minute)) // on a busy machine
	}
	isAhead(0, time.Hour)
	isAhead(1, 0)
	require.Equal(t, "up [behind A 2h0m0s] up", f.does("behind A 2h, stop A, start A"))
	isAhead(0, -2*time.Hour) // a start doesn't set the clock
	require.Equal(t, "up up", f.does("right A"))
	isAhead(0, 0)
	f.does("ahead B 1h")
	f.does("reset")
	isAhead(1, 0)
}

// A request that can't be carried out says why.
func TestFleetRefuses(t *testing.T) {
	both(t, func(t *testing.T, embedded bool) {
		f := fleetFor(t, 2, embedded)
		f.does("lose AB, heal A, heal B, hang A, stop B, slow B 2s, cut B, slow B 1s")
		for _, tc := range []struct {
			method, path, body string
			status             int
			why                string
		}{
			{"PUT", "/", "hang A", 404, `there is no PUT /; there are GET /, and POST / with steps in its body, such as "hang AB"`},
			{"POST", "/servers/A", "", 404, "there is no POST /servers/A;"},
			{"POST", "/?step=hang", "", 404, "there is no POST /?step=hang;"},
			{"POST", "/", "quake A", 400, `"quake" in the step "quake A" is no verb, client, server or time`},
			{"POST", "/", "hang C", 400, `the step "hang C" names a server that isn't there; there are 2, AB`},
			{"POST", "/", "hang MIN", 400, `there are no servers for "hang MIN"`},
			{"POST", "/", "slow A", 400, `"slow A" needs a time, as in "slow A 200ms"`},
			{"POST", "/", "ahead A", 400, `"ahead A" needs a time, as in "ahead A 60s"`},
			{"POST", "/", "cut c1 A", 400, `"cut c1 A" is about a client`},
			{"POST", "/", "c1 waits", 400, `"c1 waits" is about a client, and these servers have none`},
			{"POST", "/", "pause A", 400, `"pause A" is no step; want one such as "hang AB", "cut AB" or "slow A 200ms"`},
			{"POST", "/", "evict A", 400, `"evict A" is about the lock of a schedule`},
			{"POST", "/", "hang ALL", 409, `"hang AB": not now: the server is stopped`},
			{"POST", "/", "flush A", 409, `"flush A": not now: the server is hung`},
			{"POST", "/", "start A", 409, "the server is hung"},
		} {
			assert.Contains(t, f.fails(tc.method, tc.path, tc.body, tc.status), tc.why)
		}
		if embedded {
			for _, step := range []string{"ahead A 1s", "save A", "follow A", "move A"} {
				assert.Contains(t, f.fails("POST", "/", step, 501), "embedded servers have no data on a disk, clocks,")
			}
		}
		status, text := f.request("GET", "/", "")
		require.Equal(t, 200, status)
		require.JSONEq(t, fmt.Sprintf(`[{"name":"A","address":%q,"state":"hung","faults":[]},{"name":"B","address":%q,"state":"stopped","faults":["cut B","slow B 1s"]}]`, f.addr[0], f.addr[1]), string(text))
	})
}

func TestFleetThatCannotStart(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	for _, n := range []int{0, 10} {
		_, err := StartFleet(t.Context(), Options{Servers: n, Embedded: true})
		require.ErrorIs(t, err, ErrOptions)
	}
	_, err := StartFleet(t.Context(), Options{Servers: 1, Binary: "there-is-none"})
	require.ErrorIs(t, err, redisproc.ErrMissing)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = StartFleet(ctx, Options{Servers: 1, Binary: "sh"})
	require.Error(t, err)
	left, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Empty(t, left)
}

// After its end a Fleet refuses everything, so that no server starts again.
func TestFleetEnds(t *testing.T) {
	f := fleetFor(t, 1, true)
	f.does("stop A")
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	require.Equal(t, "the servers have ended", f.fails("POST", "/", "start A", 503))
}
