// Preloaded into a program, it makes the time of day of that program wrong by as many seconds as stand in the file $SKEWED_CLOCK names (a 64-bit number,
// which may change while it runs). Clocks that only go on stay as they are, as on a machine whose time of day is set.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int64_t Skew(void) {
  static const volatile int64_t* skew;
  const char* name = skew == NULL ? getenv("SKEWED_CLOCK") : NULL;
  if (name != NULL) {
    const int file = open(name, O_RDONLY | O_CLOEXEC);
    void* place = file < 0 ? MAP_FAILED : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (place != MAP_FAILED) skew = place;
    if (file >= 0) close(file);
  }
  return skew == NULL ? 0 : *skew;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  const int done = (int)syscall(SYS_clock_gettime, clock, now);
  if (done == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += Skew();
  return done;
}

int gettimeofday(struct timeval* now, void* zone) {
  (void)zone;
  struct timespec precise;
  const int done = clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return done;
}

time_t time(time_t* out) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}
