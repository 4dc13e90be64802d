package sqlguardtest

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"
)

// cluster is a PostgreSQL server for these tests, on a Unix socket in its own directory; or the
// reason why there is none.
type cluster struct {
	dir    string
	server *exec.Cmd
	gone   chan struct{} // closed when the server has ended
	err    error
}

var postgres *cluster

var errNoPostgres = errors.New("no initdb and postgres on the PATH or in /usr/lib/postgresql/*/bin")

func TestMain(m *testing.M) {
	postgres, mariadb = startPostgres(), startMariaDB()
	code := m.Run()
	for name, server := range map[string]interface{ stop() error }{"PostgreSQL": postgres, "MariaDB": mariadb} {
		if err := server.stop(); err != nil {
			fmt.Fprintf(os.Stderr, "stop %s: %v\n", name, err)
			code = 1
		}
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func startPostgres() *cluster {
	c := &cluster{gone: make(chan struct{})}
	if c.err = c.start(); c.err != nil {
		if err := c.stop(); err != nil {
			c.err = errors.Join(c.err, err)
		}
	}
	return c
}

func (c *cluster) start() error {
	bin, err := postgresBin()
	if err != nil {
		return err
	}
	// Short, because the path of a Unix socket is limited to about 100 bytes.
	if c.dir, err = os.MkdirTemp("/tmp", "pg"); err != nil {
		return err
	}
	attr, err := unprivileged(c.dir, "postgres")
	if err != nil {
		return err
	}
	data := filepath.Join(c.dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "--pgdata", data, "--username", "postgres",
		"--auth", "trust", "--no-sync", "--no-locale", "--encoding", "UTF8")
	initdb.SysProcAttr, initdb.Dir = attr, c.dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	log, err := os.Create(filepath.Join(c.dir, "log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	server := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", c.dir, "-c", "listen_addresses=",
		"-c", "fsync=off", "-c", "max_connections=50", "-c", "deadlock_timeout=200ms")
	server.SysProcAttr, server.Dir, server.Stdout, server.Stderr = attr, c.dir, log, log
	if err := server.Start(); err != nil {
		return err
	}
	c.server = server
	go func() { _ = server.Wait(); close(c.gone) }()
	return c.ready()
}

// ready waits for the first answer of the server.
func (c *cluster) ready() error {
	db, err := sql.Open("pgx", c.url())
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	deadline, tick := time.After(30*time.Second), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-c.gone:
			return fmt.Errorf("postgres ended: %s", c.log())
		case <-deadline:
			return fmt.Errorf("postgres does not answer: %s", c.log())
		case <-tick.C:
			if db.Ping() == nil {
				return nil
			}
		}
	}
}

func (c *cluster) log() []byte {
	text, err := os.ReadFile(filepath.Join(c.dir, "log"))
	if err != nil {
		return []byte(err.Error())
	}
	return text
}

func (c *cluster) url() string {
	return "postgres:///postgres?" + url.Values{"host": {c.dir}, "user": {"postgres"}, "sslmode": {"disable"}}.Encode()
}

// stop ends the server, waits for it and removes its files.
func (c *cluster) stop() error {
	if c.server != nil {
		_ = c.server.Process.Signal(syscall.SIGINT) // a fast shutdown
		select {
		case <-c.gone:
		case <-time.After(20 * time.Second):
			_ = c.server.Process.Kill()
			<-c.gone
		}
	}
	if c.dir == "" {
		return nil
	}
	return os.RemoveAll(c.dir)
}

func postgresBin() (string, error) {
	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(path))
		}
	}
	for _, dir := range slices.Backward(dirs) {
		_, noInitdb := os.Stat(filepath.Join(dir, "initdb"))
		_, noServer := os.Stat(filepath.Join(dir, "postgres"))
		if noInitdb == nil && noServer == nil {
			return dir, nil
		}
	}
	return "", errNoPostgres
}

// unprivileged gives dir to a user without privileges, the wanted one if it exists, and returns how
// to run as that user, because the servers refuse to run as root. For other users it does nothing.
func unprivileged(dir, wanted string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{wanted, "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}},
			os.Chown(dir, int(uid), int(gid))
	}
	return nil, fmt.Errorf("running as root, and there is neither a user %s nor nobody to run the server as", wanted)
}

// needPostgres skips the test if the programs are missing and not required; any other failure to
// start fails it.
func needPostgres(t *testing.T) {
	t.Helper()
	switch {
	case postgres.err == nil:
	case errors.Is(postgres.err, errNoPostgres) && os.Getenv("REDLOCK_REQUIRE_POSTGRES") != "1":
		t.Skip(postgres.err)
	default:
		t.Fatal(postgres.err)
	}
}
