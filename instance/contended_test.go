//go:build unix

package instance_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum"
)

// contention is several processes whose workers all want one lock, hold it for a millisecond,
// release it and want it again.

const (
	contentionEnv  = "REDLOCK_CONTENTION" // marks one of its processes; holds its settings as JSON
	contentionKey  = "contended"
	contentionHold = time.Millisecond
)

// contender is the settings of one process.
type contender struct {
	URLs    []string
	Workers int
	Turns   int           // of each worker, 0 for no bound
	TTL     time.Duration // 0 for the default
	Report  bool          // it prints each turn after it has begun
}

// busy is an InstanceTimeout for a machine with other work.
const busy = time.Second

// held is one turn, by this machine's wall clock, in nanoseconds.
type held struct {
	Token    fencing.Token
	From, To int64
}

// contend runs workers in this process until they have had their turns, or stop is closed.
func contend(ctx context.Context, c contender, stop <-chan struct{}) (turns []held, err error) {
	group, err := instance.OpenAll(instance.Config{}, c.URLs...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, group.Close()) }()
	locks, err := quorum.New(quorum.Config{Terms: quorum.Terms{TTL: c.TTL}, InstanceTimeout: busy}, group.Instances()...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, locks.Close(ctx)) }()
	if err := locks.Trust(ctx); err != nil { // the servers are new
		return nil, err
	}
	var mu sync.Mutex
	goesOn := func(turns int) bool {
		select {
		case <-stop:
			return false
		default:
			return c.Turns == 0 || turns < c.Turns
		}
	}
	var workers errgroup.Group
	for range c.Workers {
		workers.Go(func() error {
			for n := 0; goesOn(n); n++ {
				lease, err := locks.Acquire(ctx, contentionKey)
				if err != nil {
					return err
				}
				turn := held{Token: lease.Token(), From: time.Now().UnixNano()}
				if c.Report {
					fmt.Printf("turn %d %d\n", turn.Token, turn.From)
				}
				time.Sleep(contentionHold)
				turn.To = time.Now().UnixNano()
				if err := lease.Release(ctx); err != nil {
					return err
				}
				mu.Lock()
				turns = append(turns, turn)
				mu.Unlock()
			}
			return nil
		})
	}
	return turns, workers.Wait()
}

// TestContender is run by each process of a contention. On its own it does nothing.
func TestContender(t *testing.T) {
	task := os.Getenv(contentionEnv)
	if task == "" {
		return // not a part of a contention: there is nothing to test here
	}
	var c contender
	require.NoError(t, json.Unmarshal([]byte(task), &c))
	fmt.Println("ready")
	in := bufio.NewReader(os.Stdin)
	_, err := in.ReadString('\n')
	require.NoError(t, err)
	stop := make(chan struct{})
	go func() {
		_, _ = in.ReadString('\n') // until the input ends
		close(stop)
	}()
	s, err := contend(context.WithoutCancel(t.Context()), c, stop)
	require.NoError(t, err)
	result, err := json.Marshal(s)
	require.NoError(t, err)
	fmt.Printf("share %s\n", result)
	<-stop
}

// process is a contender in a process of its own: this test's binary, run again.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	err strings.Builder
}

func startContender(t testing.TB, c contender) *process {
	t.Helper()
	task, err := json.Marshal(c)
	require.NoError(t, err)
	p := &process{cmd: exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestContender$", "-test.count=1")}
	p.cmd.Env = append(os.Environ(), contentionEnv+"="+string(task))
	p.cmd.Stderr = &p.err
	p.in, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewScanner(out)
	p.out.Buffer(nil, 16<<20)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	p.expect(t, "ready")
	return p
}

// expect reads up to a line that begins with the word, and returns the rest of it.
func (p *process) expect(t testing.TB, word string) string {
	t.Helper()
	var seen strings.Builder
	for p.out.Scan() {
		if rest, ok := strings.CutPrefix(p.out.Text(), word); ok {
			return strings.TrimSpace(rest)
		}
		seen.WriteString(p.out.Text() + "\n")
	}
	_ = p.cmd.Wait()
	require.Fail(t, "a process ended too soon", "%s%s", seen.String(), p.err.String())
	return ""
}

// result is the outcome of a contention.
type result struct {
	held     []held // by their tokens
	commands int    // that all servers together got about the lock
}

// runContention runs this many contending processes; a single one is this process itself.
func runContention(t testing.TB, servers []*instancetest.Server, processes int, c contender) *result {
	t.Helper()
	for _, s := range servers {
		c.URLs = append(c.URLs, s.URL())
	}
	var started []*process
	if processes > 1 {
		for range processes {
			started = append(started, startContender(t, c))
		}
	}
	r, before := &result{}, commandsTo(t, servers)
	if processes == 1 {
		turns, err := contend(t.Context(), c, nil)
		require.NoError(t, err)
		r.held = turns
	}
	for _, p := range started {
		_, err := io.WriteString(p.in, "go\n")
		require.NoError(t, err)
	}
	for _, p := range started {
		var turns []held
		require.NoError(t, json.Unmarshal([]byte(p.expect(t, "share")), &turns))
		r.held = append(r.held, turns...)
		require.NoError(t, p.in.Close())
	}
	r.commands = commandsTo(t, servers) - before
	for _, p := range started {
		for p.out.Scan() { // to its end
		}
		require.NoError(t, p.cmd.Wait(), p.err.String())
	}
	slices.SortFunc(r.held, func(a, b held) int { return cmp.Compare(a.Token, b.Token) })
	return r
}

var scriptCalls = regexp.MustCompile(`(?m)^cmdstat_evalsha:calls=(\d+)`)

// commandsTo counts the requests about locks to the servers: all are scripts, except for a few at
// the start of each connection.
func commandsTo(t testing.TB, servers []*instancetest.Server) (calls int) {
	t.Helper()
	for _, s := range servers {
		if found := scriptCalls.FindStringSubmatch(s.MustAsk("INFO", "commandstats")); found != nil {
			n, err := strconv.Atoi(found[1])
			require.NoError(t, err)
			calls += n
		}
	}
	return calls
}

// Many workers that want one lock get it, with fewer commands than a round and a release for each
// turn. Fairness is tested in virtual time: here the machine may stop a process for as long as
// others need for their turns.
func TestContention(t *testing.T) {
	t.Parallel() // it waits most of the time
	for _, test := range []struct {
		processes, workers int
		most               float64 // commands for each handoff
	}{
		{1, 16, 2}, {4, 4, 10},
	} {
		t.Run(fmt.Sprintf("%d processes of %d", test.processes, test.workers), func(t *testing.T) {
			c := contender{Workers: test.workers, Turns: 60}
			r := runContention(t, instancetest.StartN(t, 5, instancetest.Config{}), test.processes, c)
			require.Len(t, r.held, test.processes*test.workers*c.Turns)
			for i, next := range r.held[1:] {
				require.Greater(t, next.Token, r.held[i].Token, "two turns had the same token")
				require.GreaterOrEqual(t, next.From, r.held[i].To, "two had the lock, or their tokens are in the wrong order")
			}
			assert.Less(t, float64(r.commands)/float64(len(r.held)), test.most)
		})
	}
}

// A process is killed whose workers hand the lock to each other. Another process continues when its
// key has expired, with larger tokens than any of the dead process.
func TestDeadCohort(t *testing.T) {
	t.Parallel() // it waits most of the time
	c := contender{Workers: 4, TTL: 4 * time.Second, Report: true}
	for _, s := range instancetest.StartN(t, 5, instancetest.Config{}) {
		c.URLs = append(c.URLs, s.URL())
	}
	dead, other := startContender(t, c), startContender(t, c)
	var turns []held
	read := func(from string) (turn held) {
		_, err := fmt.Sscan(from, &turn.Token, &turn.From)
		require.NoError(t, err)
		turns = append(turns, turn)
		return turn
	}
	begin := func(p *process) {
		_, err := io.WriteString(p.in, "go\n")
		require.NoError(t, err)
	}
	begin(dead)
	for range 100 {
		read(dead.expect(t, "turn"))
	}
	begin(other)
	read(other.expect(t, "turn"))
	for range 50 {
		read(dead.expect(t, "turn"))
	}
	require.NoError(t, dead.cmd.Process.Kill())
	for dead.out.Scan() { // what it had printed
		if from, ok := strings.CutPrefix(dead.out.Text(), "turn"); ok && strings.Count(from, " ") == 2 {
			read(from)
		}
	}
	require.Error(t, dead.cmd.Wait(), "it was killed")
	killed := time.Now().UnixNano()
	for after := 0; after <= 100; { // the other process continues
		if read(other.expect(t, "turn")).From > killed {
			after++
		}
	}
	require.NoError(t, other.in.Close())
	for other.out.Scan() { // to its end
	}
	require.NoError(t, other.cmd.Wait(), other.err.String())
	slices.SortFunc(turns, func(a, b held) int { return cmp.Compare(a.Token, b.Token) })
	for i, next := range turns[1:] {
		require.Greater(t, next.Token, turns[i].Token, "two turns had the same token")
		require.Greater(t, next.From, turns[i].From, "the tokens are in the wrong order")
	}
}
