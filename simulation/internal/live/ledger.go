//go:build unix

package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/fencing/redisguard"
	"github.com/redquorum/redlock/simulation"
)

// ledger is a client's access to the resource.
type ledger interface {
	// record executes the entry and appends it in one step. It returns the entry as
	// written, with wasStale in What if it was refused. An entry without What only gets
	// the number of the last entry.
	record(ctx context.Context, e entry) (entry, error)
	close() error
}

// openLedger opens the resource at one of the addresses.
func (d resourceConfig) openLedger(addr string) (ledger, error) {
	if d.Row {
		return openRow(addr, simulation.Guarding(d.Guard))
	}
	return &remote{addr: addr}, nil
}

// remote accesses a resource process. Each request has its own connection, so that a
// delayed request does not delay others.
type remote struct{ addr string }

func (r *remote) close() error { return nil }

func (r *remote) record(ctx context.Context, e entry) (entry, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", r.addr)
	if err != nil {
		return e, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	defer func() { _ = conn.Close() }()
	text, err := json.Marshal(e)
	if err != nil {
		return e, err
	}
	if _, err := conn.Write(append(text, '\n')); err != nil {
		return e, err
	}
	line, err := bufio.NewReader(conn).ReadBytes('\n')
	if err != nil {
		return e, errors.Join(err, ctx.Err())
	}
	return e, json.Unmarshal(line, &e)
}

// row is a resource in Redis: a hash, and the ledger in a list, so that one script changes
// both.
type row struct {
	kind   simulation.Guarding
	client *redis.Client
	guard  *redisguard.Guard
}

// The keys of a row, in the cluster slot of the guard's mark.
const (
	rowResource = "row"
	rowKey      = "{row}:value"
	rowLedger   = "{row}:ledger"
)

// rowScript is a Lua script that runs with or without the guard.
type rowScript struct {
	text    string
	guarded *redisguard.Script
}

func newRowScript(text string) (*rowScript, error) {
	guarded, err := redisguard.NewScript(text)
	return &rowScript{text, guarded}, err
}

// Each script completes the entry in ARGV[1] and appends it to the ledger.
const (
	rowNote = `local e = cjson.decode(ARGV[1])
`
	rowRead = rowNote + `local at = redis.call('HMGET', KEYS[1], 'value', 'version')
e.value = tonumber(at[1] or '0')
e.version = tonumber(at[2] or '0')
e.found = e.version
`
	rowWrite = rowNote + `e.found = tonumber(redis.call('HGET', KEYS[1], 'version') or '0')
redis.call('HSET', KEYS[1], 'value', e.value, 'version', e.found + 1)
`
	rowAppend = `e.seq = redis.call('LLEN', KEYS[2]) + 1
local text = cjson.encode(e)
redis.call('RPUSH', KEYS[2], text)
return text`
)

var rowScripts = sync.OnceValues(func() (map[string]*rowScript, error) {
	scripts := map[string]*rowScript{}
	for what, body := range map[string]string{"": rowNote, wasRead: rowRead, wasWritten: rowWrite} {
		script, err := newRowScript(body + rowAppend)
		if err != nil {
			return nil, err
		}
		scripts[what] = script
	}
	return scripts, nil
})

func openRow(addr string, kind simulation.Guarding) (ledger, error) {
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true})
	guard, err := redisguard.New(redisguard.Config{Client: client})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return &row{kind: kind, client: client, guard: guard}, nil
}

func (r *row) close() error { return r.client.Close() }

func (r *row) record(ctx context.Context, e entry) (entry, error) {
	if e.What == "" {
		n, err := r.client.LLen(ctx, rowLedger).Result()
		e.Seq = int(n)
		return e, err
	}
	written, err := r.run(ctx, e)
	if !errors.Is(err, fencing.ErrStale) {
		return written, err
	}
	e.What, e.Words = wasStale, e.What+": "+err.Error()
	return r.run(ctx, e)
}

// run runs the entry's script, with the guard if it checks such requests.
func (r *row) run(ctx context.Context, e entry) (entry, error) {
	scripts, err := rowScripts()
	if err != nil {
		return e, err
	}
	script, touches := scripts[e.What]
	if !touches {
		script = scripts[""]
	}
	text, err := json.Marshal(e)
	if err != nil {
		return e, err
	}
	keys := []string{rowKey, rowLedger}
	guarded := touches && r.kind != simulation.Unguarded && (e.What == wasWritten || r.kind != simulation.GuardWrites)
	var reply any
	if guarded {
		reply, err = r.guard.Run(ctx, script.guarded, rowResource, e.Token, keys, string(text))
	} else {
		reply, err = r.client.Eval(ctx, script.text, keys, string(text)).Result()
	}
	if err != nil {
		return e, err
	}
	line, ok := reply.(string)
	if !ok {
		return e, fmt.Errorf("live: the row answered %v", reply)
	}
	return e, json.Unmarshal([]byte(line), &e)
}

// readRow returns a row's ledger.
func readRow(ctx context.Context, addr string) ([]entry, error) {
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = client.Close() }()
	lines, err := client.LRange(ctx, rowLedger, 0, -1).Result()
	if err != nil {
		return nil, err
	}
	entries := make([]entry, len(lines))
	for i, line := range lines {
		if err := json.Unmarshal([]byte(line), &entries[i]); err != nil {
			return nil, fmt.Errorf("live: ledger line %d: %w", i+1, err)
		}
	}
	return entries, nil
}
