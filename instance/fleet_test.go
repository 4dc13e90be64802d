//go:build unix

package instance_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
)

// A fleet is processes that increment one counter under one lock, on five real servers, one of
// which is killed and restarted while another one is stopped and continued. The counter is a file
// to which each increment appends a line: the number, the token, and the worker. It shows
// afterwards whether there were two holders at once.

const (
	fleetEnv       = "REDLOCK_FLEET" // marks a worker process; holds its name
	fleetURLs      = "REDLOCK_FLEET_URLS"
	fleetLedger    = "REDLOCK_FLEET_LEDGER"
	fleetProcesses = 8
	fleetWorkers   = 8  // in each process
	fleetTurns     = 12 // of each worker
	fleetKey       = "fleet"
	fleetTTL       = 3 * time.Second
)

func TestFleetOfProcessesUnderFaults(t *testing.T) {
	t.Parallel() // it waits most of the time
	servers := instancetest.StartN(t, 5, instancetest.Config{})
	urls := make([]string, len(servers))
	for i, s := range servers {
		urls[i] = s.URL()
	}
	ledger := filepath.Join(t.TempDir(), "ledger")
	require.NoError(t, os.WriteFile(ledger, nil, 0o600))

	fleet := make([]*worker, fleetProcesses)
	for i := range fleet {
		fleet[i] = startWorker(t, fmt.Sprintf("p%d", i), urls, ledger)
	}
	for _, w := range fleet {
		w.expect("ready") // each trusts the new servers
	}
	for _, w := range fleet {
		w.begin()
	}

	// The faults follow the work, not the clock: each comes after a share of the work.
	total := fleetProcesses * fleetWorkers * fleetTurns
	killed, stopped := servers[1], servers[3]
	after := func(share int) { awaitLines(t, ledger, total*share/100) }
	after(10)
	killed.Kill()
	after(25)
	killed.Restart() // empty: it has lost its votes, and must not vote for a TTL
	after(40)
	stopped.Pause()
	after(65)
	stopped.Resume()
	for _, w := range fleet {
		w.finish()
	}

	checkLedger(t, ledger, total)
	for _, s := range servers {
		// The processes have ended, and Close has sent every pending delete.
		keys := slices.DeleteFunc(keysOf(t, s), func(key string) bool { return isForgottenQueue(t, s, key) })
		// The server that came back empty has no counter before it votes again.
		require.Subset(t, []string{instance.CounterKey(fleetKey), instance.SetKey(fleetKey), instance.MarkKey(s.Addr())}, keys, "on %s", s.Addr())
	}
}

// isForgottenQueue reports whether the key is a wait queue without waiters. A request for a
// position that wasn't answered in time counts as refused, but a stopped or late server may have
// carried it out. Such a queue delays nobody, and must expire on its own.
func isForgottenQueue(t *testing.T, s *instancetest.Server, key string) bool {
	t.Helper()
	if key != instance.WaitersKey(fleetKey) {
		return false
	}
	left, err := strconv.Atoi(strings.TrimPrefix(s.MustAsk("PTTL", key), ":"))
	require.NoError(t, err)
	require.Positive(t, left, "a queue that never ends")
	require.LessOrEqual(t, time.Duration(left)*time.Millisecond, time.Minute)
	require.NotContains(t, s.MustAsk("CLIENT", "LIST", "TYPE", "pubsub"), " fd=", "a subscription is left")
	return true
}

// checkLedger checks that no increment was lost and no token is out of order.
func checkLedger(t *testing.T, ledger string, total int) {
	t.Helper()
	content, err := os.ReadFile(ledger)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	require.Len(t, lines, total)
	var highest fencing.Token
	for i, line := range lines {
		entry, err := parseEntry(line)
		require.NoError(t, err)
		require.Equal(t, i+1, entry.n, "an update was lost: %q", line)
		require.Greater(t, entry.token, highest, "a token out of order: %q", line)
		highest = entry.token
	}
}

type entry struct {
	n     int
	token fencing.Token
}

func parseEntry(line string) (entry, error) {
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return entry{}, fmt.Errorf("torn line %q", line)
	}
	n, err := strconv.Atoi(fields[0])
	if err != nil {
		return entry{}, err
	}
	token, err := fencing.ParseToken(fields[1])
	return entry{n, token}, err
}

// awaitLines returns when the ledger has n lines: the work's own progress.
func awaitLines(t *testing.T, ledger string, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		content, err := os.ReadFile(ledger)
		return err == nil && strings.Count(string(content), "\n") >= n
	}, 2*time.Minute, 5*time.Millisecond, "the fleet has stopped working")
}

func keysOf(t *testing.T, s *instancetest.Server) []string {
	t.Helper()
	inst, err := instance.Open(s.URL(), instance.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, inst.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	keys, err := inst.Client().Keys(ctx, "*").Result()
	require.NoError(t, err)
	return keys
}

// worker is one process of the fleet: this test's binary, run again.
type worker struct {
	t    *testing.T
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs strings.Builder
}

func startWorker(t *testing.T, name string, urls []string, ledger string) *worker {
	t.Helper()
	w := &worker{t: t, name: name}
	w.cmd = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFleetWorker$", "-test.count=1")
	w.cmd.Env = append(os.Environ(), fleetEnv+"="+name, fleetURLs+"="+strings.Join(urls, ","), fleetLedger+"="+ledger)
	w.cmd.Stderr = &w.errs
	var err error
	w.in, err = w.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := w.cmd.StdoutPipe()
	require.NoError(t, err)
	w.out = bufio.NewReader(out)
	require.NoError(t, w.cmd.Start())
	t.Cleanup(func() { _ = w.cmd.Process.Kill() })
	return w
}

// expect reads the process's output up to the word.
func (w *worker) expect(word string) {
	w.t.Helper()
	var seen strings.Builder
	for {
		line, err := w.out.ReadString('\n')
		seen.WriteString(line)
		if strings.TrimSpace(line) == word {
			return
		}
		if err != nil {
			_ = w.cmd.Wait()
			w.t.Fatalf("process %s ended without saying %q: %s%s", w.name, word, seen.String(), w.errs.String())
		}
	}
}

func (w *worker) begin() {
	w.t.Helper()
	_, err := io.WriteString(w.in, "go\n")
	require.NoError(w.t, err)
}

func (w *worker) finish() {
	w.t.Helper()
	w.expect("done")
	rest, _ := io.ReadAll(w.out)
	require.NoError(w.t, w.cmd.Wait(), "process %s: %s%s", w.name, rest, w.errs.String())
}

// TestFleetWorker is run by each process of the fleet. On its own it does nothing.
func TestFleetWorker(t *testing.T) {
	name := os.Getenv(fleetEnv)
	if name == "" {
		return // not a worker: there is nothing to test here
	}
	ctx := t.Context()
	group, err := instance.OpenAll(instance.Config{FixedAddress: true}, strings.Split(os.Getenv(fleetURLs), ",")...)
	require.NoError(t, err)
	defer func() { require.NoError(t, group.Close()) }()
	locks, err := quorum.New(quorum.Config{Terms: quorum.Terms{TTL: fleetTTL}, MaxTTL: fleetTTL, BackoffMax: 50 * time.Millisecond, Owner: name}, group.Instances()...)
	require.NoError(t, err)
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		require.NoError(t, locks.Settle(closing), "deletes are still pending")
		require.NoError(t, locks.Close(closing))
		fmt.Println("done")
	}()
	require.NoError(t, locks.Trust(ctx)) // the servers are new, and nothing was locked before
	fmt.Println("ready")
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	require.NoError(t, err)

	var workers errgroup.Group
	for range fleetWorkers {
		workers.Go(func() error {
			for range fleetTurns {
				err := locks.Do(ctx, fleetKey, func(ctx context.Context, lease *quorum.Lease) error {
					return increment(os.Getenv(fleetLedger), lease.Token(), name)
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, workers.Wait())
}

// increment is the read-modify-write that only the lock protects.
func increment(ledger string, token fencing.Token, who string) error {
	content, err := os.ReadFile(ledger)
	if err != nil {
		return err
	}
	last := 0
	if lines := strings.Split(strings.TrimSpace(string(content)), "\n"); lines[0] != "" {
		e, err := parseEntry(lines[len(lines)-1])
		if err != nil {
			return err
		}
		last = e.n
	}
	f, err := os.OpenFile(ledger, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%d %d %s\n", last+1, token, who)
	return errors.Join(err, f.Close())
}
