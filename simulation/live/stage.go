//go:build unix

package live

import (
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

// stage is where one play takes place: the servers, the resource, the clients and
// what lies between them. Its methods, and those of its actors, end the play at the
// first step that fails: only the play's own goroutine may call them.
type stage struct {
	ctx  context.Context
	run  *run
	dir  string
	act  Act
	part Part
	cfg  simulation.Config // what the simulation's processes have
	ttl  time.Duration
	// alone says that the design uses one server.
	alone bool

	servers  []*server
	resource *process
	rowHome  *redisproc.Server // instead of resource
	door     door
	opsLink  *redisproc.Link // between c1 and the resource
	actors   []*actor
	closers  []func()
	words    []string // what was seen, for people
}

// server is one of the stage's servers.
type server struct {
	*redisproc.Server
	name    string
	runID   string
	machine *machine // nil if the act needs none
	links   []*redisproc.Link
}

// stopped ends a play. It is how a step that fails does so.
type stopped struct{ err error }

// errLate: a step came too late for the story to be told. It can be told again, more
// slowly.
var errLate = errors.New("live: the machine was too slow for the story")

func (s *stage) fail(format string, args ...any) { panic(stopped{fmt.Errorf(format, args...)}) }

// must ends the play on an error.
func (s *stage) must(err error) {
	if err != nil {
		panic(stopped{err})
	}
}

// late ends a play that can't be told any more.
func (s *stage) late(what string) { s.fail("%w: %s", errLate, what) }

// say adds to what is told of the play.
func (s *stage) say(format string, args ...any) {
	s.words = append(s.words, fmt.Sprintf(format, args...))
}

// build makes the stage ready: everything runs when it returns.
func (s *stage) build() {
	count := s.cfg.Servers
	if count == 0 {
		count = 5
	}
	if s.alone {
		count = 1
	}
	for i := range count {
		s.servers = append(s.servers, s.startServer(string(rune('A'+i)), s.act.Args...))
	}
	s.startResource()
}

// startServer starts a server for the play's time.
func (s *stage) startServer(name string, args ...string) *server {
	v := &server{name: name}
	config := redisproc.Config{Binary: s.run.options.Binary, Parent: s.dir, Args: slices.Concat(s.run.options.Args, args)}
	if s.act.Machine {
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
		s.fail("%w: the server doesn't take the preloaded library", errNoMachine)
	}
	v.runID, err = process.Info("run_id")
	s.must(err)
	return v
}

// startResource starts what the lock protects.
func (s *stage) startResource() {
	kind := string(s.cfg.Guard)
	if s.act.Row {
		home, err := redisproc.Start(s.ctx, redisproc.Config{Parent: s.dir, Args: []string{"--appendonly", "yes", "--appendfsync", "always"}})
		s.must(err)
		s.rowHome = home
		s.closers = append(s.closers, func() { _ = home.Close() })
		s.door = door{Addr: home.Addr(), Notes: home.Addr(), Row: true, Guard: kind}
	} else {
		dir := filepath.Join(s.dir, "resource")
		s.must(os.Mkdir(dir, 0o700))
		p, err := startPart("the resource", partResource, s.run.dir, []string{dirVariable + "=" + dir, kindVariable + "=" + kind})
		s.must(err)
		s.resource = p
		s.closers = append(s.closers, p.end)
		line, err := p.out.ReadString('\n')
		if err != nil {
			p.end()
			s.fail("live: the resource didn't start: %w: %s", err, p.said())
		}
		addr := strings.TrimSpace(line)
		s.door = door{Addr: addr, Notes: addr, Guard: kind}
	}
	link, err := redisproc.NewLink(s.door.Addr)
	s.must(err)
	s.opsLink = link
	s.closers = append(s.closers, func() { _ = link.Close() })
}

// server gives one by its name.
func (s *stage) server(name string) *server {
	for _, v := range s.servers {
		if v.name == name {
			return v
		}
	}
	s.fail("live: there is no server %s", name)
	return nil
}

// some gives servers by their names, "CDE" say, as far as there are such.
func (s *stage) some(names string) []*server {
	var some []*server
	for _, v := range s.servers {
		if strings.Contains(names, v.name) {
			some = append(some, v)
		}
	}
	return some
}

// victim is the server that a lock on a bare quorum can't do without: C of those that
// c1 reaches, or the only one.
func (s *stage) victim() *server {
	if s.alone {
		return s.servers[0]
	}
	return s.server("C")
}

// ask sends a server a command past everything.
func (s *stage) ask(v *server, args ...string) string {
	reply, err := v.MustAsk(args...)
	s.must(err)
	return reply
}

// await waits until something is so. It is for what nobody sends a message about.
func (s *stage) await(what string, is func() bool) {
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
			s.fail("live: waited %v in vain until %s", patience, what)
		}
	}
}

// event waits for something that is told by a channel.
func (s *stage) event(what string, happened <-chan struct{}) {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-happened:
	case <-s.ctx.Done():
		s.must(context.Cause(s.ctx))
	case <-timeout.C:
		s.fail("live: waited %v in vain until %s", patience, what)
	}
}

// awaitKey waits until the lock's key is, or isn't, on servers.
func (s *stage) awaitKey(there bool, servers ...*server) {
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

// has says whether the lock's key is on a server.
func (s *stage) has(v *server) bool { return s.ask(v, "EXISTS", key) == ":1" }

// tell writes something down for a client that can't or needn't.
func (s *stage) tell(e Entry) {
	book, err := s.door.openLedger(s.door.Notes)
	s.must(err)
	defer func() { _ = book.close() }()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	mark, err := book.tell(ctx, Entry{})
	s.must(err)
	e.Began = mark.Seq
	_, err = book.tell(ctx, e)
	s.must(err)
}

// history is what has been written down.
func (s *stage) history() []Entry {
	if s.rowHome != nil {
		entries, err := readRow(s.ctx, s.rowHome.Addr())
		s.must(err)
		return entries
	}
	entries, err := readLedger(filepath.Join(s.dir, "resource"))
	s.must(err)
	return entries
}

// close ends everything, the last first.
func (s *stage) close() error {
	for _, a := range s.actors {
		a.process.kill()
		a.close()
	}
	for _, end := range slices.Backward(s.closers) {
		end()
	}
	return os.RemoveAll(s.dir)
}
