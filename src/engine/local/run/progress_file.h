// ProgressFile: counts the steps that a job tells of in the file $SHAREWELL_PROGRESS names, as they
// come. A line is a step; a line that is a whole number above the count so far says how many there
// are, so that a job that goes on from a checkpoint can say where it is.
//
// The file is the job's: it may hold anything, be truncated or replaced. What has been counted is
// given back to the disk. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "core/units.h"

namespace sharewell::engine {

struct ProgressOptions {
  std::int64_t most_at_once = 64 << 20;  // bytes read by one look
  // Further behind than this, what is between is not counted: it is a flood, not steps.
  std::int64_t most_behind = 1 << 30;
  // File that keeps the count of what was given back to the disk, for a reader that comes later;
  // empty: none will.
  std::string memory = {};
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
  double steps() const { return steps_; }
  bool all_read() const { return all_read_; }         // nothing is waiting for the next look
  core::Seconds written() const { return written_; }  // when the last bytes came, by the wall clock
  bool rewritten() const { return rewritten_; }       // while it was read, so steps may be missed
  bool flooded() const { return flooded_; }

 private:
  bool OpenIfNew();
  void Count(const char* bytes, std::size_t size);
  void EndLine();
  void GiveBack(off_t end);

  std::string path_;
  ProgressOptions options_;
  int file_ = -1;
  ino_t inode_ = 0;
  off_t read_ = 0, given_back_ = 0;
  core::Seconds written_;
  double steps_ = 0;
  // The line that has not ended yet: a number so far, or something else.
  double number_ = 0;
  int digits_ = 0;
  bool other_ = false;
  bool all_read_ = true, rewritten_ = false, flooded_ = false;
};

}  // namespace sharewell::engine
