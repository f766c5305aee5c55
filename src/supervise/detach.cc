#include "supervise/detach.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

namespace sharewell::supervise {
namespace {

void CloseInherited() {
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, 3U, ~0U, 0U) == 0) return;
#endif
  for (int file = 3; file < 65536; ++file) ::close(file);
}

}  // namespace

void Detach() {
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  CloseInherited();
  // Also where one of them is closed: a log must never stand in its place.
  const int null = ::open("/dev/null", O_RDWR);
  for (int file = 0; file < 3 && null >= 0; ++file) {
    if (file != null) ::dup2(null, file);
  }
  if (null > 2) ::close(null);
  ::setsid();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

}  // namespace sharewell::supervise
