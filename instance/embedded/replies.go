package embedded

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// answer answers the commands that miniredis lacks, and reports whether it did.
func (r *run) answer(peer *server.Peer, cmd string, args []string) bool {
	switch {
	case cmd == "INFO":
		// ECHO waits for EXEC in a transaction, which miniredis doesn't say of a connection.
		r.srv.Dispatch(peer, []string{"ECHO", r.info()})
	case cmd == "CONFIG" && len(args) > 1 && strings.EqualFold(args[0], "GET"):
		configGet(peer, args[1:])
	default:
		return false
	}
	return true
}

// info is the reply to INFO, whatever sections it names.
func (r *run) info() string {
	port := 0
	if addr := r.srv.Addr(); addr != nil {
		port = addr.Port
	}
	return strings.Join([]string{
		"# Server", "redis_version:" + version, "server_name:miniredis", "redis_mode:standalone",
		fmt.Sprint("process_id:", os.Getpid()), "run_id:" + r.runID, fmt.Sprint("tcp_port:", port),
		fmt.Sprint("uptime_in_seconds:", int(time.Since(r.started)/time.Second)), "",
		"# Memory", "maxmemory:0", "maxmemory_policy:noeviction", "",
		"# Persistence", "loading:0", "aof_enabled:0", "",
		"# Replication", "role:master", "connected_slaves:0", "master_replid:" + r.replID, "",
	}, "\r\n")
}

// version is the one in miniredis's reply to HELLO.
const version = "8.4.0"

// settings are the servers' settings for CONFIG GET, which takes their names and no patterns.
var settings = map[string]string{"appendfsync": "everysec", "appendonly": "no", "maxmemory": "0", "maxmemory-policy": "noeviction", "save": ""}

func configGet(peer *server.Peer, names []string) {
	names = slices.DeleteFunc(names, func(name string) bool { _, is := settings[strings.ToLower(name)]; return !is })
	peer.Block(func(w *server.Writer) {
		w.WriteMapLen(len(names))
		for _, name := range names {
			w.WriteBulk(strings.ToLower(name))
			w.WriteBulk(settings[strings.ToLower(name)])
		}
	})
}
