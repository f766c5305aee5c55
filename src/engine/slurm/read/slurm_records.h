// What `scontrol --oneliner` prints: a line a record, "Key=value Key2=...".
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace sharewell::engine {

// A line that begins with `key`, and those after it that do not (somebody's text had a line break).
core::Result<std::vector<std::string_view>> RecordsOf(std::string_view text, std::string_view key);

// "Key=value Key2=..." of one record. Values may hold blanks, so that each ends where a key that
// was asked for begins; nobody's words may pass for one of Slurm's own (see Find).
class ScontrolRecord {
 public:
  explicit ScontrolRecord(std::string_view text) : text_(text) {}

  // Where " Key=" stands; npos: nowhere. At the very beginning there is no blank.
  std::size_t Find(std::string_view key, std::size_t from = 0) const {
    const std::string pattern = fmt::format("{}=", key);
    while (true) {
      const std::size_t at = text_.find(pattern, from);
      if (at == std::string_view::npos) return at;
      if (at == 0 || text_[at - 1] == ' ' || text_[at - 1] == '\n') return at;
      from = at + 1;
    }
  }
  bool Twice(std::string_view key) const {
    const std::size_t at = Find(key);
    return at != std::string_view::npos && Find(key, at + 1) != std::string_view::npos;
  }
  // One word. "(null)" and "N/A" are empty.
  std::string_view Word(std::string_view key) const {
    const std::size_t at = Find(key);
    if (at == std::string_view::npos) return {};
    return Known(text_.substr(at + key.size() + 1, Blank(at) - at - key.size() - 1));
  }
  // Words up to the next of `ends`, whichever comes first.
  std::string_view Words(std::string_view key, std::span<const std::string_view> ends) const {
    const std::size_t at = Find(key);
    if (at == std::string_view::npos) return {};
    const std::size_t begin = at + key.size() + 1;
    std::size_t end = text_.size();
    for (const std::string_view other : ends) end = std::min(end, Find(other, begin));
    std::string_view value = text_.substr(begin, end - begin);
    while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
    return Known(value);
  }

 private:
  std::size_t Blank(std::size_t from) const {
    return std::min(text_.find_first_of(" \n", from), text_.size());
  }
  static std::string_view Known(std::string_view value) {
    return value == "(null)" || value == "N/A" ? std::string_view() : value;
  }
  std::string_view text_;
};

}  // namespace sharewell::engine
