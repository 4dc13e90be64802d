package embedded

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// answer answers what miniredis can't say of itself, and reports whether it did.
func (l *life) answer(peer *server.Peer, cmd string, args []string) bool {
	switch {
	case cmd == "INFO":
		return l.info(peer, args)
	case cmd == "CONFIG" && len(args) > 1 && strings.EqualFold(args[0], "GET"):
		configGet(peer, args[1:])
		return true
	case cmd == "COMMAND" && len(args) > 0 && strings.EqualFold(args[0], "INFO"):
		l.commandInfo(peer, args[1:])
		return true
	}
	return false
}

// info leaves the sections that miniredis has to miniredis.
func (l *life) info(peer *server.Peer, args []string) bool {
	port := "0"
	if l.listener != nil {
		_, port, _ = strings.Cut(l.listener.Addr().String(), ":")
	}
	sections := []struct {
		name   string
		fields []string
	}{
		{"Server", []string{
			"redis_version:" + version, "server_name:miniredis", "redis_mode:standalone",
			fmt.Sprint("process_id:", os.Getpid()), "run_id:" + l.runID, "tcp_port:" + port,
			fmt.Sprint("uptime_in_seconds:", int(time.Since(l.started)/time.Second)),
		}},
		{"Memory", []string{"maxmemory:0", "maxmemory_policy:noeviction"}},
		{"Persistence", []string{"loading:0", "aof_enabled:0"}},
		{"Replication", []string{"role:master", "connected_slaves:0", "master_replid:" + l.replID}},
	}
	var text strings.Builder
	for _, s := range sections {
		wanted := len(args) == 0 || slices.ContainsFunc(args, func(arg string) bool {
			return strings.EqualFold(arg, s.name) || slices.Contains([]string{"all", "default", "everything"}, strings.ToLower(arg))
		})
		if wanted {
			fmt.Fprintf(&text, "# %s\r\n%s\r\n\r\n", s.name, strings.Join(s.fields, "\r\n"))
		}
	}
	if text.Len() == 0 {
		return false
	}
	peer.WriteBulk(text.String())
	return true
}

// version is what miniredis says in its HELLO.
const version = "8.4.0"

// settings are what the servers would be set to, had they settings.
var settings = [][2]string{
	{"appendfsync", "everysec"},
	{"appendonly", "no"},
	{"maxmemory", "0"},
	{"maxmemory-policy", "noeviction"},
	{"no-appendfsync-on-rewrite", "no"},
	{"save", ""},
}

func configGet(peer *server.Peer, patterns []string) {
	var found [][2]string
	for _, setting := range settings {
		if slices.ContainsFunc(patterns, func(pattern string) bool {
			ok, err := path.Match(strings.ToLower(pattern), setting[0])
			return ok && err == nil
		}) {
			found = append(found, setting)
		}
	}
	peer.Block(func(w *server.Writer) {
		w.WriteMapLen(len(found))
		for _, setting := range found {
			w.WriteBulk(setting[0])
			w.WriteBulk(setting[1])
		}
	})
}

// commandInfo tells which commands there are, and of each only its name.
//
// DELEX is kept quiet about: by it clients know Redis 8.4, whose SET ... IFEQ
// miniredis doesn't have.
func (l *life) commandInfo(peer *server.Peer, names []string) {
	known := make([]bool, len(names))
	for i, name := range names {
		known[i] = !strings.EqualFold(name, "delex") && l.srv.IsRegisteredCommand(name)
	}
	peer.Block(func(w *server.Writer) {
		w.WriteLen(len(names))
		for i, name := range names {
			if !known[i] {
				w.WriteRaw("*-1\r\n")
				continue
			}
			w.WriteLen(6)
			w.WriteBulk(strings.ToLower(name))
			w.WriteInt(-1)
			w.WriteLen(0)
			w.WriteInt(0)
			w.WriteInt(0)
			w.WriteInt(0)
		}
	})
}
