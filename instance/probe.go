package instance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redlock/quorum/wire"
)

// maxInfo is the longest reply to a part of a Probe, in bytes.
const maxInfo = 1 << 20

// question is one part of a Probe: a command, and what it tells, in words for
// Identity.Hidden.
type question struct {
	args  []any
	first firstLine
	what  string
}

// The parts of a Probe: indexes of questions.
const (
	partServer = iota
	partReplication
	partMemory
	partPersistence
	partFsync
	partSave
	partTime
	partTair
	partMark
	partTry
	partKnown
)

// questions only read, except for a script that writes the mark where there is none (see
// mark.lua). Servers before 7.0 take only one section in an INFO.
var questions = [...]question{
	partServer:      {[]any{"INFO", "server"}, isText, "run id, uptime and version"},
	partReplication: {[]any{"INFO", "replication"}, isText, "role and replication ID"},
	partMemory:      {[]any{"INFO", "memory"}, isText, "eviction policy"},
	partPersistence: {[]any{"INFO", "persistence"}, isText, "persistence"},
	partFsync:       {[]any{"CONFIG", "GET", "appendfsync"}, isTable, "appendfsync"},
	partSave:        {[]any{"CONFIG", "GET", "save"}, isTable, "save"},
	partTime:        {[]any{"TIME"}, isPair, "clock"},
	partTair:        {[]any{"COMMAND", "INFO", "cad", "cas"}, isTable, ""},
	partMark:        {[]any{"EVAL"}, nil, "since when clients have come to it by this name"},
	partTry:         {[]any{"EVAL"}, nil, "which commands scripts may call"},
	partKnown:       {[]any{"EVALSHA", strings.Repeat("0", 40), 0}, nil, "scripts that it knows"}, // this one it doesn't
}

// Probe asks the server who it is, as wire.Instance says. All commands go over one connection, so
// that one server answers them. A Probe fails if a proxy mixes the answers of two servers. On a master, Probe writes the
// mark (see MarkKey) if there is none. It needs no right to do so.
func (r *Redis) Probe(ctx context.Context, known wire.Known) (wire.Identity, error) {
	if ctx.Err() != nil {
		return wire.Identity{}, contextEnded(ctx, nil)
	}
	c := r.newCall(wire.Request{})
	c.probing, c.known = true, known
	if err := r.wait(ctx, c); err != nil {
		return wire.Identity{}, err
	}
	defer r.recycle(c)
	id := wire.Identity{Uptime: -time.Second, Served: -time.Second}
	if err := r.identify(&id, c.replies); err != nil {
		return wire.Identity{}, err
	}
	return id, nil
}

// wait sends a Probe's call and waits for it. After an error the call is left to the
// garbage collector.
func (r *Redis) wait(ctx context.Context, c *call) error {
	done := make(chan wire.Vote, 1)
	c.to = wire.ReceiverFunc(func(vote wire.Vote) { done <- vote })
	c.deadline, _ = ctx.Deadline()
	if vote, ok := r.pipe.enter(c); !ok {
		return vote.Err
	}
	select {
	case vote := <-done:
		return vote.Err
	case <-ctx.Done():
	}
	if !r.pipe.giveUp(c) {
		return (<-done).Err // its vote is on the way
	}
	return r.pipe.endedBy(ctx)
}

// identify reads the replies to a Probe.
func (r *Redis) identify(id *wire.Identity, replies []command) error {
	p := &probe{id: id, replies: replies}
	for i := range replies {
		own := i >= partMark // where these are read
		if text, bad := replies[i].reply.failure(); bad && !own && !isHidden(i, text) {
			return moving(serverError(text), r.prefix)
		}
	}
	p.server()
	if r.deployment != nil {
		id.Deployment = r.deployment.kind
		if id.Role == id.Deployment && id.Role == wire.RoleCluster {
			id.Role = "" // it has one of its own
		}
	}
	p.role()
	p.memory()
	if err := p.persistence(); err != nil {
		return err
	}
	p.clock()
	p.mark()
	p.tair()
	p.tried()
	if p.err != nil {
		return moving(p.err, r.prefix)
	}
	r.cannotNotify.Store(false)
	r.known.Clear()
	id.Vouched = id.RunID != "" && id.RunID == r.cfg.VouchedRunID
	return nil
}

// isHidden reports whether an error reply to a part says that the server never tells, as
// opposed to not now. Servers that don't know a command say so in words of their own, and
// such errors have no kind.
//
// Invariant: a run is hidden only if the server says so. The error of a proxy whose server
// is away has no kind either, and the server that comes back is unknown.
func isHidden(part int, text string) bool {
	switch kindOf(text) {
	case ErrPermission, ErrCommand:
		return true
	case ErrServer:
		//guard:hidden-is-said  a run counts as hidden only if the server says that it hides it
		return part != partServer && part != partReplication && part != partMark || strings.Contains(text, "not supported")
	}
	return false
}

// errMixed is the failure of a Probe that two servers answered.
var errMixed = errors.New("instance: the answers come from two servers, or from two runs of one server")

func orNone(id string) string { return cmp.Or(id, "none") }

// probe reads the replies into an Identity. err is the first failure.
type probe struct {
	id      *wire.Identity
	replies []command
	err     error
}

// hide lists a part that the server does not tell.
func (p *probe) hide(part int, why string) {
	p.id.Hidden = append(p.id.Hidden, questions[part].what+": "+why)
}

// reply returns the reply to a part, unless it is hidden.
func (p *probe) reply(part int) (*parser, bool) {
	s := &p.replies[part].reply
	if text, bad := s.failure(); bad {
		p.hide(part, text)
		return nil, false
	}
	return &parser{rest: s.raw}, true
}

func (p *probe) malformed(part int) {
	p.fail(fmt.Errorf("%w: %v answered %.60q", ErrReply, questions[part].args, p.replies[part].reply.raw))
}

func (p *probe) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// info returns the fields of an INFO section.
func (p *probe) info(part int) (map[string]string, bool) {
	r, ok := p.reply(part)
	if !ok {
		return nil, false
	}
	text := r.text()
	if !r.end() {
		p.malformed(part)
		return nil, false
	}
	// The reply to another command would look like a server that hides things.
	title, _, _ := strings.Cut(string(text), "\r\n")
	if name, titled := strings.CutPrefix(title, "# "); titled && !strings.EqualFold(name, questions[part].args[1].(string)) {
		p.malformed(part)
		return nil, false
	}
	fields := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			fields[name] = readable([]byte(value)) // reports and errors show some
		}
	}
	return fields, true
}

// config returns one value of CONFIG GET.
func (p *probe) config(part int) (string, bool) {
	r, ok := p.reply(part)
	if !ok {
		return "", false
	}
	switch r.array() {
	case 0:
		if r.end() {
			p.hide(part, "the server has no such setting")
			return "", false
		}
	case 2:
		r.text()
		if value := r.text(); r.end() {
			return readable(value), true
		}
	}
	p.malformed(part)
	return "", false
}

func (p *probe) server() {
	fields, ok := p.info(partServer)
	if !ok {
		return
	}
	id := p.id
	id.RunID = fields["run_id"]
	if id.RunID == "" {
		p.hide(partServer, "INFO has no run_id")
	}
	if n, err := strconv.ParseInt(fields["uptime_in_seconds"], 10, 32); err == nil && n >= 0 {
		// The server subtracts its start from the present, both in whole seconds. The
		// difference is up to a second too large.
		id.Uptime = time.Duration(max(0, n-1)) * time.Second
	} else {
		p.hide(partServer, "INFO has no uptime_in_seconds")
	}
	// A server in compatibility mode tells a version of Redis besides its own.
	id.Server, id.Version = fields["server_name"], fields["redis_version"]
	if id.Server == "" && id.Version != "" {
		id.Server = "redis"
	}
	if version := fields["valkey_version"]; version != "" {
		id.Server, id.Version = "valkey", version
	}
	for _, field := range []string{"redis_mode", "server_mode", "redict_mode"} { // Redis's, Valkey's, Redict's
		switch fields[field] {
		case "sentinel":
			id.Role = wire.RoleSentinel
		case "cluster":
			id.Role = wire.RoleCluster
		}
	}
}

func (p *probe) role() {
	fields, ok := p.info(partReplication)
	if !ok {
		return
	}
	if p.id.Role == "" {
		p.id.Role = fields["role"]
	}
	if p.id.Role == "" {
		p.hide(partReplication, "INFO has no role")
	}
	// Garnet shows zeros if it has no replication.
	//guard:zeros-name-no-run  a replication ID of zeros, which every run has, names none
	if p.id.ReplID = fields["master_replid"]; strings.Trim(p.id.ReplID, "0") == "" {
		p.id.ReplID = ""
		p.hide(partReplication, "INFO has no master_replid")
	}
	// The second ID is that of the history that the server continues, after a promotion or
	// from its file after a restart. It is all zeros if there is none.
	p.id.Promoted = strings.Trim(fields["master_replid2"], "0") != ""
}

func (p *probe) memory() {
	fields, ok := p.info(partMemory)
	if !ok {
		return
	}
	if p.id.Eviction = fields["maxmemory_policy"]; p.id.Eviction == "" {
		p.hide(partMemory, "INFO has no maxmemory_policy")
	}
}

func (p *probe) persistence() error {
	fsync, fsyncTold := p.config(partFsync)
	save, saveTold := p.config(partSave)
	fields, ok := p.info(partPersistence)
	if !ok {
		return nil
	}
	if fields["loading"] == "1" {
		return serverError("LOADING the server says so in INFO persistence")
	}
	switch {
	case fields["aof_enabled"] == "1" && fsyncTold:
		p.id.Persistence = "aof " + fsync
	case fields["aof_enabled"] == "0" && saveTold && save != "":
		p.id.Persistence = "rdb"
	case fields["aof_enabled"] == "0" && saveTold:
		p.id.Persistence = "none"
	case fields["aof_enabled"] == "":
		p.hide(partPersistence, "INFO has no aof_enabled")
	}
	return nil
}

func (p *probe) clock() {
	r, ok := p.reply(partTime)
	if !ok {
		return
	}
	if r.array() == 2 {
		if p.id.Clock = r.clock(); r.end() {
			return
		}
	}
	p.id.Clock = time.Time{}
	p.malformed(partTime)
}

// mark reads how long the name has led to this run of the server, as far as known, and the
// run's epoch.
func (p *probe) mark() {
	reply := &p.replies[partMark].reply
	if text, bad := reply.failure(); bad {
		switch kindOf(text) {
		//guard:no-mark-no-trust  a server on which no mark can be left now is not trusted because of that
		case ErrOutOfMemory, ErrMisconf, wire.ErrNotMaster:
			// There is no mark, and none can be written now. The server can't vote either;
			// when it can again, its votes must not count sooner than with a mark.
			p.id.Served = 0
		default:
			noScripts := kindOf(text) == ErrCommand && nothingDone(text, "EVAL")
			// Only a master votes, with or without a mark.
			if (noScripts || !isHidden(partMark, text)) && (p.id.Role == "" || p.id.Role == wire.RoleMaster) {
				p.fail(serverError(text))
				return
			}
			text, _ = withoutScript(text)
			p.hide(partMark, text)
		}
		return
	}
	a, ok := decodeScript(reply.raw)
	switch {
	case !ok:
		p.malformed(partMark)
	case a.outcome == scriptRefused:
		// A replica.
	default:
		runID, run, _ := strings.Cut(string(a.text), "/")
		replID, epoch, _ := strings.Cut(run, "@")
		// Invariant: an Identity is that of one server in one run. A proxy may turn to
		// another server between two commands; only the script is one step.
		//guard:probe-of-one-server  all answers to a probe come from one server
		if p.id.RunID != "" && runID != p.id.RunID || p.id.ReplID != "" && replID != p.id.ReplID {
			p.fail(fmt.Errorf("%w: INFO told the run ID %.8s and the replication ID %.8s, a script the run ID %.8s and the replication ID %.8s; the Probe is repeated",
				errMixed, orNone(p.id.RunID), orNone(p.id.ReplID), orNone(runID), orNone(replID)))
			return
		}
		p.id.Served = time.Duration(min(a.token, math.MaxInt64/1000)) * time.Microsecond
		p.id.Epoch = epoch
	}
}

// tried reads which commands the server lacks. One that runs no script doesn't tell.
func (p *probe) tried() {
	l := list{parser: parser{rest: p.replies[partTry].reply.raw}}
	if _, bad := p.replies[partTry].reply.failure(); bad {
		return
	}
	if l.array() != triedElements {
		l.bad = true
	}
	l.text() // the nonce: the replyBuffer has checked it
	missing, denied, refuses := string(l.text()), string(l.text()), string(l.text())
	if !l.end() {
		p.malformed(partTry)
		return
	}
	switch {
	//guard:votes-can-be-kept  a server on which leases can't be extended doesn't vote
	case missing != "":
		p.fail(fmt.Errorf("%w (it lacks %s)", ErrCommand, missing))
	case denied != "":
		p.fail(fmt.Errorf("%w (it lacks the right to %s)", ErrPermission, denied))
	}
	if text, _ := p.replies[partKnown].reply.failure(); kindOf(text) == ErrCommand || kindOf(text) == ErrPermission {
		p.fail(serverError(text))
	}
	if refuses != "" {
		p.id.Refuses = serverError(refuses)
	}
}

// triedElements is the length of the reply of try.lua.
const triedElements = 4

// tair names the server, which looks like Redis, by the commands that Tair or its module adds.
func (p *probe) tair() {
	known := string(p.replies[partTair].reply.raw) // each begins with its name
	if p.id.Server == "redis" && strings.Contains(known, "\r\ncad\r\n") && strings.Contains(known, "\r\ncas\r\n") {
		p.id.Server = "tair"
	}
}
