// StepLines: counts the steps that a job tells of, line by line (docs/formats/steps.md). A line is
// a step; a line that is a whole number above the count so far says how many steps there are, so
// that a job that goes on from a checkpoint can say where it is.
//
// The bytes are the job's and may be anything. Nothing but libc: the job's supervisor counts too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sharewell::platform {

class StepLines {
 public:
  // What came next, cut anywhere.
  void Count(const char* bytes, std::size_t size) {
    const char* const end = bytes + size;
    while (bytes < end) {
      const auto* line_end =
          static_cast<const char*>(std::memchr(bytes, '\n', static_cast<std::size_t>(end - bytes)));
      const char* const stop = line_end == nullptr ? end : line_end;
      for (const char* c = bytes; c < stop && !other_; ++c) {
        other_ = *c < '0' || *c > '9' || ++digits_ > kMostDigits;
        if (!other_) number_ = number_ * 10 + (*c - '0');
      }
      if (line_end == nullptr) return;
      EndLine();
      bytes = line_end + 1;
    }
  }
  // Bytes were missed: the line that has not ended is no number.
  void Miss() { other_ = true; }

  std::int64_t steps() const { return steps_; }

 private:
  static constexpr int kMostDigits = 15;

  void EndLine() {
    const bool says = digits_ > 0 && !other_ && number_ > steps_;
    steps_ = says ? number_ : steps_ + 1;
    number_ = 0;
    digits_ = 0;
    other_ = false;
  }

  std::int64_t steps_ = 0;
  // The line that has not ended yet: a number so far, or something else.
  std::int64_t number_ = 0;
  int digits_ = 0;
  bool other_ = false;
};

}  // namespace sharewell::platform
