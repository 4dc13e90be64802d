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
	// Conf is the text of the server's configuration file, in its directory. Args override it.
	Conf string
}

// Find returns the path of the server to start, or an error that Is ErrMissing.
func (cfg Config) Find() (string, error) {
	binary := cmp.Or(cfg.Binary, "redis-server")
	path, err := exec.LookPath(binary)
	if err != nil {
		return "", fmt.Errorf("%w: %w; install it (apt-get install redis-server, brew install redis), or name another one", ErrMissing, err)
	}
	return path, nil
}

// Product returns what the program says that it is, such as "redis 7.0.15" or "valkey 9.1.2".
func (cfg Config) Product() (string, error) {
	path, err := cfg.Find()
	if err != nil {
		return "", err
	}
	// Redis server v=7.0.15 sha=00000000:0 ...
	text, err := exec.Command(path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("redisproc: %s --version: %w", path, err)
	}
	var name, version string
	if _, err := fmt.Sscanf(string(text), "%s server v=%s", &name, &version); err != nil {
		return "", fmt.Errorf("redisproc: %s --version says %q: %w", path, text, err)
	}
	return strings.ToLower(name) + " " + version, nil
}
