//go:build unix

package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
	"github.com/redquorum/redlock/simulation"
)

// environment has the servers, the resource, the clients and the links of one run. Its
// methods and those of its clients end the run at the first step that fails. Only the
// run's own goroutine may call them.
type environment struct {
	ctx    context.Context
	run    *run
	dir    string
	tc     Case
	design string
	cfg    simulation.Config // as in the simulation
	ttl    time.Duration
	// alone: the design uses one server.
	alone bool

	servers        []*server
	rowHome        *redisproc.Server // instead of resource
	resourceConfig resourceConfig
	opsLink        *redisproc.Link // between c1 and the resource
	clients        []*clientProcess
	closers        []func()
	notes          []string // for the report
}

// server is one of the servers.
type server struct {
	*redisproc.Server
	name    string
	runID   string
	machine *machine // nil if the case needs none
	links   []*redisproc.Link
}

// stopped is the panic value with which a failed step ends the run.
type stopped struct{ err error }

// errLate: a step came too late. The run is repeated with a longer TTL.
var errLate = errors.New("live: the machine was too slow")

func (s *environment) fail(format string, args ...any) { panic(stopped{fmt.Errorf(format, args...)}) }

// must ends the run on an error.
func (s *environment) must(err error) {
	if err != nil {
		panic(stopped{err})
	}
}

// late ends a run in which a step came too late.
func (s *environment) late(what string) { s.fail("%w: %s", errLate, what) }

// say adds a note to the report.
func (s *environment) say(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// build starts the servers and the resource.
func (s *environment) build() {
	count := cmp.Or(s.cfg.Servers, 5)
	if s.alone {
		count = 1
	}
	for i := range count {
		s.servers = append(s.servers, s.startServer(string(rune('A'+i)), s.tc.Args...))
	}
	s.startResource()
}

// startServer starts a server until the end of the run.
func (s *environment) startServer(name string, args ...string) *server {
	v := &server{name: name}
	config := redisproc.Config{Binary: s.run.options.Binary, Parent: s.dir, Args: slices.Concat(s.run.options.Args, args)}
	if s.tc.Machine {
		library, err := s.run.library()
		s.must(err)
		v.machine, err = newMachine(library, filepath.Join(s.dir, "machine-"+name))
		s.must(err)
		s.closers = append(s.closers, v.machine.close)
		config.Env = append(config.Env, v.machine.env...)
	}
	process, err := redisproc.Start(s.ctx, config)
	s.must(err)
	v.Server = process
	s.closers = append(s.closers, func() { _ = process.Close() })
	if v.machine != nil && !v.machine.loaded() {
		s.fail("%w: the server didn't load the preloaded library", errNoMachine)
	}
	v.runID, err = process.Info("run_id")
	s.must(err)
	return v
}

// startResource starts the resource that the lock protects.
func (s *environment) startResource() {
	kind := string(s.cfg.Guard)
	if s.tc.Row {
		home, err := redisproc.Start(s.ctx, redisproc.Config{Parent: s.dir, Args: []string{"--appendonly", "yes", "--appendfsync", "always"}})
		s.must(err)
		s.rowHome = home
		s.closers = append(s.closers, func() { _ = home.Close() })
		s.resourceConfig = resourceConfig{Addr: home.Addr(), Notes: home.Addr(), Row: true, Guard: kind}
	} else {
		dir := filepath.Join(s.dir, "resource")
		s.must(os.Mkdir(dir, 0o700))
		p, err := startRole("the resource", roleResource, s.run.dir, []string{dirVariable + "=" + dir, kindVariable + "=" + kind})
		s.must(err)
		s.closers = append(s.closers, p.end)
		line, err := p.out.ReadString('\n')
		if err != nil {
			p.end()
			s.fail("live: the resource didn't start: %w: %s", err, p.said())
		}
		addr := strings.TrimSpace(line)
		s.resourceConfig = resourceConfig{Addr: addr, Notes: addr, Guard: kind}
	}
	link, err := redisproc.NewLink(s.resourceConfig.Addr)
	s.must(err)
	s.opsLink = link
	s.closers = append(s.closers, func() { _ = link.Close() })
}

// server returns a server by its name.
func (s *environment) server(name string) *server {
	for _, v := range s.servers {
		if v.name == name {
			return v
		}
	}
	s.fail("live: there is no server %s", name)
	return nil
}

// some returns the existing servers among the names, such as "CDE".
func (s *environment) some(names string) []*server {
	var some []*server
	for _, v := range s.servers {
		if strings.Contains(names, v.name) {
			some = append(some, v)
		}
	}
	return some
}

// victim returns a server whose vote a bare quorum needs: C, or the only server.
func (s *environment) victim() *server {
	if s.alone {
		return s.servers[0]
	}
	return s.server("C")
}

// ask sends a command directly to a server.
func (s *environment) ask(v *server, args ...string) string {
	reply, err := v.MustAsk(args...)
	s.must(err)
	return reply
}

// await polls a condition about which no message is sent.
func (s *environment) await(what string, is func() bool) {
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-s.ctx.Done():
			s.must(context.Cause(s.ctx))
		case <-tick.C:
		}
		if time.Now().After(deadline) {
			s.fail("live: timed out after %v: %s", patience, what)
		}
	}
}

// event waits for a channel.
func (s *environment) event(what string, happened <-chan struct{}) {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-happened:
	case <-s.ctx.Done():
		s.must(context.Cause(s.ctx))
	case <-timeout.C:
		s.fail("live: timed out after %v: %s", patience, what)
	}
}

// awaitKey waits until the lock's key exists on the servers, or does not.
func (s *environment) awaitKey(there bool, servers ...*server) {
	want := ":0"
	if there {
		want = ":1"
	}
	for _, v := range servers {
		s.await(fmt.Sprintf("the key on %s is %s", v.name, want), func() bool {
			reply, err := v.Ask("EXISTS", key)
			return err == nil && reply == want
		})
	}
}

// has reports whether the lock's key exists on a server.
func (s *environment) has(v *server) bool { return s.ask(v, "EXISTS", key) == ":1" }

// record writes an entry on behalf of a client.
func (s *environment) record(e entry) {
	book, err := s.resourceConfig.openLedger(s.resourceConfig.Notes)
	s.must(err)
	defer func() { _ = book.close() }()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	last, err := book.record(ctx, entry{})
	s.must(err)
	e.Began = last.Seq
	_, err = book.record(ctx, e)
	s.must(err)
}

// history returns the ledger.
func (s *environment) history() []entry {
	if s.rowHome != nil {
		entries, err := readRow(s.ctx, s.rowHome.Addr())
		s.must(err)
		return entries
	}
	entries, err := readLedger(filepath.Join(s.dir, "resource"))
	s.must(err)
	return entries
}

// close stops everything in reverse order.
func (s *environment) close() error {
	for _, a := range s.clients {
		a.process.kill()
		a.close()
	}
	for _, end := range slices.Backward(s.closers) {
		end()
	}
	return os.RemoveAll(s.dir)
}
