package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redquorum/redlock/quorum/wire"
)

// probe is the commands that ask a server who it is. They go over one connection, so that one server
// answers them; if a proxy mixes the answers of two servers, the probe fails.
type probe struct {
	markKey                                  string
	id                                       wire.Identity
	err                                      error
	server, replication, memory, persistence *redis.StringCmd
	fsync, save                              *redis.MapStringStringCmd
	now                                      *redis.TimeCmd
	mark                                     *redis.Cmd
	tries                                    []*try // a transaction of nothing, see Redis.Rights
}

// newProbe makes the commands. They only read, but for the script that leaves the mark. Servers before 7.0
// take only one section in an INFO.
func newProbe(r *Redis, markKey string, known wire.Known) *probe {
	ctx, set := context.Background(), ""
	if known.Set != (wire.Set{}) {
		set = known.Set.String()
	}
	info := func(section string) *redis.StringCmd { return redis.NewStringCmd(ctx, "INFO", section) }
	p := &probe{
		markKey: markKey,
		server:  info("server"), replication: info("replication"), memory: info("memory"), persistence: info("persistence"),
		fsync: redis.NewMapStringStringCmd(ctx, "CONFIG", "GET", "appendfsync"), save: redis.NewMapStringStringCmd(ctx, "CONFIG", "GET", "save"),
		now:   redis.NewTimeCmd(ctx, "TIME"),
		mark:  redis.NewCmd(ctx, "EVAL", markScript.source, 1, markKey, known.RunID, known.Epoch, known.Voter, known.Ago.Microseconds(), set),
		tries: []*try{newTry("MULTI", ""), newTry("GET", "")},
	}
	for _, t := range r.tries(markKey, nil) {
		// Without the right to INFO the run is hidden, and without notifications waiters poll.
		if !t.notify && t.cmd.Name() != "info" {
			p.tries = append(p.tries, t)
		}
	}
	p.tries = append(p.tries, newTry("EXEC", ""))
	return p
}

func (p *probe) commands() []redis.Cmder {
	cmds := []redis.Cmder{p.server, p.replication, p.memory, p.persistence, p.fsync, p.save, p.now, p.mark}
	for _, t := range p.tries {
		cmds = append(cmds, t.cmd)
	}
	return cmds
}

// Probe asks the server who it is, as wire.Instance says. On a master, Probe writes the mark (see MarkKey)
// if there is none. It also works without the right to write the mark.
func (r *Redis) Probe(ctx context.Context, known wire.Known) (wire.Identity, error) {
	if ctx.Err() != nil {
		return wire.Identity{}, contextEnded(ctx)
	}
	var p *probe
	done := make(chan wire.Vote, 1)
	c := &call{to: wire.ReceiverFunc(func(vote wire.Vote) { done <- vote })}
	c.deadline, _ = ctx.Deadline()
	c.commands = func(markKey string) []redis.Cmder {
		p = newProbe(r, markKey, known)
		return p.commands()
	}
	asked := r.pipe.reader.Now()
	r.pipe.enter(c, time.Now())
	select {
	case vote := <-done:
		if vote.Err != nil {
			return wire.Identity{}, vote.Err
		}
	case <-ctx.Done():
		return wire.Identity{}, contextEnded(ctx)
	}
	id, err := p.identity(r, known)
	if err != nil {
		return wire.Identity{}, moving(err, r.prefix)
	}
	r.cannotNotify.Store(false)
	r.clock.saw(id.Clock, asked)
	r.expiresAt.Store(knowsPXAT(id.Version))
	id.Vouched = id.RunID != "" && id.RunID == r.cfg.VouchedRunID
	return id, nil
}

// hidden reports whether an error reply says that the server never tells, as opposed to not now.
// essential says that the run depends on it.
//
// Invariant: a run is hidden only if the server says so. Servers that don't know a command say so in words of
// their own, which have no kind; but neither has the error of a proxy whose server is away.
func hidden(text string, essential bool) bool {
	switch kindOf(text) {
	case ErrPermission, ErrCommand:
		return true
	case ErrServer:
		return !essential || strings.Contains(text, "not supported")
	}
	return false
}

// errMixed is the failure of a Probe that two servers answered.
var errMixed = errors.New("instance: the answers come from two servers, or from two runs of one server")

// told reports whether a command has a reply. The first error that isn't one of a server that hides
// something is the Probe's.
func (p *probe) told(cmd redis.Cmder, what string, essential bool) bool {
	reply := cmd.Err()
	switch {
	case reply == nil:
		return true
	case p.err != nil:
	case !isReply(reply):
		p.err = explain(reply)
	case !hidden(reply.Error(), essential):
		p.err = serverError(reply.Error())
	default:
		p.id.Hidden = append(p.id.Hidden, what+": "+readable([]byte(reply.Error())))
	}
	return false
}

// said is a field of INFO, "" if there is none.
func said(info, name string) string { return readable(field([]byte(info), name)) }

// field is a field of INFO. Without it something is hidden.
func (p *probe) field(info *redis.StringCmd, name, what string) string {
	value := said(info.Val(), name)
	if value == "" {
		p.id.Hidden = append(p.id.Hidden, what+": INFO has no "+name)
	}
	return value
}

// identity reads the replies.
func (p *probe) identity(r *Redis, known wire.Known) (wire.Identity, error) {
	id := &p.id
	id.Uptime, id.Served = -time.Second, -time.Second
	if p.told(p.server, "run id, uptime and version", true) {
		id.RunID = p.field(p.server, "run_id", "run id")
		if up, err := strconv.ParseInt(p.field(p.server, "uptime_in_seconds", "uptime"), 10, 32); err == nil {
			// The server subtracts its start from the present, both in whole seconds. The
			// difference is up to a second too large.
			id.Uptime = time.Duration(max(0, up-1)) * time.Second
		}
		software(id, p.server.Val())
	}
	if p.told(p.replication, "role and replication ID", true) {
		if role := p.field(p.replication, "role", "role"); id.Role == "" || id.Role == wire.RoleCluster && r.prefix != "" {
			id.Role = role
		}
		// Garnet shows zeros if it has no replication.
		if id.ReplID = p.field(p.replication, "master_replid", "replication ID"); id.ReplID != "" && strings.Trim(id.ReplID, "0") == "" {
			id.ReplID, id.Hidden = "", append(id.Hidden, "replication ID: INFO has only zeros")
		}
		// The second ID is that of the history that the server continues, after a promotion or
		// from its file after a restart. It is all zeros if there is none.
		id.Promoted = strings.Trim(said(p.replication.Val(), "master_replid2"), "0") != ""
	}
	if r.deployment != nil {
		id.Deployment = r.deployment.kind
	}
	if p.told(p.memory, "eviction policy", false) {
		id.Eviction = p.field(p.memory, "maxmemory_policy", "eviction policy")
	}
	p.told(p.fsync, "appendfsync", false)
	p.told(p.save, "save", false)
	if p.told(p.persistence, "persistence", false) {
		id.Persistence = p.persisted(p.field(p.persistence, "aof_enabled", "persistence"))
		if said(p.persistence.Val(), "loading") == "1" {
			return *id, serverError("LOADING the server says so in INFO persistence")
		}
	}
	if p.told(p.now, "clock", false) {
		id.Clock = p.now.Val()
	}
	if p.err == nil {
		p.err = p.marked(id, known)
	}
	if p.err == nil {
		p.err = p.tried(id, r.cfg.Replicas)
	}
	return *id, p.err
}

// persisted is what the server keeps over a restart, "" if that is hidden.
func (p *probe) persisted(aof string) string {
	fsync, known := p.fsync.Val()["appendfsync"]
	points, saves := p.save.Val()["save"]
	switch {
	case aof == "1" && known:
		return "aof " + fsync
	case aof == "0" && saves && points != "":
		return "rdb"
	case aof == "0" && saves:
		return "none"
	}
	return ""
}

// software reads what the server calls itself. In compatibility mode it tells a version of Redis besides
// its own.
func software(id *wire.Identity, info string) {
	id.Server, id.Version = said(info, "server_name"), said(info, "redis_version")
	if id.Server == "" && id.Version != "" {
		id.Server = "redis"
	}
	if version := said(info, "valkey_version"); version != "" {
		id.Server, id.Version = "valkey", version
	}
	for _, mode := range []string{"redis_mode", "server_mode", "redict_mode"} { // Redis's, Valkey's, Redict's
		switch said(info, mode) {
		case "sentinel":
			id.Role = wire.RoleSentinel
		case "cluster":
			id.Role = wire.RoleCluster
		}
	}
}

// knowsPXAT reports whether a version is 6.2 or later. An unknown one isn't.
func knowsPXAT(version string) bool {
	var major, minor int
	_, err := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return err == nil && (major > 6 || major == 6 && minor >= 2)
}

// marked reads the mark.
func (p *probe) marked(id *wire.Identity, known wire.Known) error {
	reply, err := p.mark.Slice()
	if err != nil {
		if !isReply(err) {
			return explain(err)
		}
		text := err.Error()
		switch kind := kindOf(text); kind {
		//guard:no-mark-no-trust  a server on which no mark can be left now is not trusted because of that
		case ErrOutOfMemory, ErrMisconf, wire.ErrNotMaster:
			// The server can't vote either. When it can again, its votes must not count sooner than with a mark.
			id.Served = 0
			return nil
		default:
			// Only a master votes, with or without a mark. One without scripts is no instance.
			if inner, wrapped := withoutScript(text); (id.Role == "" || id.Role == wire.RoleMaster) && (!hidden(text, true) || kind == ErrCommand && !wrapped && lacksScripts(inner)) {
				return serverError(text)
			}
			text, _ = withoutScript(text)
			id.Hidden = append(id.Hidden, "since when clients have come to it by this name: "+readable([]byte(text)))
			return nil
		}
	}
	text := func(i int) string { s, _ := reply[i].(string); return s }
	number := func(i int) int64 { n, _ := reply[i].(int64); return n }
	if len(reply) != 5 {
		return fmt.Errorf("%w: the request for the mark was answered with %.60q", ErrReply, fmt.Sprint(reply))
	}
	// Invariant: an Identity is that of one server in one run. A proxy may turn to another server between
	// two commands; only the script is one step.
	if id.RunID != "" && text(0) != id.RunID || id.ReplID != "" && text(1) != id.ReplID {
		return fmt.Errorf("%w: INFO reported the run ID %.8q and the replication ID %.8q, but a script reported the run ID %.8q and the replication ID %.8q; the Probe is repeated",
			errMixed, id.RunID, id.ReplID, text(0), text(1))
	}
	switch number(2) {
	case 1:
		id.Mark, id.Served = wire.Run(text(3)), time.Duration(max(0, number(4)))*time.Microsecond
	case 2:
		return &wire.SetMismatchError{Mine: known.Set, Theirs: text(3)}
	case 3:
		return fmt.Errorf("%w; stop its clients on all servers, and then delete the mark: redis-cli DEL '%s'", ErrOlderVersion, p.markKey)
	}
	return nil
}

// tried reads which commands the server lacks, or the user may not send, and whether the server would refuse
// a vote now.
func (p *probe) tried(id *wire.Identity, replicas int) error {
	if id.Role != "" && id.Role != wire.RoleMaster {
		return nil // it doesn't vote
	}
	if n, err := strconv.Atoi(said(p.replication.Val(), "connected_slaves")); err == nil && n < replicas {
		id.Refuses = fmt.Errorf("%w: Config.Replicas is %d, and the server has %d", wire.ErrNotReplicated, replicas, n)
	}
	var missing, denied []string
	for _, t := range p.tries {
		err, name := t.cmd.Err(), strings.ToUpper(t.cmd.Name())
		if !isReply(err) {
			continue
		}
		switch kind := kindOf(err.Error()); {
		case lacksScripts(err.Error()):
			return serverError(err.Error())
		case commandDenied(err.Error()) && !slices.Contains(denied, name):
			denied = append(denied, name)
		case kind == ErrCommand && !slices.Contains(missing, name):
			missing = append(missing, name)
		case kind == ErrOutOfMemory || kind == ErrMisconf:
			id.Refuses = serverError(err.Error())
		}
	}
	switch {
	case len(missing) > 0:
		return fmt.Errorf("%w (it lacks %s)", ErrCommand, strings.Join(missing, ", "))
	case len(denied) > 0:
		return fmt.Errorf("%w (it lacks the right to %s)", ErrPermission, strings.Join(denied, ", "))
	}
	return nil
}
