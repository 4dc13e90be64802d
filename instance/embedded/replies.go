package embedded

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// answer answers the commands that miniredis lacks, and reports whether it did. client says that a client
// sent the command, and no script.
func (r *run) answer(peer *server.Peer, client bool, cmd string, args []string) bool {
	switch {
	case cmd == "SET" && client:
		// Of a client's SET miniredis reads its clock without a lock, to see how long it is until then.
		if relative := fromNow(args); relative != nil {
			r.srv.Dispatch(peer, append([]string{cmd}, relative...))
			return true
		}
	case cmd == "INFO":
		return r.info(peer, args)
	case cmd == "CONFIG" && len(args) > 1 && strings.EqualFold(args[0], "GET"):
		configGet(peer, args[1:])
		return true
	}
	return false
}

// fromNow is the arguments of a SET with PX in place of PXAT, nil without that. The key doesn't expire earlier.
func fromNow(args []string) []string {
	i := slices.IndexFunc(args, func(arg string) bool { return strings.EqualFold(arg, "PXAT") })
	if i < 2 || i+1 >= len(args) {
		return nil
	}
	at, err := strconv.ParseInt(args[i+1], 10, 64)
	left := (time.Until(time.UnixMilli(at)) + time.Millisecond - 1) / time.Millisecond
	if err != nil || left <= 0 {
		return nil
	}
	args = slices.Clone(args)
	args[i], args[i+1] = "PX", strconv.FormatInt(int64(left), 10)
	return args
}

// info answers INFO, except for the sections that miniredis has.
func (r *run) info(peer *server.Peer, args []string) bool {
	port := "0"
	if r.listener != nil {
		_, port, _ = strings.Cut(r.listener.Addr().String(), ":")
	}
	sections := []struct {
		name   string
		fields []string
	}{
		{"Server", []string{
			"redis_version:" + version, "server_name:miniredis", "redis_mode:standalone",
			fmt.Sprint("process_id:", os.Getpid()), "run_id:" + r.runID, "tcp_port:" + port,
			fmt.Sprint("uptime_in_seconds:", int(time.Since(r.started)/time.Second)),
		}},
		{"Memory", []string{"maxmemory:0", "maxmemory_policy:noeviction"}},
		{"Persistence", []string{"loading:0", "aof_enabled:0"}},
		{"Replication", []string{"role:master", "connected_slaves:0", "master_replid:" + r.replID}},
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
	// ECHO waits for EXEC in a transaction, which miniredis doesn't say of a connection.
	r.srv.Dispatch(peer, []string{"ECHO", text.String()})
	return true
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
