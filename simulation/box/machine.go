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
)

//go:embed preload/clock.c
var clockSource []byte

// ErrNoClocks: servers cannot have clocks and disks of their own here.
var ErrNoClocks = errors.New("box: no clocks that jump")

// buildLibrary builds the library that is preloaded into servers, in a folder of its own. The error Is
// ErrNoClocks if that is impossible here.
func buildLibrary(ctx context.Context) (dir string, err error) {
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("%w: the library for it is for Linux", ErrNoClocks)
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		return "", fmt.Errorf("%w: there is no C compiler (cc) to build the library for it", ErrNoClocks)
	}
	if dir, err = os.MkdirTemp("", "redlocksim-box-"); err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, cc, "-O2", "-shared", "-fPIC", "-o", filepath.Join(dir, libraryName), "-x", "c", "-")
	build.Stdin = bytes.NewReader(clockSource)
	build.Env = append(os.Environ(), "TMPDIR="+dir) // where what an interrupted compiler leaves is removed
	if out, err := build.CombinedOutput(); err != nil {
		err = fmt.Errorf("%w: cc failed: %w: %s", ErrNoClocks, err, strings.TrimSpace(string(out)))
		return "", errors.Join(ctx.Err(), err, os.RemoveAll(dir))
	}
	return dir, nil
}

// library is what gives servers clocks and disks of their own.
type library struct {
	dir  string // its folder, "" without one
	none error  // ErrNoClocks, and why there is none; nil if it wasn't asked for
}

// build builds the library, or notes why that is impossible here.
func (l *library) build(ctx context.Context) (err error) {
	if l.dir, err = buildLibrary(ctx); errors.Is(err, ErrNoClocks) && ctx.Err() == nil {
		l.none, err = err, nil
	}
	return err
}

// start starts servers with the library, or without it if they can't load it.
func (l *library) start(ctx context.Context, o Options) (*servers, error) {
	f, err := startServers(ctx, o, l.dir)
	if errors.Is(err, ErrNoClocks) {
		l.none, l.dir = errors.Join(err, l.close()), ""
		f, err = startServers(ctx, o, "")
	}
	return f, err
}

func (l *library) close() error {
	if l.dir == "" {
		return nil
	}
	return os.RemoveAll(l.dir)
}

// why is the reason why there is none, in words.
func (l *library) why() string { return strings.TrimPrefix(fmt.Sprint(l.none), "box: ") }

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

// loaded reports whether the server has loaded the library. The loader skips a library
// that it cannot load.
func (m *machine) loaded() bool { return m.shared.attached.Load() == 1 }

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
