//go:build unix

package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/simulation"
)

// The names of a resource process's files, in its directory.
const (
	valueFile  = "value.json"
	ledgerFile = "ledger.jsonl"
)

// resource is a file that its process reads and writes for all clients. The process also
// keeps the ledger.
type resource struct {
	guard  fencing.Memory
	kind   simulation.Guarding
	value  string // its path
	ledger *os.File

	mu  sync.Mutex
	seq int
}

// content is what the file holds.
type content struct {
	Value   int64  `json:"value"`
	Version uint64 `json:"version"` // counts the writes
}

// serveResource runs a resource process. It writes its address to out and ends when in
// ends.
func serveResource(dir string, kind simulation.Guarding, in io.Reader, out io.Writer) error {
	ledger, err := os.OpenFile(filepath.Join(dir, ledgerFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	r := &resource{kind: kind, value: filepath.Join(dir, valueFile), ledger: ledger}
	if err := r.save(content{}); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go r.serve(conn)
		}
	}()
	if _, err := fmt.Fprintln(out, listener.Addr()); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, in) // its end is the request to exit
	return ledger.Close()
}

// serve handles the requests of one connection. It executes each of them, even if the
// client no longer waits.
func (r *resource) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return
		}
		text, err := json.Marshal(r.handle(e))
		if err != nil {
			return
		}
		_, _ = conn.Write(append(text, '\n'))
	}
}

// handle executes and records a request in one step.
func (r *resource) handle(e entry) entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.What == "" {
		e.Seq = r.seq // only asks for the number
		return e
	}
	if err := r.execute(&e); err != nil {
		e.What, e.Words = wasStale, e.What+": "+err.Error()
		if !errors.Is(err, fencing.ErrStale) {
			e.What = wasDenied
		}
	}
	r.seq++
	e.Seq = r.seq
	text, err := json.Marshal(e)
	if err == nil {
		_, err = r.ledger.Write(append(text, '\n'))
	}
	if err != nil {
		e.What, e.Words = wasDenied, err.Error()
	}
	return e
}

func (r *resource) execute(e *entry) error {
	ctx := context.Background()
	switch e.What {
	case wasRead:
		if r.kind != simulation.Unguarded && r.kind != simulation.GuardWrites {
			if err := r.guard.Admit(ctx, e.Key, e.Token); err != nil {
				return err
			}
		}
		c, err := r.load()
		e.Value, e.Version, e.Found = c.Value, c.Version, c.Version
		return err
	case wasWritten:
		if r.kind == simulation.Unguarded {
			return r.write(e)
		}
		return r.guard.Write(ctx, e.Key, e.Token, func() error { return r.write(e) })
	default:
		return nil
	}
}

func (r *resource) write(e *entry) error {
	c, err := r.load()
	if err != nil {
		return err
	}
	e.Found = c.Version
	return r.save(content{Value: e.Value, Version: c.Version + 1})
}

func (r *resource) load() (content, error) {
	text, err := os.ReadFile(r.value)
	if err != nil {
		return content{}, err
	}
	var c content
	return c, json.Unmarshal(text, &c)
}

func (r *resource) save(c content) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(r.value, text, 0o600)
}

// readLedger returns the ledger of a resource process.
func readLedger(dir string) ([]entry, error) {
	file, err := os.Open(filepath.Join(dir, ledgerFile))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var entries []entry
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("live: ledger line %d: %w", len(entries)+1, err)
		}
		entries = append(entries, e)
	}
	return entries, lines.Err()
}
