#include "supervise/steps.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "engine/local/run/job_files.h"

namespace sharewell::supervise {
namespace {

constexpr int kPipeBytes = 256 << 10;  // 5 MiB a second at most

// In place, with room that is there: a full disk cannot refuse it. Twice, so that whoever reads
// while we write sees that.
bool Tell(Steps& steps) {
  const auto count = static_cast<long long>(steps.lines.steps());
  if (count == steps.told) return true;
  char text[engine::kStepsBytes + 1];
  std::snprintf(text, sizeof text, "%019lld %019lld\n", count, count);
  const auto size = static_cast<ssize_t>(engine::kStepsBytes);
  if (::pwrite(steps.file, text, engine::kStepsBytes, 0) != size) return false;
  steps.told = count;
  return true;
}

}  // namespace

bool OpenSteps(int folder, Steps& out) {
  out.file = ::openat(folder, engine::kStepsFile, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                      S_IRUSR | S_IWUSR);
  if (out.file < 0 || !Tell(out)) return false;
  // For writing too: then there is always a reader and a writer, so that nobody ever waits to open
  // it, is told of a broken pipe, or ends it.
  out.pipe = ::openat(folder, engine::kProgressFile, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
  struct stat state {};
  if (out.pipe >= 0 && (::fstat(out.pipe, &state) != 0 || !S_ISFIFO(state.st_mode))) {
    ::close(out.pipe);
    out.pipe = -1;
  }
  if (out.pipe >= 0) ::fcntl(out.pipe, F_SETPIPE_SZ, kPipeBytes);  // or as large as it is
  return true;
}

void ReadSteps(Steps& steps) {
  if (steps.pipe < 0) return;
  static char block[65536];
  for (std::size_t left = kPipeBytes; left > 0;) {
    const ssize_t n = ::read(steps.pipe, block, left < sizeof block ? left : sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    steps.lines.Count(block, static_cast<std::size_t>(n));
    left -= static_cast<std::size_t>(n);
  }
  Tell(steps);
}

}  // namespace sharewell::supervise
