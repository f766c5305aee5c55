// WatchCounter: what the watcher inside a job says through its pipe, as far as its supervisor reads
// it (docs/formats/steps.md): steps are counted, and what is to be kept is handed on.
//
// The bytes are the job's and may be anything; a line takes no more room than a pipe keeps whole.
// Nothing but libc: the job's supervisor reads it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sharewell::platform {

class WatchCounter {
 public:
  static constexpr std::size_t kMostLine = 4096;  // with its newline
  static constexpr std::int64_t kMostSteps = 999'999'999'999'999;

  // What came next, cut anywhere. `keep(line, size)` gets each line that is to be kept, whole and
  // with its newline: pieces of documents, why it was switched off, and who counts steps.
  template <class Keep>
  void Read(const char* bytes, std::size_t size, Keep&& keep) {
    const char* const end = bytes + size;
    while (bytes < end) {
      const auto* line_end =
          static_cast<const char*>(std::memchr(bytes, '\n', static_cast<std::size_t>(end - bytes)));
      const char* const stop = line_end == nullptr ? end : line_end + 1;
      Add(bytes, static_cast<std::size_t>(stop - bytes));
      bytes = stop;
      if (line_end == nullptr) return;
      if (!long_) EndLine(keep);
      size_ = 0;
      long_ = false;
    }
  }

  std::int64_t steps() const { return steps_; }

 private:
  void Add(const char* bytes, std::size_t size) {
    long_ = long_ || size_ + size > kMostLine;
    if (long_) return;
    std::memcpy(line_ + size_, bytes, size);
    size_ += size;
  }

  bool Begins(const char* word) const {
    const std::size_t length = std::strlen(word);
    return size_ > length && std::memcmp(line_, word, length) == 0;
  }

  template <class Keep>
  void EndLine(Keep&& keep) {
    if (line_[0] == '+') return CountSteps();
    if (Begins("doc ") || Begins("off ") || Begins("by ")) keep(line_, size_);
  }

  // "+12"
  void CountSteps() {
    constexpr std::size_t kMostDigits = 9;
    if (size_ < 3 || size_ > kMostDigits + 2) return;
    std::int64_t more = 0;
    for (std::size_t i = 1; i + 1 < size_; ++i) {
      if (line_[i] < '0' || line_[i] > '9') return;
      more = more * 10 + (line_[i] - '0');
    }
    steps_ = more > kMostSteps - steps_ ? kMostSteps : steps_ + more;
  }

  char line_[kMostLine] = {};
  std::size_t size_ = 0;
  bool long_ = false;  // the line that has not ended yet is too long to be one
  std::int64_t steps_ = 0;
};

}  // namespace sharewell::platform
