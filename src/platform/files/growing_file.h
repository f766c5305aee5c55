// GrowingFile: reads what is appended to a file of somebody else, as it comes. It may hold
// anything, be truncated or replaced, or not be there yet. One thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "core/units.h"

namespace sharewell::platform {

struct ProgressOptions {
  std::int64_t most_at_once = 64 << 20;  // bytes read by one look
  // Further behind than this, what is between is not counted: it is a flood, not steps.
  std::int64_t most_behind = 1 << 30;
};

class GrowingFile {
 public:
  GrowingFile(std::string path, ProgressOptions options);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  // Hands on what came since the last look, in order and cut anywhere; `missed` is called before
  // bytes that do not follow those before them. False: the file is not there.
  bool Look(const std::function<void(const char* bytes, std::size_t size)>& take,
            const std::function<void()>& missed);
  bool all_read() const { return all_read_; }         // nothing is waiting for the next look
  core::Seconds written() const { return written_; }  // when the last bytes came, by the wall clock
  bool rewritten() const { return rewritten_; }       // while it was read

 private:
  bool OpenIfNew();

  const std::string path_;
  const ProgressOptions options_;
  int file_ = -1;
  ino_t inode_ = 0;
  off_t read_ = 0;
  core::Seconds written_;
  bool all_read_ = true, rewritten_ = false;
};

}  // namespace sharewell::platform
