//go:build unix

package instance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/quorum/wire"
)

// protocolScripts are the scripts that docs/reference/protocol.md describes.
func protocolScripts() map[string]*script {
	return map[string]*script{
		"delete": deleteScript, "undo": undoScript, "extend": extendScript, "release": releaseScript, "release_one": releaseOneScript,
		"lift": liftScript, "look": lookScript, "tick": tickScript, "mark": markScript, "enqueue": enqueueScript, "dequeue": dequeueScript,
	}
}

// TestProtocolScripts: the page says of which parts each script consists.
func TestProtocolScripts(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/protocol.md")
	require.NoError(t, err)
	row := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([a-z_, ]+) \\|")
	found := map[string]string{}
	for _, r := range row.FindAllStringSubmatch(string(page), -1) {
		found[r[1]] = newScript(strings.ReplaceAll(r[2], ",", "")).source
	}
	want := map[string]string{}
	for name, s := range protocolScripts() {
		want[name] = s.source
	}
	require.Equal(t, want, found)
}

// vector is a case of docs/testdata/protocol/vectors.json, which says how it is to be read.
type vector struct {
	Name  string
	Steps []vectorStep
}

// vectorStep is a command, a script, a transaction, or a request with the steps that it takes.
type vectorStep struct {
	Command     []any
	Script      string
	Keys        []string
	Args        []any
	Transaction [][]any
	Reply       any

	Request map[string]any
	Sends   []vectorStep
	Vote    map[string]any
}

// TestProtocolVectors plays the cases that a client in another language can be tested with. It sends the requests
// with this package, and looks at what passes on the connection.
func TestProtocolVectors(t *testing.T) {
	instancetest.Needs(t, 6, 2, "SET has PXAT")
	text, err := os.ReadFile("../docs/testdata/protocol/vectors.json")
	require.NoError(t, err)
	var file struct {
		About []string
		Cases []vector
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&file))
	server := instancetest.Start(t, instancetest.Config{})
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	rec := &recorder{}
	recorded := redis.NewClient(Harden(&redis.Options{Addr: server.Addr(), Dialer: rec.dial}))
	t.Cleanup(func() { _ = recorded.Close() })
	r, err := New(recorded, Config{Name: "s", FixedAddress: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	for _, s := range protocolScripts() {
		require.NoError(t, client.ScriptLoad(t.Context(), s.source).Err())
	}
	p := &player{r: r, rec: rec, client: client, played: map[string]bool{}}
	for _, v := range file.Cases {
		t.Run(v.Name, func(t *testing.T) { p.play(t, v) })
	}
	for name := range protocolScripts() {
		require.True(t, p.played[name], "no case plays %s", name)
	}
}

// player plays cases on one server.
type player struct {
	r      *Redis
	rec    *recorder
	client *redis.Client
	played map[string]bool
}

func (p *player) play(t *testing.T, v vector) {
	require.NoError(t, p.client.FlushAll(t.Context()).Err())
	id, err := p.r.Probe(t.Context(), wire.Known{Set: wire.Set{Name: "prod", Version: 7, N: 3, Q: 2, MaxTTL: 30 * time.Second}})
	require.NoError(t, err)
	vars := variables{"mark": "{redlock}:served:s", "run": string(id.Run()), "runid": id.RunID, "id": id.ReplID, "epoch": id.Epoch()}
	for i, step := range v.Steps {
		at := fmt.Sprintf("step %d", i+1)
		if step.Request != nil {
			p.request(t, at, vars, step)
			continue
		}
		command := vars.all(step.Command)
		if step.Script != "" {
			p.played[step.Script] = true
			command = []any{"EVAL", protocolScripts()[step.Script].source, len(step.Keys)}
			for _, key := range step.Keys {
				command = append(command, vars.in(key))
			}
			command = append(command, vars.all(step.Args)...)
		}
		reply, err := p.client.Do(t.Context(), command...).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			reply = map[string]any{"error": err.Error()}
		}
		require.True(t, vars.match(step.Reply, reply), "%s: %v, want %v, with %v", at, reply, step.Reply, vars)
	}
}

// request sends a request, and compares what it sends, what the server replies, and the vote.
func (p *player) request(t *testing.T, at string, vars variables, step vectorStep) {
	req, old := vars.request(t, step.Request)
	p.r.expiresAt.Store(!old)
	p.rec.reset()
	done := make(chan wire.Vote, 1)
	p.r.Send(req, 20*time.Second, wire.ReceiverFunc(func(v wire.Vote) { done <- v }))
	vote := voteAsMap(<-done)
	commands, replies := p.rec.exchanged(t)
	var wantCommands [][]any
	var wantReplies []any
	for _, s := range step.Sends {
		switch {
		case s.Transaction != nil:
			wantCommands = append(append(append(wantCommands, []any{"MULTI"}), s.Transaction...), []any{"EXEC"})
			wantReplies = append(wantReplies, "OK")
			for range s.Transaction {
				queued := any("QUEUED")
				if _, aborted := s.Reply.(map[string]any); aborted {
					queued = "<any>" // which commands are refused differs
				}
				wantReplies = append(wantReplies, queued)
			}
		case s.Script != "":
			command := []any{"script", s.Script, len(s.Keys)}
			for _, key := range s.Keys {
				command = append(command, key)
			}
			wantCommands = append(wantCommands, append(command, s.Args...))
		default:
			wantCommands = append(wantCommands, s.Command)
		}
		wantReplies = append(wantReplies, s.Reply)
	}
	require.Len(t, commands, len(wantCommands), "%s sent %v", at, commands)
	for i := range commands {
		if commands[i][0] == "script" {
			p.played[commands[i][1].(string)] = true
		}
		require.True(t, vars.match(wantCommands[i], commands[i]), "%s sent %v, want %v, with %v", at, commands[i], wantCommands[i], vars)
		require.True(t, vars.match(wantReplies[i], replies[i]), "%s: %v was answered with %q, want %q, with %v", at, commands[i], replies[i], wantReplies[i], vars)
	}
	for name := range vote {
		require.Contains(t, step.Vote, name, "%s: %v", at, vote)
	}
	for name, want := range step.Vote {
		require.True(t, vars.match(want, vote[name]), "%s: %s is %v, want %v, with %v", at, name, vote[name], want, vars)
	}
}

// request reads a request. old says that the server is older than PXAT.
func (v variables) request(t *testing.T, fields map[string]any) (req wire.Request, old bool) {
	number := func(value any) int64 {
		n, err := strconv.ParseInt(v.in(asText(value)), 10, 64)
		require.NoError(t, err)
		return n
	}
	texts := func(value any) (all []string) {
		for _, text := range value.([]any) {
			all = append(all, text.(string))
		}
		return all
	}
	req = wire.Request{Run: wire.Run(v["run"])}
	for name, value := range fields {
		switch name {
		case "op":
			for op := wire.Acquire; op <= wire.Dequeue; op++ {
				if op.String() == value {
					req.Op = op
				}
			}
		case "keys":
			req.Keys = texts(value)
		case "value":
			req.Value = value.(string)
		case "ttl":
			req.TTL = time.Duration(number(value)) * time.Millisecond
		case "run":
			req.Run = wire.Run(v.in(value.(string)))
		case "delete":
			req.Delete = texts(value)
		case "notify":
			req.Notify = value.(bool)
		case "token":
			req.Fence.Token = fencing.Token(number(value))
		case "floor":
			req.Fence.Floor = fencing.Token(number(value))
		case "fencing":
			req.Fence.On = value.(bool)
		case "old":
			old = value.(bool)
		case "waiter":
			req.Waiter.Address, req.Clock = value.(string), true
		default:
			t.Fatalf("a request has no %q", name)
		}
	}
	req.Fence.Ahead, req.Fence.TTL = 15*time.Second, 24*time.Hour
	return req, old
}

// voteAsMap has the fields of a vote that aren't zero, but for the clock.
func voteAsMap(vote wire.Vote) map[string]any {
	all := map[string]any{
		"outcome": vote.Outcome.String(), "token": uint64(vote.Token), "low": vote.Low, "holder": vote.Holder,
		"remaining": vote.Remaining.Milliseconds(), "replaced": vote.Replaced, "notified": vote.Notified,
		"in the way": vote.InTheWay, "keys": vote.Keys, "unsent": vote.Unsent, "error": "",
	}
	for name, is := range map[string]error{
		"other run": wire.ErrOtherRun, "other set": wire.ErrSetMismatch, "counter": wire.ErrCounter,
		"wrong type": ErrWrongType, "memory": ErrOutOfMemory,
	} {
		if errors.Is(vote.Err, is) {
			all["error"] = name
		}
	}
	if vote.Err != nil && all["error"] == "" {
		all["error"] = vote.Err.Error()
	}
	for name, value := range all {
		if reflect.ValueOf(value).IsZero() {
			delete(all, name)
		}
	}
	return all
}

// recorder records what passes on connections: a write and the replies to it.
type recorder struct {
	mu        sync.Mutex
	exchanges []*exchanged
}

type exchanged struct {
	conn      *recordedConn
	sent, got []byte
}

type recordedConn struct {
	net.Conn
	rec *recorder
}

func (r *recorder) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &recordedConn{conn, r}, nil
}

func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exchanges = nil
}

func (c *recordedConn) Write(p []byte) (int, error) {
	c.rec.mu.Lock()
	last := c.last()
	if last == nil || len(last.got) > 0 {
		last = &exchanged{conn: c}
		c.rec.exchanges = append(c.rec.exchanges, last)
	}
	last.sent = append(last.sent, p...)
	c.rec.mu.Unlock()
	return c.Conn.Write(p)
}

func (c *recordedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.rec.mu.Lock()
	defer c.rec.mu.Unlock()
	if last := c.last(); last != nil {
		last.got = append(last.got, p[:n]...)
	}
	return n, err
}

// last is the connection's last exchange. The recorder's lock is held.
func (c *recordedConn) last() *exchanged {
	for _, x := range slices.Backward(c.rec.exchanges) {
		if x.conn == c {
			return x
		}
	}
	return nil
}

// exchanged returns the commands since reset, but for those with which a connection begins, and their replies. A
// script has its name in place of its text.
func (r *recorder) exchanged(t *testing.T) (commands [][]any, replies []any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := map[string]string{}
	for name, s := range protocolScripts() {
		names[s.sha], names[s.source] = name, name
	}
	for _, x := range r.exchanges {
		sent, got := bufio.NewReader(bytes.NewReader(x.sent)), bufio.NewReader(bytes.NewReader(x.got))
		for {
			command, err := readReply(sent)
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			reply, err := readReply(got)
			args := command.([]any)
			switch name := strings.ToUpper(args[0].(string)); name {
			case "PING", "HELLO", "CLIENT", "SELECT":
				continue
			case "EVAL", "EVALSHA":
				args = append([]any{"script", names[args[1].(string)]}, args[2:]...)
			}
			require.NoError(t, err)
			commands, replies = append(commands, args), append(replies, reply)
		}
	}
	return commands, replies
}

// readReply reads one reply, or a command.
func readReply(r *bufio.Reader) (any, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	switch line[0] {
	case '+':
		return line[1:], nil
	case '-':
		return map[string]any{"error": line[1:]}, nil
	}
	n, err := strconv.ParseInt(line[1:], 10, 64)
	if err != nil || line[0] == ':' {
		return n, err
	}
	if n < 0 {
		return nil, nil
	}
	if line[0] == '$' {
		text := make([]byte, n+2)
		_, err := io.ReadFull(r, text)
		return string(text[:n]), err
	}
	all := make([]any, n)
	for i := range all {
		if all[i], err = readReply(r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// variables are the values of a vector's variables.
type variables map[string]string

var (
	variable = regexp.MustCompile(`<([a-z]+)(?:\+(\d+))?>`)
	between  = regexp.MustCompile(`^<(\d+)\.\.(\d+)>$`)
)

// in puts the variables that have a value into a text.
func (v variables) in(text string) string {
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		parts := variable.FindStringSubmatch(found)
		value, is := v[parts[1]]
		if !is || parts[2] == "" {
			if !is {
				return found
			}
			return value
		}
		number, _ := strconv.ParseInt(value, 10, 64)
		more, _ := strconv.ParseInt(parts[2], 10, 64)
		return strconv.FormatInt(number+more, 10)
	})
}

func (v variables) all(args []any) []any {
	var texts []any
	for _, arg := range args {
		texts = append(texts, v.in(asText(arg)))
	}
	return texts
}

// match compares a reply with what a case expects, and gives new variables their values.
func (v variables) match(want, reply any) bool {
	if wants, ok := want.([]any); ok {
		replies, ok := reply.([]any)
		if !ok || len(wants) != len(replies) {
			return false
		}
		for i := range wants {
			if !v.match(wants[i], replies[i]) {
				return false
			}
		}
		return true
	}
	if want == nil || reply == nil {
		return want == reply
	}
	if failure, ok := want.(map[string]any); ok {
		found, ok := reply.(map[string]any)
		return ok && strings.HasPrefix(found["error"].(string), v.in(failure["error"].(string)))
	}
	text, found := v.in(asText(want)), asText(reply)
	if bounds := between.FindStringSubmatch(text); bounds != nil {
		low, _ := strconv.ParseInt(bounds[1], 10, 64)
		high, _ := strconv.ParseInt(bounds[2], 10, 64)
		number, err := strconv.ParseInt(found, 10, 64)
		return err == nil && low <= number && number <= high
	}
	names := variable.FindAllStringSubmatch(text, -1)
	pattern := "(?s)^" + variable.ReplaceAllString(regexp.QuoteMeta(text), "(.+)") + "$"
	values := regexp.MustCompile(pattern).FindStringSubmatch(found)
	if values == nil {
		return false
	}
	for i, name := range names {
		if name[1] != "any" {
			v[name[1]] = values[i+1]
		}
	}
	return true
}

func asText(value any) string {
	if number, ok := value.(float64); ok { // as JSON has them
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}
