// ProgressFile: counts the steps that a measured command tells of in the file $SHAREWELL_PROGRESS
// names, as they come: lines as in step_lines.h. (A server's jobs have a pipe there, which their
// supervisor reads.) The file is the command's: it may hold anything, be truncated or replaced. One
// thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "core/units.h"
#include "platform/files/step_lines.h"

namespace sharewell::platform {

struct ProgressOptions {
  std::int64_t most_at_once = 64 << 20;  // bytes read by one look
  // Further behind than this, what is between is not counted: it is a flood, not steps.
  std::int64_t most_behind = 1 << 30;
};

class ProgressFile {
 public:
  // It need not be there yet.
  explicit ProgressFile(std::string path, ProgressOptions options = {});
  ~ProgressFile();
  ProgressFile(const ProgressFile&) = delete;
  ProgressFile& operator=(const ProgressFile&) = delete;

  // Counts what came since the last look; true: the count changed.
  bool Look();
  double steps() const { return static_cast<double>(lines_.steps()); }
  bool all_read() const { return all_read_; }         // nothing is waiting for the next look
  core::Seconds written() const { return written_; }  // when the last bytes came, by the wall clock
  bool rewritten() const { return rewritten_; }       // while it was read, so steps may be missed

 private:
  bool OpenIfNew();

  std::string path_;
  ProgressOptions options_;
  int file_ = -1;
  ino_t inode_ = 0;
  off_t read_ = 0;
  core::Seconds written_;
  StepLines lines_;
  bool all_read_ = true, rewritten_ = false;
};

}  // namespace sharewell::platform
