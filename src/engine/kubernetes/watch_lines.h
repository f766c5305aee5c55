// WatchLines: bytes of a watch as they come, into whole lines. What a server never ends with a
// newline is not kept without end.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sharewell::engine {

class WatchLines {
 public:
  // No object can be longer: etcd takes 1.5 MiB, and a request 3 MiB.
  static constexpr std::size_t kLongest = std::size_t{16} << 20;

  // False: a line is longer than that; it and all after it are not taken.
  bool Add(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto end = bytes.find('\n');
      const std::string_view piece = bytes.substr(0, end);
      if (piece.size() > kLongest - rest_.size()) return false;
      rest_ += piece;
      if (end == std::string_view::npos) return true;
      if (!rest_.empty()) lines_.push_back(std::move(rest_));
      rest_.clear();
      bytes.remove_prefix(end + 1);
    }
    return true;
  }
  // Moves the whole lines to the end of `out`.
  void Take(std::vector<std::string>& out) {
    for (std::string& line : lines_) out.push_back(std::move(line));
    lines_.clear();
  }
  bool empty() const { return lines_.empty(); }
  const std::string& rest() const { return rest_; }  // of a line that has no end yet

 private:
  std::vector<std::string> lines_;
  std::string rest_;
};

}  // namespace sharewell::engine
