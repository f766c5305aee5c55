// Taking apart the text of /proc and /sys: no allocation, no locale, any bytes.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sharewell::collect {

class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  // False at the end. A last line without its newline was cut short (its last number may be half a
  // number): it is not given.
  bool Next(std::string_view& line) {
    const auto end = rest_.find('\n');
    if (end == std::string_view::npos) return false;
    line = rest_.substr(0, end);
    rest_ = rest_.substr(end + 1);
    return true;
  }

 private:
  std::string_view rest_;
};

// The next word, taken off `rest`; empty at the end.
inline std::string_view TakeWord(std::string_view& rest) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = rest.find_first_not_of(kBlank);
  if (first == std::string_view::npos) {
    rest = {};
    return {};
  }
  const auto end = rest.find_first_of(kBlank, first);
  const std::string_view word = rest.substr(first, end - first);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end);
  return word;
}

// The whole word as a number; what is too large or no number is none.
inline std::optional<std::uint64_t> AsUnsigned(std::string_view word) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

inline std::optional<std::int64_t> AsSigned(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

inline std::optional<double> AsNumber(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

inline std::optional<std::uint64_t> TakeUnsigned(std::string_view& rest) {
  return AsUnsigned(TakeWord(rest));
}

// What follows "KEY:" or "KEY" and blanks, where the line begins so; none otherwise.
inline std::optional<std::string_view> AfterKey(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return std::nullopt;
  line.remove_prefix(key.size());
  const auto colon = line.find_first_not_of(" \t");
  if (colon == std::string_view::npos) return std::string_view();
  if (line[colon] == ':') {
    line.remove_prefix(colon + 1);
  } else if (colon == 0) {
    return std::nullopt;  // the key goes on
  }
  const auto first = line.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : line.substr(first);
}

}  // namespace sharewell::collect
