/* Preloaded into a redis-server, this answers for its wall clock and its disk:

   - the wall clock is the machine's, plus an offset that is read anew each time;
   - fdatasync notes how much of each file it has brought to the disk, so that a power
     cut can be played by cutting files off there.

   Both go through a file that is mapped into memory. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define FILES 64

struct shared {
  volatile int64_t offset; /* nanoseconds */
  volatile int64_t attached;
  struct { volatile int64_t inode, size; } synced[FILES];
};

static struct shared *shared;

__attribute__((constructor)) static void attach(void) {
  const char *path = getenv("REDLOCKSIM_BOX_MACHINE");
  if (path == NULL) return;
  int fd = open(path, O_RDWR);
  if (fd < 0) return;
  void *at = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (at == MAP_FAILED) return;
  shared = at;
  shared->attached = 1;
}

int clock_gettime(clockid_t id, struct timespec *ts) {
  int failed = syscall(SYS_clock_gettime, id, ts);
  if (failed || shared == NULL || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE)) return failed;
  int64_t ns = (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec + shared->offset;
  ts->tv_sec = ns / 1000000000;
  ts->tv_nsec = ns % 1000000000;
  return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict tz) {
  (void)tz;
  struct timespec ts;
  if (clock_gettime(CLOCK_REALTIME, &ts)) return -1;
  tv->tv_sec = ts.tv_sec;
  tv->tv_usec = ts.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *at) {
  struct timespec ts;
  if (clock_gettime(CLOCK_REALTIME, &ts)) return -1;
  if (at != NULL) *at = ts.tv_sec;
  return ts.tv_sec;
}

int fdatasync(int fd) {
  struct stat before;
  if (shared == NULL || fstat(fd, &before)) return syscall(SYS_fdatasync, fd);
  int failed = syscall(SYS_fdatasync, fd);
  for (int i = 0; !failed && i < FILES; i++) {
    int64_t none = 0;
    if (shared->synced[i].inode == (int64_t)before.st_ino || __sync_bool_compare_and_swap(&shared->synced[i].inode, none, (int64_t)before.st_ino)) {
      shared->synced[i].size = before.st_size;
      break;
    }
  }
  return failed;
}
