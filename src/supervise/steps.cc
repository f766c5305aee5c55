#include "supervise/steps.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "engine/local/run/job_files.h"

namespace sharewell::supervise {
namespace {

constexpr int kPipeBytes = 256 << 10;        // 5 MiB a second at most
constexpr int kMetricsPipeBytes = 16 << 10;  // a user's pipes have few pages, and a job few metrics

// In place, with room that is there: a full disk cannot refuse it. Twice, so that whoever reads
// while we write sees that.
bool Tell(Steps& steps) {
  const std::int64_t reported = steps.lines.steps();
  const auto count = static_cast<long long>(reported > 0 ? reported : steps.watched.steps());
  if (count == steps.told) return true;
  char text[engine::kStepsBytes + 1];
  std::snprintf(text, sizeof text, "%019lld %019lld\n", count, count);
  const auto size = static_cast<ssize_t>(engine::kStepsBytes);
  if (::pwrite(steps.file, text, engine::kStepsBytes, 0) != size) return false;
  steps.told = count;
  return true;
}

// For writing too: then there is always a reader and a writer, so that nobody ever waits to open
// it, is told of a broken pipe, or ends it. -1: there is none.
int OpenPipe(int folder, const char* name, int bytes = kPipeBytes) {
  const int pipe = ::openat(folder, name, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
  struct stat state {};
  if (pipe >= 0 && (::fstat(pipe, &state) != 0 || !S_ISFIFO(state.st_mode))) {
    ::close(pipe);
    return -1;
  }
  if (pipe >= 0) ::fcntl(pipe, F_SETPIPE_SZ, bytes);  // or as large as it is
  return pipe;
}

// Its room is taken now, like that of all that is written while the command runs. Where there is
// none, the job runs without: what its watcher tells is not worth a start.
int OpenKept(int folder) {
  const int file = ::openat(folder, engine::kToldFile, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                            S_IRUSR | S_IWUSR);
  if (file < 0) return -1;
  const int done = ::fallocate(file, FALLOC_FL_KEEP_SIZE, 0, engine::kMostToldBytes);
  if (done == 0 || errno == EOPNOTSUPP) return file;
  ::close(file);
  return -1;
}

void Keep(Steps& steps, const char* line, std::size_t size) {
  if (steps.kept < 0 || steps.kept_bytes + size > engine::kMostToldBytes) return;
  const ssize_t n = ::pwrite(steps.kept, line, size, static_cast<off_t>(steps.kept_bytes));
  // What was written in part is written over by the next line.
  if (n == static_cast<ssize_t>(size)) steps.kept_bytes += size;
}

// In place and twice, as the count is.
bool TellMetrics(const Steps& steps) {
  char text[2 * engine::kMetricsBytes + 1];
  std::memset(text, ' ', sizeof text);
  std::size_t size = 0;
  for (std::size_t i = 0; i < steps.metric_lines.count(); ++i) {
    const auto& one = steps.metric_lines[i];
    size += static_cast<std::size_t>(
        std::snprintf(text + size, engine::kMetricsBytes - size, "%s %lld %.17g %lld\n", one.name,
                      static_cast<long long>(one.at), one.value, static_cast<long long>(one.step)));
  }
  text[size] = ' ';  // over the NUL of the last one
  std::memcpy(text + engine::kMetricsBytes, text, engine::kMetricsBytes);
  const std::size_t both = 2 * std::size_t{engine::kMetricsBytes};
  return ::pwrite(steps.metrics_told, text, both, 0) == static_cast<ssize_t>(both);
}

// Where its room cannot be taken, the job runs without.
void OpenMetrics(int folder, Steps& out) {
  out.metrics = OpenPipe(folder, engine::kMetricsFile, kMetricsPipeBytes);
  if (out.metrics < 0) return;
  out.metrics_told = ::openat(folder, engine::kMetricsToldFile,
                              O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  if (out.metrics_told >= 0 && TellMetrics(out)) return;
  if (out.metrics_told >= 0) ::close(out.metrics_told);
  out.metrics_told = -1;
}

// At most what a pipe holds.
template <class Take>
void ReadPipe(int pipe, Take&& take) {
  static char block[65536];
  for (std::size_t left = kPipeBytes; pipe >= 0 && left > 0;) {
    const ssize_t n = ::read(pipe, block, left < sizeof block ? left : sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    take(block, static_cast<std::size_t>(n));
    left -= static_cast<std::size_t>(n);
  }
}

}  // namespace

bool OpenSteps(int folder, Steps& out) {
  out.file = ::openat(folder, engine::kStepsFile, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                      S_IRUSR | S_IWUSR);
  if (out.file < 0 || !Tell(out)) return false;
  out.pipe = OpenPipe(folder, engine::kProgressFile);
  out.watch = OpenPipe(folder, engine::kWatchFile);
  if (out.watch >= 0) out.kept = OpenKept(folder);
  OpenMetrics(folder, out);
  return true;
}

void ReadSteps(Steps& steps, std::int64_t unix_now) {
  ReadPipe(steps.pipe, [&](const char* bytes, std::size_t n) { steps.lines.Count(bytes, n); });
  ReadPipe(steps.watch, [&](const char* bytes, std::size_t n) {
    steps.watched.Read(bytes, n,
                       [&](const char* line, std::size_t size) { Keep(steps, line, size); });
  });
  if (steps.lines.steps() > 0 && !steps.reports) {
    steps.reports = true;
    Keep(steps, engine::kReportsLine, sizeof engine::kReportsLine - 1);
  }
  Tell(steps);
  bool told = false;
  ReadPipe(steps.metrics, [&](const char* bytes, std::size_t n) {
    told = steps.metric_lines.Read(bytes, n, unix_now) || told;
  });
  if (told && steps.metrics_told >= 0) TellMetrics(steps);
}

}  // namespace sharewell::supervise
