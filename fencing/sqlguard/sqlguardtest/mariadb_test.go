package sqlguardtest

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// mariaServer is a MariaDB server of these tests' own, on a Unix socket in a directory of its own;
// or the reason why there is none.
type mariaServer struct {
	dir    string
	server *exec.Cmd
	gone   chan struct{} // closed when the server has ended
	err    error
}

var mariadb *mariaServer

var errNoMariaDB = errors.New("no mariadb-install-db and mariadbd on the PATH or in /usr/sbin")

func startMariaDB() *mariaServer {
	m := &mariaServer{gone: make(chan struct{})}
	if m.err = m.start(); m.err != nil {
		m.err = errors.Join(m.err, m.stop())
	}
	return m
}

func (m *mariaServer) start() error {
	install, err := exec.LookPath("mariadb-install-db")
	if err != nil {
		return errNoMariaDB
	}
	daemon, err := exec.LookPath("mariadbd")
	if err != nil {
		if daemon, err = exec.LookPath("/usr/sbin/mariadbd"); err != nil {
			return errNoMariaDB
		}
	}
	// Short, since the path of a Unix socket is limited to about 100 bytes.
	if m.dir, err = os.MkdirTemp("/tmp", "maria"); err != nil {
		return err
	}
	attr, err := unprivileged(m.dir, "mysql")
	if err != nil {
		return err
	}
	data := "--datadir=" + filepath.Join(m.dir, "data")
	// A server that starts deletes all temporary tables of its directory for them, also another
	// server's.
	temporary := "--tmpdir=" + m.dir
	init := exec.Command(install, "--no-defaults", data, temporary, "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
	init.SysProcAttr, init.Dir = attr, m.dir
	if out, err := init.CombinedOutput(); err != nil {
		return fmt.Errorf("mariadb-install-db: %w: %s", err, out)
	}
	log, err := os.Create(filepath.Join(m.dir, "log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	server := exec.Command(daemon, "--no-defaults", data, temporary, "--socket="+m.socket(), "--skip-networking", "--skip-log-bin",
		"--pid-file="+filepath.Join(m.dir, "pid"), "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M")
	server.SysProcAttr, server.Dir, server.Stdout, server.Stderr = attr, m.dir, log, log
	if err := server.Start(); err != nil {
		return err
	}
	m.server = server
	go func() { _ = server.Wait(); close(m.gone) }()
	return m.ready()
}

func (m *mariaServer) socket() string { return filepath.Join(m.dir, "s") }

func (m *mariaServer) dsn(database string) string { return "root@unix(" + m.socket() + ")/" + database }

// ready waits for the first answer of the server.
func (m *mariaServer) ready() error {
	config, err := mysql.ParseDSN(m.dsn("mysql"))
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
	deadline, tick := time.After(60*time.Second), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-m.gone:
			return fmt.Errorf("mariadbd ended: %s", m.log())
		case <-deadline:
			return fmt.Errorf("mariadbd does not answer: %s", m.log())
		case <-tick.C:
			if db.Ping() == nil {
				return nil
			}
		}
	}
}

func (m *mariaServer) log() []byte {
	text, err := os.ReadFile(filepath.Join(m.dir, "log"))
	if err != nil {
		return []byte(err.Error())
	}
	return text
}

// stop ends the server, waits for it and removes its files.
func (m *mariaServer) stop() error {
	if m.server != nil {
		_ = m.server.Process.Signal(syscall.SIGTERM)
		select {
		case <-m.gone:
		case <-time.After(20 * time.Second):
			_ = m.server.Process.Kill()
			<-m.gone
		}
	}
	if m.dir == "" {
		return nil
	}
	return os.RemoveAll(m.dir)
}

// needMariaDB skips the test when the programs are missing, unless they are
// required; any other failure to start is one.
func needMariaDB(t *testing.T) {
	t.Helper()
	switch {
	case mariadb.err == nil:
	case errors.Is(mariadb.err, errNoMariaDB) && os.Getenv("REDLOCK_REQUIRE_MARIADB") != "1":
		t.Skip(mariadb.err)
	default:
		t.Fatal(mariadb.err)
	}
}
