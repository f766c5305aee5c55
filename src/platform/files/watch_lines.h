// WatchLines: what a watcher (watcher_files.h) writes into its pipe, line by line
// (docs/formats/watch-pipe.md): steps, pieces of documents, and why it switched itself off. The
// bytes are the job's and may be anything; what does not fit is left out, and no more than is said
// below is kept. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sharewell::platform {

class WatchLines {
 public:
  static constexpr std::size_t kLongestLine = 4096;
  static constexpr std::size_t kLargestDocument = std::size_t{256} << 10;
  static constexpr std::size_t kMostDocuments = 8;  // begun and not ended
  static constexpr std::size_t kLongestWhy = 300;

  // What came next, cut anywhere.
  void Read(std::string_view bytes);

  std::int64_t steps() const { return steps_; }
  // The job calls sharewell.report_step(), so the watcher counts no steps of its own.
  bool by_report_step() const { return by_report_step_; }
  const std::string& off() const { return off_; }  // why it switched itself off first; empty: not
  // The document that was whole last, once.
  std::optional<std::string> TakeDocument();

 private:
  struct Document {
    std::int64_t next = 0;
    std::string text;
  };
  void Line(std::string_view line);
  void Piece(std::string_view rest);

  std::string line_;  // the one that has not ended
  bool too_long_ = false;
  std::int64_t steps_ = 0;
  bool by_report_step_ = false;
  std::string off_;
  std::map<std::string, Document, std::less<>> begun_;  // by id
  std::optional<std::string> whole_;
};

}  // namespace sharewell::platform
