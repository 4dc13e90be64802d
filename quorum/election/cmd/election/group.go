//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redquorum/redlock/instance/embedded"
)

// What candidates say, and that they ended.
const (
	campaigns = "campaigns"
	leads     = "leads"
	stops     = "stops"
	exits     = "exits"
)

// event is a line of a candidate.
type event struct {
	pid         int
	what, words string
	at          time.Time
}

// group is five servers and the candidate processes.
type group struct {
	ttl     time.Duration
	cluster *embedded.Cluster
	events  chan event // has room for all that a reader may leave
	readers sync.WaitGroup

	mu        sync.Mutex
	processes map[int]*process
}

type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

func startGroup(ttl time.Duration, candidates int) (*group, error) {
	cluster, err := embedded.Start(5)
	if err != nil {
		return nil, err
	}
	g := &group{ttl: ttl, cluster: cluster, events: make(chan event, 1<<16), processes: map[int]*process{}}
	for range candidates {
		if err := g.start(); err != nil {
			g.close()
			return nil, err
		}
	}
	return g, nil
}

// start starts a candidate.
func (g *group) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{asCandidate, g.ttl.String()}
	for i, url := range g.cluster.URLs() {
		args = append(args, url+" "+g.cluster.Server(i).RunID())
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.Stderr = os.Stderr
	// Ctrl-C is for this process, which then ends the others.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	pid := cmd.Process.Pid
	g.mu.Lock()
	g.processes[pid] = &process{cmd, stdin}
	g.mu.Unlock()
	g.readers.Go(func() {
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			what, words, _ := strings.Cut(lines.Text(), " ")
			g.events <- event{pid, what, words, time.Now()}
		}
		how := "in order"
		if err := cmd.Wait(); err != nil {
			how = err.Error()
		}
		g.mu.Lock()
		delete(g.processes, pid)
		g.mu.Unlock()
		g.events <- event{pid, exits, how, time.Now()}
	})
	return nil
}

// childEnv is set for candidates, which a test binary may stand for.
const childEnv = "REDLOCK_ELECTION_CANDIDATE"

// signal sends a signal to a candidate.
func (g *group) signal(pid int, s syscall.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.processes[pid]
	if p == nil {
		return fmt.Errorf("process %d has ended", pid)
	}
	return p.cmd.Process.Signal(s)
}

// close ends all candidates and waits for them.
func (g *group) close() {
	g.mu.Lock()
	for _, p := range g.processes {
		_ = p.stdin.Close()
		_ = p.cmd.Process.Signal(syscall.SIGCONT) // it may be paused
	}
	g.mu.Unlock()
	late := time.AfterFunc(10*time.Second, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		for _, p := range g.processes {
			_ = p.cmd.Process.Kill()
		}
	})
	g.readers.Wait()
	late.Stop()
	_ = g.cluster.Close() // they go with the process
}

// errNoLeader: no candidate led in a time in which one must.
var errNoLeader = errors.New("no candidate leads")

// next waits for an event of a kind, of a process that wants accepts.
func (g *group) next(what string, wants func(pid int) bool) (event, error) {
	limit := time.After(3*g.ttl + 10*time.Second)
	for {
		select {
		case e := <-g.events:
			if e.what == what && wants(e.pid) {
				return e, nil
			}
		case <-limit:
			return event{}, fmt.Errorf("%w: no process %s within three TTLs and 10 s", errNoLeader, what)
		}
	}
}
