// WatchFile: reads what the watcher inside a job tells, where nobody supervises the job and the
// watcher writes into an ordinary file (docs/formats/watch-pipe.md). The file is the job's: it may
// hold anything, be truncated or replaced. What is kept of it is bounded as the file `told` of a
// supervised job is, and so is what is read at once. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "platform/files/growing_file.h"
#include "platform/files/watch_counter.h"
#include "platform/files/watch_lines.h"

namespace sharewell::platform {

class WatchFile {
 public:
  // All that is read of what it tells, but for its counts: a document and some lines.
  static constexpr std::size_t kMostToldBytes = std::size_t{288} << 10;

  // It need not be there yet.
  explicit WatchFile(std::string path, ProgressOptions options = {})
      : file_(std::move(path), options) {}

  void Look() {
    const auto keep = [this](const char* line, std::size_t size) {
      if (kept_bytes_ + size > kMostToldBytes) return;
      kept_bytes_ += size;
      lines_.Read({line, size});
    };
    const auto take = [&](const char* bytes, std::size_t size) {
      counter_.Read(bytes, size, keep);
    };
    file_.Look(take, [&] { take("\n", 1); });
  }
  std::int64_t steps() const { return counter_.steps(); }
  // The job calls sharewell.report_step(), so the watcher counts no steps of its own.
  bool by_report_step() const { return lines_.by_report_step(); }
  const std::string& off() const { return lines_.off(); }
  // The document that was whole last, once.
  std::optional<std::string> TakeDocument() { return lines_.TakeDocument(); }

 private:
  GrowingFile file_;
  WatchCounter counter_;
  WatchLines lines_;
  std::size_t kept_bytes_ = 0;
};

}  // namespace sharewell::platform
