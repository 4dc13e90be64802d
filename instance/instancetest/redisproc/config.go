//go:build unix

package redisproc

import (
	"errors"
	"fmt"
	"os/exec"
)

// ErrMissing: there is no program of that name.
var ErrMissing = errors.New("redisproc: no such server program")

// DefaultBinary is started unless Config names another one.
const DefaultBinary = "redis-server"

// Config says what to start. The zero Config is redis-server on a free port of the
// loopback interface, in memory only.
type Config struct {
	// Binary is the server to start: a name to look for in the PATH, or a path.
	// Default: DefaultBinary.
	Binary string
	// Args are added to the command line, as in {"--maxmemory", "2mb"}.
	Args []string
	// Env is added to the environment, as in {"LD_PRELOAD=/tmp/clock.so"}.
	Env []string
	// Password is what the server demands of everybody, if anything.
	Password string
	// ConfigFile is a file to start it with, made empty if it is missing; for
	// Sentinel, which can't do without.
	ConfigFile string
	// Unix makes it listen on a socket in its directory rather than on a port.
	Unix bool
	// Parent is where the server's directory is made. Default: os.TempDir. A
	// socket's path may have 107 bytes at most.
	Parent string
}

// Find gives the path of the server to start, or an error that Is ErrMissing.
func (cfg Config) Find() (string, error) {
	binary := cfg.Binary
	if binary == "" {
		binary = DefaultBinary
	}
	path, err := exec.LookPath(binary)
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrMissing, binary, err)
	}
	return path, nil
}
