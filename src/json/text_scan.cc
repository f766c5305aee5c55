#include "json/text_scan.h"

#include <algorithm>

namespace sharewell::json {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Behind the quote that ends the string which begins at `at`; npos when none does.
std::size_t EndOfString(std::string_view text, std::size_t at) {
  for (std::size_t quote = text.find('"', at + 1); quote != std::string_view::npos;
       quote = text.find('"', quote + 1)) {
    std::size_t backslashes = 0;
    while (text[quote - 1 - backslashes] == '\\') ++backslashes;
    if (backslashes % 2 == 0) return quote + 1;
  }
  return std::string_view::npos;
}

}  // namespace

char TextScan::Peek() {
  while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool TextScan::Take(char wanted) {
  if (Peek() != wanted || done()) return false;
  ++at_;
  return true;
}

bool TextScan::SkipString(std::string_view& inside) {
  if (Peek() != '"') return false;
  const std::size_t end = EndOfString(text_, at_);
  if (end == std::string_view::npos) return false;
  inside = text_.substr(at_ + 1, end - at_ - 2);
  at_ = end;
  return true;
}

bool TextScan::SkipValue(std::string_view& value) {
  const char first = Peek();
  const std::size_t begin = at_;
  if (first == '"') {
    std::string_view inside;
    if (!SkipString(inside)) return false;
  } else if (first == '{' || first == '[') {
    std::size_t depth = 0;
    std::size_t at = at_;
    do {
      at = text_.find_first_of("\"{}[]", at);
      if (at == std::string_view::npos) return false;
      switch (text_[at]) {
        case '"':
          at = EndOfString(text_, at);
          if (at == std::string_view::npos) return false;
          continue;
        case '{':
        case '[':
          ++depth;
          break;
        default:
          --depth;
      }
      ++at;
    } while (depth > 0);
    at_ = at;
  } else {
    const std::size_t end = text_.find_first_of(",]} \n\r\t", at_);
    if (end == std::string_view::npos) return false;
    at_ = end;
  }
  value = text_.substr(begin, at_ - begin);
  return true;
}

}  // namespace sharewell::json
