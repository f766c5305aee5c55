// One stream of a job's output, kept on disk within a limit: two parts at most, each named by the
// offset of its first byte ("out.0", "out.33554432"), the older one removed when a third begins.
// Output that cannot be written is dropped, counted and told; it never stops the job.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace sharewell::supervise {

struct Log {
  int folder = -1;
  const char* stem = nullptr;
  std::int64_t most_part = 0;
  int file = -1;
  std::int64_t begin = 0, size = 0;  // of the newest part
  std::int64_t older = -1;           // begin of the part before it; -1: there is none
  std::int64_t lost = 0;             // bytes not told yet
  std::int64_t lost_in_all = 0;
  int error = 0;
};

// Goes on where an earlier attempt ended.
void OpenLog(int folder, const char* stem, std::int64_t limit, Log& out);
void WriteLog(Log& log, const char* bytes, std::size_t count);
void CloseLog(Log& log);

}  // namespace sharewell::supervise
