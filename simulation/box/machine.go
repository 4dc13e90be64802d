//go:build unix

package box

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/redquorum/redlock/instance/instancetest/redisproc"
)

//go:embed preload/clock.c
var clockSource []byte

// ErrNoClocks: servers cannot have clocks and disks of their own here.
var ErrNoClocks = errors.New("box: no clocks that jump")

// clocks is the library that gives servers clocks and disks of their own.
type clocks struct {
	dir  string // its folder, "" without one
	none error  // ErrNoClocks, and why there is none
}

// newClocks builds the library, unless servers are embedded, and finds out whether the server program loads it.
func newClocks(ctx context.Context, o Options) (own clocks, err error) {
	if o.Embedded {
		return own, nil
	}
	if own.dir, err = os.MkdirTemp("", "redlocksim-box-"); err != nil {
		return own, err
	}
	if none := buildClocks(ctx, own.dir, o.Binary); none != nil {
		err = errors.Join(ctx.Err(), own.close())
		own = clocks{none: fmt.Errorf("%w: %w", ErrNoClocks, none)}
	}
	return own, err
}

func buildClocks(ctx context.Context, dir, binary string) error {
	if runtime.GOOS != "linux" {
		return errors.New("the library for it is for Linux")
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		return errors.New("there is no C compiler (cc) to build the library for it")
	}
	build := exec.CommandContext(ctx, cc, "-O2", "-shared", "-fPIC", "-o", filepath.Join(dir, libraryName), "-x", "c", "-")
	build.Stdin = bytes.NewReader(clockSource)
	build.Env = append(os.Environ(), "TMPDIR="+dir) // where what an interrupted compiler leaves is removed
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("cc failed: %w: %s", err, strings.TrimSpace(string(out)))
	}
	m, err := newMachine(dir)
	if err != nil {
		return err
	}
	// The loader skips a library that it cannot load.
	path, err := redisproc.Config{Binary: binary}.Find()
	if err == nil {
		probe := exec.CommandContext(ctx, path, "--version")
		probe.Env = append(os.Environ(), m.env...)
		err = probe.Run()
	}
	loaded := m.shared.attached.Load() == 1
	switch err := errors.Join(err, m.close()); {
	case err != nil:
		return fmt.Errorf("the server doesn't start with the library for it: %w", err)
	case !loaded:
		return errors.New("the server doesn't load the library for it")
	}
	return nil
}

func (c clocks) close() error {
	if c.dir == "" {
		return nil
	}
	return os.RemoveAll(c.dir)
}

// why is the reason why there is none, in words.
func (c clocks) why() string { return strings.TrimPrefix(fmt.Sprint(c.none), "box: ") }

// libraryName is the library's file.
const libraryName = "clock.so"

// machineVariable tells the library the file that it shares with this process.
const machineVariable = "REDLOCKSIM_BOX_MACHINE"

// shared is the memory shared with the library, laid out as in preload/clock.c.
type shared struct {
	offset, attached atomic.Int64
	synced           [64]struct{ inode, size atomic.Int64 }
}

// machine simulates a server's clock and disk.
type machine struct {
	shared *shared
	memory []byte
	env    []string
}

// newMachine makes a machine whose file is beside the library.
func newMachine(dir string) (*machine, error) {
	file, err := os.CreateTemp(dir, "machine-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	size := int(unsafe.Sizeof(shared{}))
	if err := file.Truncate(int64(size)); err != nil {
		return nil, err
	}
	memory, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("box: mapping a server's clock: %w", err)
	}
	return &machine{
		shared: (*shared)(unsafe.Pointer(unsafe.SliceData(memory))), memory: memory,
		env: []string{"LD_PRELOAD=" + filepath.Join(dir, libraryName), machineVariable + "=" + file.Name()},
	}, nil
}

func (m *machine) close() error { return syscall.Munmap(m.memory) }

// set puts the server's wall clock ahead of this machine's, or behind it.
func (m *machine) set(ahead time.Duration) { m.shared.offset.Store(int64(ahead)) }

// cutPower removes unsynced data from the files of a killed server: the worst that a power
// cut can do to an append-only file.
func (m *machine) cutPower(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "appendonlydir", "*.incr.aof"))
	if err != nil {
		return err
	}
	for _, path := range files {
		var stat syscall.Stat_t
		if err := syscall.Stat(path, &stat); err != nil {
			return err
		}
		safe := int64(0)
		for i := range m.shared.synced {
			if m.shared.synced[i].inode.Load() == int64(stat.Ino) {
				safe = m.shared.synced[i].size.Load()
			}
		}
		if safe < stat.Size {
			if err := os.Truncate(path, safe); err != nil {
				return err
			}
		}
	}
	return nil
}
