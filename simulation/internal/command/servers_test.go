//go:build unix

package command

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redquorum/redlock/instance/instancetest"
	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

// onPath makes this program redlocksim, first in the PATH.
func onPath(t *testing.T) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, os.Symlink(program, filepath.Join(folder, "redlocksim")))
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// The test of docs/reference/servers.md, in Python.
func TestServersFromPython(t *testing.T) {
	python := instancetest.Python(t)
	onPath(t)
	said, err := exec.Command(python, "testdata/servers_test.py").CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Contains(t, string(said), "Ran 2 tests")
}

// running is a process of the command, and how its servers are known.
type running struct {
	cmd     *exec.Cmd
	out     io.Reader
	http    string
	servers map[string]string // the process ID by the address of the server itself
}

func runs(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{cmd: exec.Command(args[0], args[1:]...), servers: map[string]string{}}
	r.cmd.Stderr = os.Stderr
	out, err := r.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, r.cmd.Start())
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
	})
	lines := json.NewDecoder(out)
	var line serversLine
	require.NoError(t, lines.Decode(&line))
	r.out, r.http = io.MultiReader(lines.Buffered(), out), line.HTTP
	require.Regexp(t, `^[a-z]+ [0-9.]+$`, line.Product)
	require.Len(t, line.Servers, 2)
	for i, s := range line.Servers {
		require.Equal(t, string("AB"[i]), s.Name)
		info, err := redisproc.AskAt(s.Address, "INFO")
		require.NoError(t, err)
		r.servers["127.0.0.1:"+field(t, info, "tcp_port")] = field(t, info, "process_id")
	}
	require.Len(t, r.servers, 2)
	return r
}

func field(t *testing.T, info, name string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + name + `:(\d+)\r?$`).FindStringSubmatch(info)
	require.NotNil(t, found, info)
	return found[1]
}

// gone waits until the servers have ended.
func (r *running) gone(t *testing.T) {
	t.Helper()
	for addr, pid := range r.servers {
		require.Eventually(t, func() bool {
			info, err := redisproc.AskAt(addr, "INFO")
			return err != nil || !strings.Contains(info, "\r\nprocess_id:"+pid+"\r\n") // another one may have the port
		}, time.Minute, 10*time.Millisecond, "a server survives")
	}
}

// However the command ends, no server survives.
func TestServersEnd(t *testing.T) {
	needsServer(t)
	onPath(t)
	for name, end := range map[string]func(t *testing.T, r *running){
		"SIGTERM": func(t *testing.T, r *running) { require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM)) },
		"SIGINT":  func(t *testing.T, r *running) { require.NoError(t, r.cmd.Process.Signal(syscall.SIGINT)) },
	} {
		t.Run(name, func(t *testing.T) {
			left := t.TempDir()
			t.Setenv("TMPDIR", left)
			r := runs(t, "redlocksim", "servers", "-n", "2")
			r.request(t, "hang A")
			end(t, r)
			require.NoError(t, r.cmd.Wait())
			r.gone(t)
			requireEmpty(t, left)
		})
	}
	t.Run("its parent is killed", func(t *testing.T) {
		left := t.TempDir()
		t.Setenv("TMPDIR", left)
		r := runs(t, "sh", "-c", "redlocksim servers -n 2 & wait")
		r.request(t, "stop A")
		require.NoError(t, r.cmd.Process.Kill())
		_, err := io.Copy(io.Discard, r.out) // until the last process that has the output ends
		require.NoError(t, err)
		r.gone(t)
		requireEmpty(t, left)
	})
	t.Run("SIGKILL", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("only Linux tells a process of its parent's death")
		}
		t.Setenv("TMPDIR", t.TempDir()) // nobody removes what is left
		r := runs(t, "redlocksim", "servers", "-n", "2")
		r.request(t, "hang A")
		require.NoError(t, r.cmd.Process.Kill())
		require.Error(t, r.cmd.Wait())
		r.gone(t)
	})
}

func (r *running) request(t *testing.T, steps string) {
	t.Helper()
	answer, err := http.Post(r.http, "text/plain", strings.NewReader(steps))
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
}

func requireEmpty(t *testing.T, folder string) {
	t.Helper()
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}
