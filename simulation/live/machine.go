//go:build unix

package live

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
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

// errNoMachine: servers can't be given a clock and a disk of their own here.
var errNoMachine = errors.New("live: no clocks that jump")

// buildLibrary makes the library that is preloaded into servers. The error Is
// errNoMachine if that can't be done here.
func buildLibrary(ctx context.Context, dir string) (path string, err error) {
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("%w: the library for it is for Linux", errNoMachine)
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		return "", fmt.Errorf("%w: there is no C compiler (cc) to build the library for it", errNoMachine)
	}
	source, path := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, cc, "-O2", "-shared", "-fPIC", "-o", path, source)
	if out, err := build.CombinedOutput(); err != nil {
		return "", errors.Join(ctx.Err(), fmt.Errorf("%w: cc failed: %w: %s", errNoMachine, err, strings.TrimSpace(string(out))))
	}
	return path, nil
}

// machineVariable names, for the library, the file that it shares with this process.
const machineVariable = "REDLOCKSIM_LIVE_MACHINE"

// shared is what the library and this process share, laid out as in preload/clock.c.
type shared struct {
	offset, stalled, waiting, attached atomic.Int64
	synced                             [64]struct{ inode, size atomic.Int64 }
}

// machine is a server's clock and disk.
type machine struct {
	shared *shared
	memory []byte
	env    []string
}

func newMachine(library, path string) (*machine, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
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
		return nil, fmt.Errorf("live: mapping a server's clock: %w", err)
	}
	return &machine{
		shared: (*shared)(unsafe.Pointer(unsafe.SliceData(memory))), memory: memory,
		env: []string{"LD_PRELOAD=" + library, machineVariable + "=" + path},
	}, nil
}

func (m *machine) close() { _ = syscall.Munmap(m.memory) }

// loaded says whether the server has the library: the loader leaves one out that it
// can't load.
func (m *machine) loaded() bool { return m.shared.attached.Load() == 1 }

// jump steps the server's wall clock.
func (m *machine) jump(by time.Duration) { m.shared.offset.Add(int64(by)) }

// stall makes the disk take nothing more, or go on.
func (m *machine) stall(on bool) {
	var n int64
	if on {
		n = 1
	}
	m.shared.stalled.Store(n)
}

// cutPower takes from the files of a server that was killed what it hadn't brought to
// the disk: the worst that a power cut may do to what was only appended.
func (m *machine) cutPower(dir string) (lost int64, err error) {
	safe := map[int64]int64{}
	for i := range m.shared.synced {
		if inode := m.shared.synced[i].inode.Load(); inode != 0 {
			safe[inode] = m.shared.synced[i].size.Load()
		}
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".aof") {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || strings.Contains(entry.Name(), ".base.") {
			return nil // a base is written whole, and synced, before it has its name
		}
		if synced := safe[int64(stat.Ino)]; synced < info.Size() {
			lost += info.Size() - synced
			return os.Truncate(path, synced)
		}
		return nil
	})
	return lost, err
}
