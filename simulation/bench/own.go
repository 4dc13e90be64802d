package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redquorum/redlock/simulation/bench/client"
)

// ownPart is a part that measures this library alone, as a process of its own.
type ownPart struct {
	name  string
	cases func(options) []ownCase
}

// ownCase is something to measure.
type ownCase struct {
	what    string // for the progress and for tables
	servers int
	rounds  int
	task    client.Task
}

const servers = 5

// mostServers is the number of servers of the largest case.
const mostServers = 9

// busy is the number of workers that keep the servers busy.
const busy = 128

var ownParts = []ownPart{
	{"throughput", throughputCases}, // without -against, the throughput of all contenders is measured instead
	{"scale", scaleCases},
	{"held", heldCases},
}

func throughputCases(o options) (cases []ownCase) {
	for _, n := range o.workers {
		cases = append(cases, ownCase{
			count(n, "worker"), servers, o.times,
			client.Task{Measure: client.MeasureCycles, TTL: ttl, Long: o.long, Workers: n},
		})
	}
	return cases
}

// count returns a number of things.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func scaleCases(o options) (cases []ownCase) {
	add := func(what string, n, keys int) {
		cases = append(cases, ownCase{what, n, o.times, client.Task{Measure: client.MeasureCycles, TTL: ttl, Long: o.long, Workers: busy, Keys: keys}})
	}
	for _, n := range []int{3, 5, 7, mostServers} {
		add(fmt.Sprintf("%d servers", n), n, 0)
	}
	for _, keys := range []int{1, 1000, 1_000_000} {
		add(count(keys, "key"), servers, keys)
	}
	return cases
}

// heldRounds bounds the rounds with kept leases, each of which takes longer than a TTL.
const heldRounds = 3

func heldTTL(o options) time.Duration {
	if o.quick {
		return 3 * time.Second
	}
	return 30 * time.Second
}

func heldCases(o options) (cases []ownCase) {
	long, numbers := heldTTL(o), []int{10_000, 100_000}
	if o.quick {
		numbers = []int{500}
	}
	for _, n := range numbers {
		for _, by := range []string{"Do", "KeepAlive"} {
			cases = append(cases, ownCase{
				count(n, "lease") + " by " + by, servers, min(o.times, heldRounds),
				client.Task{Measure: client.MeasureHeld, TTL: long, Long: long, Leases: n, By: by},
			})
		}
	}
	return cases
}

// program is the client program, built with a checkout of the library.
type program struct {
	path    string
	version string // a commit, if git knows it
}

// run performs a task.
func (p program) run(ctx context.Context, task client.Task) (result client.Result, err error) {
	input, err := json.Marshal(task)
	if err != nil {
		return result, err
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, p.path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &errs
	if err := cmd.Run(); err != nil {
		return result, fmt.Errorf("the client program (%s): %w: %s", task.Measure, err, tail(errs.String()))
	}
	return result, json.Unmarshal(out.Bytes(), &result)
}

// tail shortens a program's output.
func tail(text string) string {
	const most = 2000
	text = strings.TrimSpace(text)
	if len(text) > most {
		text = "... " + text[len(text)-most:]
	}
	return text
}

// builder builds the client program into a folder of its own.
type builder struct {
	module string // the folder of this module
	dir    string
}

func newBuilder(ctx context.Context) (*builder, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("building the client program takes the go command: %w", err)
	}
	module := filepath.Dir(strings.TrimSpace(string(out)))
	if _, err := os.Stat(filepath.Join(module, "client", "program")); err != nil {
		return nil, fmt.Errorf("the client program is built from its source, in the module's folder; start this with go -C simulation/bench run . (%w)", err)
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	return &builder{module, dir}, nil
}

func (b *builder) close() error { return os.RemoveAll(b.dir) }

// build builds the program with the checkout that this module is part of, or with another one.
func (b *builder) build(ctx context.Context, checkout string) (program, error) {
	root, name := filepath.Join(b.module, "..", ".."), "this"
	args := []string{"build", "-o"}
	if checkout == "" {
		args = append(args, filepath.Join(b.dir, name))
	} else {
		var err error
		if root, err = filepath.Abs(checkout); err != nil {
			return program{}, err
		}
		name = "other"
		mod := filepath.Join(b.dir, "other.mod")
		if err := b.modfile(ctx, root, mod); err != nil {
			return program{}, err
		}
		args = append(args, filepath.Join(b.dir, name), "-mod=mod", "-modfile="+mod)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./client/program")...)
	cmd.Dir = b.module
	if out, err := cmd.CombinedOutput(); err != nil {
		return program{}, fmt.Errorf("building the client program with the library in %s: %w: %s", root, err, tail(string(out)))
	}
	return program{filepath.Join(b.dir, name), version(ctx, root)}, nil
}

// modfile writes a copy of this module's go.mod that takes the library from another checkout,
// and a go.sum with what either needs.
func (b *builder) modfile(ctx context.Context, root, mod string) error {
	text, err := os.ReadFile(filepath.Join(b.module, "go.mod"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(mod, text, 0o644); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "go", "mod", "edit", "-replace="+libraryModule+"="+root, mod).CombinedOutput(); err != nil {
		return fmt.Errorf("go mod edit: %w: %s", err, tail(string(out)))
	}
	var sums []byte
	for _, file := range []string{filepath.Join(b.module, "go.sum"), filepath.Join(root, "go.sum")} {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		sums = append(sums, text...)
	}
	return os.WriteFile(strings.TrimSuffix(mod, ".mod")+".sum", sums, 0o644)
}

const libraryModule = "github.com/redquorum/redlock"

// checkCheckout says whether a folder is a checkout of the library.
func checkCheckout(folder string) error {
	text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return fmt.Errorf("-against %s is no checkout of this repository: %w", folder, err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	if strings.TrimSpace(first) != "module "+libraryModule {
		return fmt.Errorf("-against %s is no checkout of this repository: its go.mod begins with %q", folder, first)
	}
	return nil
}

// libraryFolders have all that a program with the library is built from.
var libraryFolders = []string{"drift", "fencing", "instance", "quorum", "go.mod"}

// version names a checkout by the last commit that changed the library, and says if it has been
// changed since. Without git it is unknown.
func version(ctx context.Context, root string) string {
	git := func(args ...string) (string, error) {
		args = append([]string{"-C", root}, args...)
		out, err := exec.CommandContext(ctx, "git", append(append(args, "--"), libraryFolders...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("log", "-1", "--format=%h")
	if err != nil || commit == "" {
		return "unknown"
	}
	if changes, err := git("status", "--porcelain"); err != nil || changes != "" {
		commit += ", changed"
	}
	return commit
}

// measureOwn performs one case once.
func measureOwn(ctx context.Context, p program, f fleet, c ownCase) (client.Result, error) {
	f = f[:c.servers]
	if err := f.flush(); err != nil {
		return client.Result{}, err
	}
	c.task.Addrs = f.addrs()
	result, err := p.run(ctx, c.task)
	if err == nil && result == (client.Result{}) {
		err = errors.New("the client program has measured nothing")
	}
	return result, err
}

// cases performs the cases of a part in turns.
func (m measurement) cases(part string, cases []ownCase) ([][]client.Result, error) {
	return inTurns(cases[0].rounds, len(cases), func(round, i int) (client.Result, error) {
		m.progress(fmt.Sprintf("%s, round %d of %d: %s", part, round+1, cases[i].rounds, cases[i].what))
		return measureOwn(m.ctx, m.client, m.fleet, cases[i])
	})
}
