// One stream of a job's output, kept on disk within a limit: two parts at most, each named by the
// offset of its first byte ("out.0", "out.33554432"), the older one removed when a third begins.
// Where its user's logs or all logs are at their bound, its own oldest part goes early: what is
// kept is the newest. Output that cannot be written is dropped, counted and told; it never stops
// the job.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "supervise/log_room.h"

namespace sharewell::supervise {

struct Log {
  int folder = -1;
  const char* stem = nullptr;
  LogRoom* room = nullptr;
  Log* other = nullptr;  // of the job's two: its oldest goes where this one has nothing to give
  std::int64_t most_part = 0;
  int file = -1;
  std::int64_t begin = 0, size = 0;  // of the newest part
  std::int64_t older = -1;           // begin of the part before it; -1: there is none
  std::int64_t granted = 0;          // bytes that its parts may have
  std::int64_t lost = 0;             // bytes not told yet
  std::int64_t lost_in_all = 0;
  int error = 0;
};

// Goes on where an earlier attempt ended.
void OpenLog(LogRoom& room, const char* stem, std::int64_t limit, Log& out);
void WriteLog(Log& log, const char* bytes, std::size_t count);
void CloseLog(Log& log);

}  // namespace sharewell::supervise
