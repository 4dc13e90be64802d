//go:build unix

package box

import (
	"bufio"
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

// fleetTest is a Fleet behind its API.
type fleetTest struct {
	t    *testing.T
	api  *httptest.Server
	addr []string // of the servers
}

func startFleet(t *testing.T, n int, embedded bool) *fleetTest {
	t.Helper()
	if !embedded {
		instancetest.Since(t, 6, 0) // skips it if there is none
	}
	f, err := StartFleet(t.Context(), Options{Servers: n, Embedded: embedded})
	require.NoError(t, err)
	test := &fleetTest{t: t, api: httptest.NewServer(f)}
	t.Cleanup(func() {
		test.api.Close()
		http.DefaultClient.CloseIdleConnections()
		require.NoError(t, f.Close())
	})
	require.Equal(t, embedded, f.Product() == "embedded servers", f.Product())
	for _, m := range f.Members() {
		require.Empty(t, m.Faults)
		test.addr = append(test.addr, m.Address)
	}
	require.Len(t, test.addr, n)
	return test
}

// sends sends a request, and returns the answer.
func (f *fleetTest) sends(method, path, body string) (status int, answer string) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.api.URL+path, strings.NewReader(body))
	require.NoError(f.t, err)
	response, err := http.DefaultClient.Do(r)
	require.NoError(f.t, err)
	defer response.Body.Close()
	require.Equal(f.t, "application/json", response.Header.Get("Content-Type"))
	text, err := io.ReadAll(response.Body)
	require.NoError(f.t, err)
	return response.StatusCode, string(text)
}

// does sends a request that has to succeed, and returns what the servers have now, such as "A pause, B".
func (f *fleetTest) does(method, path, body string) string {
	f.t.Helper()
	status, text := f.sends(method, path, body)
	require.Equal(f.t, http.StatusOK, status, "%s %s %s: %s", method, path, body, text)
	var all []Member
	require.NoError(f.t, json.Unmarshal([]byte(text), &all))
	var says []string
	for _, m := range all {
		says = append(says, m.Name)
		for _, fault := range FleetFaults() {
			if v, has := m.Faults[fault.Name]; has {
				values, err := json.Marshal(v)
				require.NoError(f.t, err)
				says = append(says, fault.Name+strings.TrimSuffix(string(values), "{}"))
			}
		}
	}
	return strings.Join(says, " ")
}

// fails sends a request that is refused, and returns why.
func (f *fleetTest) fails(method, path, body string, status int) string {
	f.t.Helper()
	got, text := f.sends(method, path, body)
	require.Equal(f.t, status, got, "%s %s %s: %s", method, path, body, text)
	var answer struct{ Error string }
	require.NoError(f.t, json.Unmarshal([]byte(text), &answer))
	return answer.Error
}

// ask sends a command to a server, by its number, over a new connection.
func (f *fleetTest) ask(i int, args ...string) string {
	f.t.Helper()
	reply, err := redisproc.AskAt(f.addr[i], args...)
	require.NoError(f.t, err)
	return reply
}

// caller is an open connection of a client.
type caller struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func (f *fleetTest) call(i int) *caller {
	f.t.Helper()
	conn, err := net.Dial("tcp", f.addr[i])
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = conn.Close() })
	c := &caller{f.t, conn, bufio.NewReader(conn)}
	c.pings()
	return c
}

func (c *caller) send() {
	_, err := io.WriteString(c.conn, "*1\r\n$4\r\nPING\r\n")
	require.NoError(c.t, err)
}

// receives waits for the answer. Far less time is enough.
func (c *caller) receives() {
	c.t.Helper()
	require.NoError(c.t, c.conn.SetReadDeadline(time.Now().Add(time.Minute)))
	line, err := c.in.ReadString('\n')
	require.NoError(c.t, err)
	require.Equal(c.t, "+PONG\r\n", line)
}

func (c *caller) pings() {
	c.t.Helper()
	c.send()
	c.receives()
}

// silent requires that no answer comes.
func (c *caller) silent() {
	c.t.Helper()
	require.NoError(c.t, c.conn.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err := c.in.ReadByte()
	require.ErrorIs(c.t, err, os.ErrDeadlineExceeded)
}

// isCut requires that the connection breaks.
func (c *caller) isCut() {
	c.t.Helper()
	require.NoError(c.t, c.conn.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err := c.in.ReadByte()
	require.Error(c.t, err)
	require.NotErrorIs(c.t, err, os.ErrDeadlineExceeded)
}

// both runs a test with embedded servers and with server processes.
func both(t *testing.T, test func(t *testing.T, embedded bool)) {
	for _, embedded := range []bool{true, false} {
		t.Run(fmt.Sprintf("embedded=%v", embedded), func(t *testing.T) { test(t, embedded) })
	}
}

// Each fault does what its description says, to the servers that are named and to no other, and ends.
func TestFleetFaults(t *testing.T) {
	both(t, func(t *testing.T, embedded bool) {
		f := startFleet(t, 3, embedded)
		require.Equal(t, "A B C", f.does("GET", "/servers", ""))
		for i := range f.addr {
			require.Equal(t, "+OK", f.ask(i, "SET", "k", "v"))
		}
		a, b := f.call(0), f.call(1)

		require.Equal(t, "A pause", f.does("POST", "/servers/A/pause", ""))
		require.Equal(t, "A pause", f.does("POST", "/servers/A/pause", ""))
		a.send()
		a.silent()
		b.pings()
		require.Equal(t, "A", f.does("DELETE", "/servers/A/pause", ""))
		require.Equal(t, "A", f.does("DELETE", "/servers/A/pause", ""))
		a.receives()

		require.Equal(t, `A delay{"ms":70}`, f.does("POST", "/servers/A/delay", `{"ms":70}`))
		began := time.Now()
		a.pings()
		require.GreaterOrEqual(t, time.Since(began), 70*time.Millisecond)
		require.Equal(t, `A delay{"ms":60000}`, f.does("POST", "/servers/A/delay", `{"ms":60000}`))
		began = time.Now()
		a.send()
		require.Equal(t, "A", f.does("DELETE", "/servers/A/delay", ""))
		a.receives()
		require.Less(t, time.Since(began), 30*time.Second)

		require.Equal(t, "A cut B cut", f.does("POST", "/servers/AB/cut", ""))
		require.Equal(t, "A cut B cut C", f.does("GET", "/servers", ""))
		a.isCut()
		b.isCut()
		_, err := redisproc.AskAt(f.addr[1], "PING")
		require.Error(t, err)
		require.Equal(t, "v", f.ask(2, "GET", "k"))
		require.Equal(t, "A", f.does("DELETE", "/servers/A/cut", ""))
		require.Equal(t, "v", f.ask(0, "GET", "k"))
		require.Equal(t, "A B cut C", f.does("GET", "/servers", ""))

		require.Equal(t, "C", f.does("POST", "/servers/C/flush", ""))
		require.Equal(t, "$-1", f.ask(2, "GET", "k"))
		require.Equal(t, "v", f.ask(0, "GET", "k"))

		a = f.call(0)
		require.Equal(t, `A stop{"data":"lost"}`, f.does("POST", "/servers/A/stop", ""))
		a.isCut()
		_, err = redisproc.AskAt(f.addr[0], "PING")
		require.Error(t, err)
		require.Equal(t, "A", f.does("DELETE", "/servers/A/stop", ""))
		require.Equal(t, "$-1", f.ask(0, "GET", "k"))

		f.does("POST", "/servers/all/pause", "")
		f.does("POST", "/servers/all/delay", `{"ms":60000}`)
		require.Equal(t, `A stop{"data":"lost"} delay{"ms":60000}`, f.does("POST", "/servers/A/stop", ""), "it stands still no longer")
		require.Equal(t, `A stop{"data":"lost"} delay{"ms":60000} B pause cut delay{"ms":60000} C pause delay{"ms":60000}`, f.does("GET", "/servers", ""))
		require.Equal(t, "A B C", f.does("POST", "/reset", ""))
		require.Equal(t, "$-1", f.ask(0, "GET", "k"))
		require.Equal(t, "v", f.ask(1, "GET", "k"))
		require.Equal(t, "$-1", f.ask(2, "GET", "k"))
	})
}

// What only processes have: data that outlives them, also unsynced, and clocks.
func TestFleetFaultsOfProcesses(t *testing.T) {
	f := startFleet(t, 2, false)
	require.Equal(t, "+OK", f.ask(0, "SET", "k", "v"))
	f.does("POST", "/servers/A/pause", "")
	require.Equal(t, `A stop{"data":"kept"}`, f.does("POST", "/servers/A/stop", `{"data":"kept"}`))
	f.does("DELETE", "/servers/A/stop", "")
	require.Equal(t, "v", f.ask(0, "GET", "k"))
	require.Equal(t, "+OK", f.ask(0, "SET", "k", "w"))
	f.does("POST", "/servers/A/stop", `{"data":"kept"}`)
	f.does("DELETE", "/servers/A/stop", "")
	require.Equal(t, "w", f.ask(0, "GET", "k"))
	f.does("POST", "/servers/A/stop", `{"data":"lost"}`)
	require.Equal(t, `A stop{"data":"lost"}`, f.does("POST", "/servers/A/stop", `{"data":"kept"}`), "what is lost stays lost")
	f.does("DELETE", "/servers/A/stop", "")
	require.Equal(t, "$-1", f.ask(0, "GET", "k"))

	_, err := redisproc.AskAt(f.addr[0], "SHUTDOWN", "NOSAVE")
	require.Error(t, err)
	for range 2 {
		require.Contains(t, f.fails("POST", "/servers/A/pause", "", 500), "redisproc: ")
	}
	f.does("POST", "/servers/A/stop", "")
	require.Equal(t, "A", f.does("DELETE", "/servers/A/stop", ""), "a server that has died on its own starts again")
	require.Equal(t, "$-1", f.ask(0, "GET", "k"))

	if status, text := f.sends("POST", "/servers/A/clock", `{"ms":3600000}`); status == http.StatusNotImplemented {
		require.Contains(t, text, "no clocks that jump: ")
		t.Skip(text)
	}
	ahead := func(i int) time.Duration {
		seconds, err := strconv.ParseInt(f.ask(i, "EVAL", "return redis.call('TIME')[1]", "0"), 10, 64)
		require.NoError(t, err)
		return time.Until(time.Unix(seconds, 0))
	}
	const near = 10 * time.Minute // on a busy machine
	require.InDelta(t, time.Hour, ahead(0), float64(near))
	require.InDelta(t, 0, ahead(1), float64(near))
	require.Equal(t, `A clock{"ms":-7200000}`, f.does("POST", "/servers/A/clock", `{"ms":-7200000}`))
	require.InDelta(t, -2*time.Hour, ahead(0), float64(near))
	f.does("POST", "/servers/A/stop", "")
	require.Equal(t, `A clock{"ms":-7200000}`, f.does("DELETE", "/servers/A/stop", ""))
	require.InDelta(t, -2*time.Hour, ahead(0), float64(near), "a start doesn't set the clock")
	f.does("POST", "/reset", "")
	require.InDelta(t, 0, ahead(0), float64(near))
}

// A request that can't be carried out changes nothing, and says why.
func TestFleetRefuses(t *testing.T) {
	both(t, func(t *testing.T, embedded bool) {
		f := startFleet(t, 2, embedded)
		f.does("POST", "/servers/B/stop", "")
		f.does("POST", "/servers/A/pause", "")
		for _, tc := range []struct {
			method, path, body string
			status             int
			why                string
		}{
			{"POST", "/servers/C/pause", "", 404, `no server "C": want some of the letters AB, or all`},
			{"POST", "/servers/AC/pause", "", 404, `no server "AC"`},
			{"DELETE", "/servers/a/pause", "", 404, `no server "a"`},
			{"POST", "/servers/A/quake", "", 404, `no fault "quake"; there are stop, pause, cut, delay, clock, flush`},
			{"DELETE", "/servers/A/quake", "", 404, `no fault "quake"`},
			{"PUT", "/servers/A/pause", "", 404, "there is no PUT /servers/A/pause; there are GET /servers, "},
			{"POST", "/servers/A", "", 404, "there is no POST /servers/A;"},
			{"DELETE", "/servers/A/flush", "", 400, "flush is over at once: there is nothing to heal"},
			{"POST", "/servers/A/delay", "", 400, `delay needs a time in the request's body, such as {"ms":200}`},
			{"POST", "/servers/A/delay", `{"ms":0}`, 400, "ms is 0, want 1 to 60000 for delay"},
			{"POST", "/servers/A/delay", `{"ms":60001}`, 400, "ms is 60001"},
			{"POST", "/servers/A/clock", `{"ms":-31536000001}`, 400, "ms is -31536000001"},
			{"POST", "/servers/A/clock", `{"ms":0}`, 400, "ms is 0"},
			{"POST", "/servers/A/delay", `{"ms":"200"}`, 400, "want JSON such as"},
			{"POST", "/servers/A/delay", `{"seconds":1}`, 400, `unknown field "seconds"`},
			{"POST", "/servers/A/delay", `{"ms":1}{"ms":2}`, 400, "goes on after its JSON"},
			{"POST", "/servers/A/delay", `{"ms":` + strings.Repeat(" ", longestBody) + `1}`, 400, "too large"},
			{"POST", "/servers/A/delay?ms=200", "", 400, "?ms=200 has no effect"},
			{"POST", "/servers/A/cut", `{"ms":1}`, 400, `cut takes no "ms"`},
			{"POST", "/servers/A/pause", `{"data":"kept"}`, 400, `pause takes no "data"`},
			{"POST", "/servers/A/stop", `{"data":"old"}`, 400, `data is "old", want "lost" or "kept"`},
			{"DELETE", "/servers/B/stop", `{"data":"kept"}`, 400, "DELETE /servers/B/stop takes no body"},
			{"POST", "/reset", `{"data":"kept"}`, 400, "POST /reset takes no body"},
			{"POST", "/servers/all/pause", "", 409, "B can't have pause now because of stop: heal that first, by DELETE /servers/B/stop"},
			{"POST", "/servers/A/flush", "", 409, "because of pause: heal that first, by DELETE /servers/A/pause"},
		} {
			assert.Contains(t, f.fails(tc.method, tc.path, tc.body, tc.status), tc.why)
		}
		if embedded {
			for path, body := range map[string]string{"/servers/A/clock": `{"ms":1}`, "/servers/A/stop": `{"data":"kept"}`} {
				assert.Contains(t, f.fails("POST", path, body, 501), "embedded servers have no data on a disk, clocks,")
			}
		}
		require.Equal(t, `A pause B stop{"data":"lost"}`, f.does("GET", "/servers", ""))
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
	both(t, func(t *testing.T, embedded bool) {
		f := startFleet(t, 1, embedded)
		f.does("POST", "/servers/A/stop", "")
		fleet := f.api.Config.Handler.(*Fleet)
		require.NoError(t, fleet.Close())
		require.NoError(t, fleet.Close())
		require.Equal(t, "the servers have ended", f.fails("DELETE", "/servers/A/stop", "", 503))
	})
}
