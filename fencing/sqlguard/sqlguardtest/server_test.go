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

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/goleak"
)

// server is a database server of these tests' own, on a Unix socket in a directory of its own; or the
// reason why there is none.
type server struct {
	name, user, env string // env makes a missing server an error
	programs        func() (setup, daemon string, err error)
	setup, run      func(s *server) []string // arguments
	ping            func(s *server) error
	ends            syscall.Signal

	dir    string
	daemon *exec.Cmd
	gone   chan struct{} // closed when the server has ended
	err    error
}

var errNoPrograms = errors.New("its programs are neither on the PATH nor where packages put them")

var postgres = &server{
	name: "PostgreSQL", user: "postgres", env: "REDLOCK_REQUIRE_POSTGRES", programs: postgresPrograms,
	setup: func(s *server) []string {
		return []string{"--pgdata", s.file("data"), "--username", "postgres", "--auth", "trust", "--no-sync", "--no-locale", "--encoding", "UTF8"}
	},
	run: func(s *server) []string {
		return []string{"-D", s.file("data"), "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=50", "-c", "deadlock_timeout=200ms"}
	},
	ping: func(s *server) error {
		db, err := sql.Open("pgx", s.url())
		if err != nil {
			return err
		}
		defer func() { _ = db.Close() }()
		return db.Ping()
	},
	ends: syscall.SIGINT, // a fast shutdown
}

var mariadb = &server{
	name: "MariaDB", user: "mysql", env: "REDLOCK_REQUIRE_MARIADB", programs: mariaPrograms,
	setup: func(s *server) []string {
		return []string{"--no-defaults", "--datadir=" + s.file("data"), "--tmpdir=" + s.file(""), "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"}
	},
	run: func(s *server) []string {
		// A server that starts deletes all files in its directory for temporary tables, also another one's.
		return []string{"--no-defaults", "--datadir=" + s.file("data"), "--tmpdir=" + s.file(""), "--socket=" + s.file("s"), "--skip-networking", "--skip-log-bin",
			"--pid-file=" + s.file("pid"), "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M"}
	},
	ping: func(s *server) error {
		config, err := mysql.ParseDSN(s.dsn("mysql"))
		if err != nil {
			return err
		}
		config.Logger = &mysql.NopLogger{} // until it listens there is no socket
		connector, err := mysql.NewConnector(config)
		if err != nil {
			return err
		}
		db := sql.OpenDB(connector)
		defer func() { _ = db.Close() }()
		return db.Ping()
	},
	ends: syscall.SIGTERM,
}

// url is PostgreSQL's.
func (s *server) url() string {
	return "postgres:///postgres?" + url.Values{"host": {s.dir}, "user": {"postgres"}, "sslmode": {"disable"}}.Encode()
}

// dsn is MariaDB's.
func (s *server) dsn(database string) string { return "root@unix(" + s.file("s") + ")/" + database }

func TestMain(m *testing.M) {
	servers := []*server{postgres, mariadb}
	for _, s := range servers {
		if s.err = s.start(); s.err != nil {
			s.err = errors.Join(s.err, s.stop())
		}
	}
	code := m.Run()
	for _, s := range servers {
		if err := s.stop(); err != nil {
			fmt.Fprintf(os.Stderr, "stop %s: %v\n", s.name, err)
			code = 1
		}
	}
	err := goleak.Find()
	for range 20 { // for half a second each, because the drivers' goroutines may still be ending
		if err != nil {
			err = goleak.Find()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func (s *server) file(name string) string { return filepath.Join(s.dir, name) }

func (s *server) start() error {
	setup, daemon, err := s.programs()
	if err != nil {
		return err
	}
	// Short, because the path of a Unix socket is limited to about 100 bytes.
	if s.dir, err = os.MkdirTemp("/tmp", "db"); err != nil {
		return err
	}
	attr, err := unprivileged(s.dir, s.user)
	if err != nil {
		return err
	}
	first := exec.Command(setup, s.setup(s)...)
	first.SysProcAttr, first.Dir = attr, s.dir
	if out, err := first.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", setup, err, out)
	}
	log, err := os.Create(s.file("log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(daemon, s.run(s)...)
	cmd.SysProcAttr, cmd.Dir, cmd.Stdout, cmd.Stderr = attr, s.dir, log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	s.daemon, s.gone = cmd, make(chan struct{})
	go func() { _ = cmd.Wait(); close(s.gone) }()
	return s.ready()
}

// ready waits for the first answer of the server.
func (s *server) ready() error {
	deadline, tick := time.After(60*time.Second), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		why := "does not answer"
		select {
		case <-tick.C:
			if s.ping(s) == nil {
				return nil
			}
			continue
		case <-s.gone:
			why = "ended"
		case <-deadline:
		}
		log, err := os.ReadFile(s.file("log"))
		return errors.Join(fmt.Errorf("%s %s: %s", s.name, why, log), err)
	}
}

// stop ends the server, waits for it and removes its files.
func (s *server) stop() error {
	if s.daemon != nil {
		_ = s.daemon.Process.Signal(s.ends)
		select {
		case <-s.gone:
		case <-time.After(60 * time.Second):
			_ = s.daemon.Process.Kill()
			<-s.gone
		}
	}
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// need skips the test if the programs are missing and not required; any other failure to start
// fails it.
func (s *server) need(t *testing.T) {
	t.Helper()
	switch {
	case s.err == nil:
	case errors.Is(s.err, errNoPrograms) && os.Getenv(s.env) != "1":
		t.Skip(s.name, s.err)
	default:
		t.Fatal(s.name, s.err)
	}
}

func mariaPrograms() (setup, daemon string, err error) {
	setup, err = exec.LookPath("mariadb-install-db")
	if err != nil {
		return "", "", errNoPrograms
	}
	for _, name := range []string{"mariadbd", "/usr/sbin/mariadbd"} {
		if daemon, err = exec.LookPath(name); err == nil {
			return setup, daemon, nil
		}
	}
	return "", "", errNoPrograms
}

func postgresPrograms() (setup, daemon string, err error) {
	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", "", err
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(path))
		}
	}
	for _, dir := range slices.Backward(dirs) {
		setup, daemon = filepath.Join(dir, "initdb"), filepath.Join(dir, "postgres")
		_, noSetup := os.Stat(setup)
		_, noDaemon := os.Stat(daemon)
		if noSetup == nil && noDaemon == nil {
			return setup, daemon, nil
		}
	}
	return "", "", errNoPrograms
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
