package instance

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/fencing"
	"github.com/redquorum/redlock/quorum/wire"
)

// A server without Lua (Valkey can be built or started so since 9.1, and rename-command takes
// EVAL and EVALSHA away) runs no script. What takes a script
// elsewhere is an optimistic transaction there, in two exchanges on one connection:
//
//	WATCH the lock's keys, and the mark           ECHO nonce, TIME, INFO replication
//	ECHO nonce, TIME, INFO replication            the same readings again
//	readings: PTTL and GETRANGE of each key       the writes of the decision
//	MULTI                                         EXEC
//
// Between the two the client decides what a script would do (decision.go). If a key has
// changed since WATCH, EXEC does nothing and answers null. The request then goes back into
// the pipe's queue, and is tried again from the start.
//
// The second exchange is one step of the server, as a script is. The vote comes from it alone,
// and is the script's, because of three things:
//
//   - What the decision was made from was there at the step: the readings in the step are
//     compared with it, and its run of the server with the one that the request names. The
//     proof of the tokens' order (quorum/internal/settlement) rests on this comparison, and
//     not on WATCH. If the two differ, or a write was not answered as expected, the vote is
//     Failed, and no grant.
//   - The clock that the decision was made by was read after the request was sent and before
//     the step. So a counter that goes on from the clock is above all that it gave a MaxTTL
//     earlier, reserved tokens are below the clock of the step, and the period in the text is
//     the step's or an earlier one, which only makes the counter live longer. Only how far a
//     token is ahead is judged once more, by the clock of the step, because the clock may have
//     been set back between the two.
//   - The writes are made only if nothing changed since WATCH. This is what keeps another
//     holder's key from being deleted or replaced. Expiry is such a change, too (since Redis
//     6.0.9; before that the readings still tell, and SET has NX or XX). So are a FLUSHALL and
//     the data of another server, which a server loads when it becomes a replica.
//
// What a request may leave behind is what package presence assumes. It is Unsent until the
// second exchange is about to be written, because the first one only reads. From then on it is
// not, unless the server says that EXEC did nothing (null, or EXECABORT). If EXEC's reply is
// lost, the vote is Failed and nothing is sent again. So of the tries of one request at most
// one ever sets the key. A late EXEC does what a late script does: it sets the key if that is
// free. If a transaction had set the key for the same request (transaction.go) and a delete
// came between, WATCH sees the delete, and a later try finds the key gone and sets nothing.
//
// WATCH belongs to a connection. TCP proxies, and those that tie a client to one connection,
// keep it. If a proxy loses the server's connection and goes on with another one, it has
// answered OK to a MULTI that the new one doesn't know: the commands are then not answered
// with QUEUED, and the vote fails. A proxy that sends WATCH one way and the transaction
// another way lets writes through after a change. The readings show it, and the vote fails;
// but with such a proxy a release could delete the key of the next holder, so it must not
// stand before a server without Lua.
//
// A connection returns to the pool only after EXEC was answered: with null, EXECABORT or a
// whole array. The server has then ended the transaction and watches nothing any more. In any
// other case the connection is closed.
//
// A server whose memory is full queues no command at all, so it does nothing of this before it
// has room again, not even a release or an extension. (Scripts still do those two.) Leases then
// end by their TTL. A release by DELIFEQ, DELEX or CAD works all the same.
//
// The pipe owns it all: a try is a batch, so the pipe's bounds, deadlines and Close hold for
// it, too.
type watched struct {
	b     *batch
	calls []*call
	steps []step
	run   wire.Run

	asked   []*asked // the commands of the first exchange
	keys    []any    // of WATCH
	queued  queuedOnly
	exec    replyBuffer
	nonce   string
	replies int // how many elements EXEC's reply has
}

const (
	// maxWatched is how many requests share one WATCH. If a key of one changes, all are
	// tried again, each on its own.
	maxWatched = 32
	// maxTries is how often a request is tried in all. Each failed try means that another
	// client has changed one of the keys in the meantime.
	maxTries = 16
)

var (
	errNoScripts  = fmt.Errorf("%w (without Lua no process that waits is notified: all poll)", ErrCommand)
	errContended  = fmt.Errorf("%w: other clients changed the lock's keys in each of %d tries", wire.ErrOverloaded, maxTries)
	errSeveral    = fmt.Errorf("%w: a lease on several keys takes a script, and this server runs none; take the locks one by one, or use servers with Lua", ErrCommand)
	errNotWatched = fmt.Errorf("%w: WATCH has no effect on this connection; connect to the server itself rather than to a proxy", ErrCommand)
)

// lacksScripts is what Verify tells of such a server.
const lacksScripts = "it runs no scripts: an acquisition that isn't usual, an extension, and a release take two exchanges instead of one, and it notifies no process that waits: the wait queues are on the other servers, and without another one all poll; and it takes no part in leases on several keys"

// watched reports whether a call is carried out by a watched transaction.
func (r *Redis) watched(c *call) bool {
	//guard:several-takes-a-script  a server without scripts doesn't decide about the first of several keys alone
	if !r.noScripts.Load() || c.transactional || c.several() {
		return false
	}
	switch c.req.Op {
	case wire.Acquire:
		return c.req.Fence.On || c.req.Replace != "" || c.req.Run != ""
	case wire.Extend:
		return c.useScript || c.req.Run != "" || Dialect(r.extend.Load()) == DialectLua
	case wire.Release:
		return c.useScript || Dialect(r.release.Load()) == DialectLua
	case wire.Raise, wire.Restore, wire.Look, wire.Tick:
		return true
	default:
		return c.marking
	}
}

// joins reports whether a call can be in one batch with others that came before it.
func (c *call) joins(calls []*call) bool {
	first := calls[0]
	if !c.watched && !first.watched {
		return true
	}
	if c.watched != first.watched || c.alone || first.alone || len(calls) == maxWatched || c.req.Run != first.req.Run {
		return false
	}
	for _, other := range calls {
		//guard:one-decision-a-key  no two decisions of one transaction are about one lock
		if other.req.Key == c.req.Key {
			return false
		}
	}
	return true
}

// asked is a command of the first exchange.
type asked struct {
	args  []any
	reply replyBuffer
	cmd   *redis.RawWriteToCmd
}

// queuedOnly takes the replies to the commands between MULTI and EXEC.
type queuedOnly struct{ why string }

func (q *queuedOnly) Write(p []byte) (int, error) { return takeQueued(p, &q.why) }

// readMark is the first argument of the first command of the first exchange.
type readMark struct {
	b    *batch
	name string
}

// MarshalBinary returns the name when go-redis writes it.
func (m readMark) MarshalBinary() ([]byte, error) {
	if !m.b.pipe.beginRead(m.b) {
		return nil, errAbandoned
	}
	return []byte(m.name), nil
}

// String names the command for go-redis's hooks.
func (m readMark) String() string { return m.name }

// roundTripWatched tries the batch's calls once.
func (b *batch) roundTripWatched() error {
	b.used, b.clock, b.wait = 0, nil, nil
	w := newWatched(b)
	conn := b.pipe.r.client.Conn()
	ended := false
	defer func() {
		//guard:no-watch-in-the-pool  a connection on which a transaction did not end is closed
		if !ended && b.asked {
			discard(conn)
		}
		_ = conn.Close() // gives the connection back
	}()
	first, err := w.ask(conn)
	if err != nil {
		return w.fail(err)
	}
	if first == nil { // the calls have their votes
		return nil
	}
	decisions := w.decide(first)
	err = w.send(conn, decisions)
	if errors.Is(err, errAbandoned) {
		return err
	}
	ended = w.take(first, decisions, err)
	b.readWait(err)
	return err
}

func newWatched(b *batch) *watched {
	r := b.pipe.r
	w := &watched{b: b, calls: b.calls, run: b.calls[0].req.Run, nonce: strconv.FormatUint(r.nonce.Add(1), 10)}
	w.steps = make([]step, len(w.calls))
	w.keys = []any{"WATCH"}
	if w.marks() {
		//guard:mark-is-watched  a decision is carried out only if the mark has not changed
		w.keys = append(w.keys, r.markKey)
	}
	for i, c := range w.calls {
		s := &w.steps[i]
		*s = step{
			req: &c.req, ttl: c.ttl, quarter: c.quarter, ahead: c.ahead, reserve: c.reserve, token: c.token, keySet: c.keySet,
			lock: c.req.Key, counter: CounterKey(c.req.Key), text: SetKey(c.req.Key),
		}
		if c.req.Op == wire.Tick {
			c.req.Clock = true
		}
		if s.fenced() {
			s.set = r.setText(c.req.Fence.Set).text
		}
		for _, key := range w.keysOf(i) {
			//guard:keys-are-watched  a decision is carried out only if no key that it depends on has changed
			w.keys = append(w.keys, key)
		}
	}
	return w
}

// marking reports whether the batch is a Probe's, which writes the mark.
func (w *watched) marking() bool { return w.calls[0].marking }

// marks reports whether the mark is read.
func (w *watched) marks() bool { return w.marking() || w.run.Epoch() != "" }

// keysOf returns the keys that a call's decision depends on.
func (w *watched) keysOf(i int) []string {
	s := &w.steps[i]
	switch {
	case s.req.Key == "": // Tick, and a Probe
		return nil
	case s.req.Op == wire.Look && s.fenced():
		return []string{s.lock, s.counter}
	case s.req.Op == wire.Extend || s.req.Op == wire.Release || s.req.Op == wire.Look || !s.fenced():
		return []string{s.lock}
	default:
		return []string{s.lock, s.counter, s.text}
	}
}

// readings are the commands that read, in both exchanges.
func (w *watched) readings() [][]any {
	cmds := [][]any{{"ECHO", w.nonce}, {"TIME"}}
	if w.run != "" || w.marking() {
		cmds = append(cmds, []any{"INFO", "replication"})
	}
	if w.marking() {
		cmds = append(cmds, []any{"INFO", "server"})
	}
	read := func(key string) {
		// GETRANGE, because too long a reply would cost the connection and the replies to
		// other requests.
		cmds = append(cmds, []any{"PTTL", key}, []any{"GETRANGE", key, 0, maxHeld})
	}
	if w.marks() {
		read(w.b.pipe.r.markKey)
	}
	for i := range w.calls {
		for _, key := range w.keysOf(i) {
			read(key)
		}
	}
	return cmds
}

// state is what all calls of a batch found.
type state struct {
	failure string // an error in the place of something that all calls need
	each    []found
}

// ask begins the transaction and reads. It returns nil if the calls have their votes.
func (w *watched) ask(conn *redis.Conn) (*state, error) {
	add := func(args []any, limit int) {
		w.asked = append(w.asked, &asked{args: args, reply: replyBuffer{limit: limit}})
	}
	if len(w.keys) > 1 {
		add(w.keys, maxReply)
	}
	for _, args := range w.readings() {
		add(args, maxInfo)
	}
	// With the readings, so that nothing is sent to a server that doesn't know it.
	add([]any{"MULTI"}, maxReply)
	cmds := make([]redis.Cmder, len(w.asked))
	for i, a := range w.asked {
		if i == 0 {
			a.args[0] = readMark{w.b, a.args[0].(string)}
		}
		a.cmd = redis.NewRawWriteToCmd(&w.b.lifetime, &a.reply, a.args...)
		cmds[i] = a.cmd
	}
	if err := exchange(&w.b.lifetime, conn, cmds); err != nil {
		return nil, err
	}
	var raw []byte
	for i, a := range w.asked {
		if len(a.reply.raw) == 0 {
			return nil, fmt.Errorf("%w: not all replies came", ErrConnection)
		}
		if begins := i == len(w.asked)-1 || i == 0 && len(w.keys) > 1; begins {
			if text, bad := a.reply.failure(); bad {
				w.reject(text)
				return nil, nil
			}
			//guard:watch-is-confirmed  nothing is written unless the server has answered WATCH and MULTI with OK
			if string(a.reply.raw) != "+OK\r\n" {
				return nil, fmt.Errorf("%w: WATCH or MULTI was answered with %.40q", ErrReply, a.reply.raw)
			}
			continue
		}
		raw = append(raw, a.reply.raw...)
	}
	p := parser{rest: raw}
	s := w.parse(&p)
	switch {
	case s.failure != "":
		w.reject(s.failure)
		return nil, nil
	case !p.end():
		return nil, fmt.Errorf("%w: the readings before a transaction were answered with %.60q", ErrReply, raw)
	}
	return s, nil
}

// parse reads the replies to the readings.
func (w *watched) parse(p *parser) *state {
	s := &state{each: make([]found, len(w.calls))}
	need := func(read func()) {
		if text, bad := p.errorLine(); bad {
			if s.failure == "" {
				s.failure = text
			}
			return
		}
		read()
	}
	var common found
	need(func() {
		//guard:watched-has-nonce  the replies to another transaction are recognised
		if string(p.text()) != w.nonce {
			p.bad = true
		}
	})
	need(func() {
		if p.array() != 2 {
			p.bad = true
		}
		common.clock = p.clock().UnixMicro()
	})
	if w.run != "" || w.marking() {
		need(func() { common.replication = string(p.text()) })
	}
	if w.marking() {
		need(func() { common.server = string(p.text()) })
	}
	if w.marks() {
		common.mark = p.reading()
	}
	for i := range s.each {
		f := &s.each[i]
		*f = common
		for j := range w.keysOf(i) {
			*[]*reading{&f.lock, &f.counter, &f.text}[j] = p.reading()
		}
	}
	return s
}

// errorLine reads an error, if there is one.
func (r *parser) errorLine() (text string, bad bool) {
	s := replyBuffer{raw: r.rest}
	if text, bad = s.failure(); bad {
		if r.rest[0] == '!' {
			r.line()
		}
		r.line()
	}
	return text, bad
}

// reading reads the replies to PTTL and GETRANGE.
func (r *parser) reading() reading {
	var a reading
	if text, bad := r.errorLine(); bad {
		a.err = text
	} else {
		a.ttl = r.integer()
	}
	if text, bad := r.errorLine(); bad {
		a.err = text
	} else {
		a.value = string(r.text())
	}
	a.exists = a.err != "" || a.ttl != -2
	return a
}

// decide makes the decisions.
func (w *watched) decide(s *state) []decision {
	decisions := make([]decision, len(w.calls))
	for i, c := range w.calls {
		if c.marking {
			decisions[i] = decideMark(w.b.pipe.r.markKey, c.known, &s.each[i])
		} else {
			decisions[i] = w.steps[i].decide(&s.each[i])
		}
	}
	return decisions
}

// send sends the transaction.
func (w *watched) send(conn *redis.Conn, decisions []decision) error {
	ctx, b := &w.b.lifetime, w.b
	queued := w.readings()
	for _, d := range decisions {
		for _, write := range d.writes {
			queued = append(queued, write.args)
		}
	}
	w.replies = len(queued)
	b.first = queued[0][0].(string)
	//guard:watched-counts-as-written  a watched transaction counts as unsent only as long as no write can have been sent
	queued[0][0] = b
	cmds := make([]redis.Cmder, 0, len(queued)+2)
	for _, args := range queued {
		cmds = append(cmds, redis.NewRawWriteToCmd(ctx, &w.queued, args...))
	}
	w.exec = replyBuffer{exec: true, limit: maxInfo + (len(w.calls)+1)*4*maxHeld}
	cmds = append(cmds, redis.NewRawWriteToCmd(ctx, &w.exec, "EXEC"))
	for _, c := range w.calls {
		if b.wait == nil && c.writes() && b.pipe.r.cfg.Replicas > 0 {
			b.wait, b.waited = b.add("WAIT", isInteger), b.replicaTimeout()
			b.wait.args[0] = "WAIT"
			b.wait.args = append(b.wait.args, b.pipe.r.cfg.Replicas, b.waited.Milliseconds())
			b.wait.cmd = redis.NewRawWriteToCmd(ctx, &b.wait.reply, b.wait.args...)
		}
	}
	if b.wait != nil {
		cmds = append(cmds, b.wait.cmd)
	}
	return exchange(ctx, conn, cmds)
}

// exchange sends commands on one connection and waits for their replies.
func exchange(ctx context.Context, conn *redis.Conn, cmds []redis.Cmder) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = recovered(p)
		}
	}()
	pipeline := conn.Pipeline()
	_ = pipeline.BatchProcess(ctx, cmds...) // queues them
	if _, err = pipeline.Exec(ctx); errors.Is(err, errReplied) {
		return nil
	}
	return err
}

// unsendable is an argument that can't be written.
type unsendable struct{}

// MarshalBinary makes go-redis close the connection.
func (unsendable) MarshalBinary() ([]byte, error) { return nil, errAbandoned }

// discard closes a connection that must not be used again. go-redis does that after an error
// that is none of the server's.
func discard(conn *redis.Conn) {
	defer func() { _ = recover() }() // of a hook; go-redis closes the connection then, too
	ctx := context.Background()
	_ = conn.Process(ctx, redis.NewRawWriteToCmd(ctx, io.Discard, unsendable{}))
}

// take reads the reply to EXEC and sets the votes. err is the exchange's. It reports whether
// the transaction has certainly ended.
func (w *watched) take(first *state, decisions []decision, err error) (ended bool) {
	raw := w.exec.raw
	text, bad := w.exec.failure()
	switch {
	case len(raw) == 0:
		if err == nil {
			err = ErrConnection
		}
		_ = w.fail(err)
		return false
	case bad && strings.HasPrefix(text, errAborted):
		w.aborted(text, decisions)
		return err == nil
	case bad:
		_ = w.fail(serverError(text))
		return false
	//guard:null-is-certain  a watched transaction is tried again only if the server says that it did nothing
	case isNull(bytes.TrimSuffix(raw, []byte("\r\n"))):
		for _, c := range w.calls {
			c.again()
		}
		return err == nil
	}
	p := parser{rest: raw}
	n := p.array()
	second := w.parse(&p)
	replies := make([][]string, len(w.calls))
	for i, d := range decisions {
		for range d.writes {
			replies[i] = append(replies[i], p.plain())
		}
	}
	if n != w.replies || second.failure != "" || !p.end() {
		if err == nil {
			err = fmt.Errorf("%w: a watched transaction answered %.60q", ErrReply, raw)
		}
		_ = w.fail(err)
		return false
	}
	for i, c := range w.calls {
		w.judge(c, &w.steps[i], &decisions[i], &first.each[i], &second.each[i], replies[i])
	}
	return err == nil
}

// plain reads a reply of one line.
func (r *parser) plain() string {
	line := r.line()
	if line[0] != '+' && line[0] != ':' && line[0] != '-' && !isNull(line) {
		r.bad = true
	}
	return string(line)
}

// judge sets a call's vote from a transaction that the server has carried out.
func (w *watched) judge(c *call, s *step, d *decision, first, second *found, replies []string) {
	if c.marking {
		c.marked = &markAnswer{d.result, d.failure}
		if !sameServer(first, second) || first.mark != second.mark {
			c.fail(errMixed)
		}
		return
	}
	//guard:watched-run-is-compared  a watched transaction counts only in the run that the request names
	if other := s.otherRun(second); other != "" && d.failure == "" {
		c.rejected(other, "")
		c.vote.Unsent = !c.keySet && len(d.writes) == 0
		return
	}
	//guard:watched-readings-agree  a watched transaction grants only if its own readings are those that the decision was made from
	if !first.same(second) {
		c.fail(errNotWatched)
		return
	}
	for i, reply := range replies {
		//guard:watched-writes-are-done  a watched transaction grants only if each write was done
		if reply != d.writes[i].want {
			c.fail(fmt.Errorf("%w: %v in a transaction was answered with %.60q", ErrReply, d.writes[i].args[0], reply))
			return
		}
	}
	if d.failure != "" {
		c.rejected(d.failure, "")
		if c.req.Op == wire.Acquire || c.req.Op == wire.Restore {
			c.vote.Unsent = !c.keySet || d.freed
		}
		return
	}
	//guard:watched-bounded  a watched transaction grants no token that is further ahead of its own clock than the client allows
	if d.lifted > min(second.clock+s.ahead, int64(fencing.MaxToken)) {
		c.fail(&wire.CounterError{Token: fencing.Token(d.lifted), Clock: time.UnixMicro(second.clock), Most: c.req.Fence.Ahead, Repair: "the clock was set back during the request; try again"})
		return
	}
	c.take(d.result)
	if c.req.Op == wire.Acquire {
		w.b.pipe.r.scriptDecided(c, d.result.text == nil)
	}
}

// same reports whether the keys were the same. TTLs only run down; who sets one changes a key
// that is watched.
func (f *found) same(g *found) bool {
	equal := func(a, b reading) bool { return a.exists == b.exists && a.value == b.value && a.err == b.err }
	return equal(f.lock, g.lock) && equal(f.counter, g.counter) && equal(f.text, g.text) && equal(f.mark, g.mark)
}

// sameServer reports whether one server in one run was found.
func sameServer(f, g *found) bool {
	return firstOf(processID, f.server, "") == firstOf(processID, g.server, "") &&
		firstOf(masterID, f.replication, "") == firstOf(masterID, g.replication, "") &&
		firstOf(masterIs, f.replication, "") == firstOf(masterIs, g.replication, "")
}

// markAnswer is what a Probe's call for the mark found: what mark.lua answers, or an error.
type markAnswer struct {
	result  result
	failure string
}

// again has a call tried again, on its own, after a try that did nothing.
func (c *call) again() {
	c.alone = true
	if c.tries++; c.tries < maxTries {
		c.resend = true
		return
	}
	c.vote = wire.Vote{Unsent: !c.keySet, Err: errContended}
}

// aborted reads an EXECABORT: the server did nothing, because of one of the commands.
func (w *watched) aborted(text string, decisions []decision) {
	_, why, _ := strings.Cut(text, "because of: ")
	text = cmp.Or(w.queued.why, why, text)
	if d := decisions[0]; w.marking() && len(d.writes) == 0 && kindOf(text) == ErrOutOfMemory {
		// A server whose memory is full queues nothing, not even readings. The mark that was
		// read names its run, and stays as it is.
		w.calls[0].marked = &markAnswer{d.result, d.failure}
		return
	}
	w.reject(text)
}

// reject sets the votes of calls for which the server has certainly done nothing. Where
// several calls share a transaction, each is tried on its own first, because the error may be
// about the key of one of them.
func (w *watched) reject(text string) {
	for _, c := range w.calls {
		if len(w.calls) > 1 {
			c.again()
			continue
		}
		if c.marking {
			c.marked = &markAnswer{failure: text}
			continue
		}
		c.fail(serverError(text))
		c.vote.Unsent = !c.keySet
	}
}

// fail sets the votes of calls without a usable reply.
func (w *watched) fail(err error) error {
	if errors.Is(err, errAbandoned) {
		return err
	}
	explained := explain(&w.b.lifetime, err)
	for _, c := range w.calls {
		c.fail(explained)
	}
	return err
}
