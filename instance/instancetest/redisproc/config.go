//go:build unix

package redisproc

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// ErrMissing: there is no program of that name.
var ErrMissing = errors.New("redisproc: no such server program")

// defaultBinary is started unless Config names another one.
const defaultBinary = "redis-server"

// Config says what to start. The zero Config is redis-server on a free port of the
// loopback interface, in memory only.
type Config struct {
	// Binary is the server to start: a name to look for in the PATH, or a path.
	// Default: "redis-server".
	Binary string
	// Args are added to the command line, such as {"--maxmemory", "2mb"}.
	Args []string
	// Env is added to the environment, such as {"LD_PRELOAD=/tmp/clock.so"}.
	Env []string
	// Password is the password that the server requires. Empty for none.
	Password string
	// ConfigFile is the server's configuration file. It is created empty if it is missing.
	// Sentinel needs one.
	ConfigFile string
	// Unix makes it listen on a socket in its directory instead of a port.
	Unix bool
	// Parent is where the server's directory is created. Default: os.TempDir. A socket's
	// path has at most 107 bytes.
	Parent string
}

// Find returns the path of the server to start, or an error that Is ErrMissing.
func (cfg Config) Find() (string, error) {
	binary := cfg.Binary
	binary = cmp.Or(binary, defaultBinary)
	path, err := exec.LookPath(binary)
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrMissing, binary, err)
	}
	return path, nil
}

// Version returns what the program says that it is, such as "redis" and 7, 0.
func (cfg Config) Version() (kind string, major, minor int, err error) {
	path, err := cfg.Find()
	if err != nil {
		return "", 0, 0, err
	}
	// Redis server v=7.0.15 sha=00000000:0 ...
	text, err := exec.Command(path, "--version").Output()
	if err != nil {
		return "", 0, 0, fmt.Errorf("redisproc: %s --version: %w", path, err)
	}
	if _, err := fmt.Sscanf(string(text), "%s server v=%d.%d", &kind, &major, &minor); err != nil {
		return "", 0, 0, fmt.Errorf("redisproc: %s --version says %q: %w", path, text, err)
	}
	return strings.ToLower(kind), major, minor, nil
}
