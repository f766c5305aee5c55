// ProgressFile: counts the steps that a measured command tells of in the file $SHAREWELL_PROGRESS
// names, as they come: lines as in step_lines.h. (A server's jobs have a pipe there, which their
// supervisor reads.) The file is the command's: it may hold anything, be truncated or replaced. One
// thread.
#pragma once

#include <string>
#include <utility>

#include "platform/files/growing_file.h"
#include "platform/files/step_lines.h"

namespace sharewell::platform {

class ProgressFile {
 public:
  // It need not be there yet.
  explicit ProgressFile(std::string path, ProgressOptions options = {})
      : file_(std::move(path), options) {}

  // Counts what came since the last look; true: the count changed.
  bool Look() {
    const double before = steps();
    file_.Look([this](const char* bytes, std::size_t size) { lines_.Count(bytes, size); },
               [this] { lines_.Miss(); });
    return steps() != before;
  }
  double steps() const { return static_cast<double>(lines_.steps()); }
  bool all_read() const { return file_.all_read(); }  // as GrowingFile has these
  core::Seconds written() const { return file_.written(); }
  bool rewritten() const { return file_.rewritten(); }  // so steps may be missed

 private:
  GrowingFile file_;
  StepLines lines_;
};

}  // namespace sharewell::platform
