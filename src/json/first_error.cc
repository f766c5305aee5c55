#include "json/first_error.h"

#include <algorithm>
#include <vector>

#include "core/text/utf8.h"

namespace sharewell::json {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Takes one token after the other; `at()` stays at the first byte that is wrong.
class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  std::size_t at() const { return at_; }
  bool done() const { return at_ == text_.size(); }

  void Space() {
    while (!done() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }
  bool Take(char wanted) {
    if (done() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  bool Word(std::string_view word) {
    for (const char c : word) {
      if (!Take(c)) return false;
    }
    return true;
  }
  bool Number() {
    Take('-');
    if (!Take('0') && !Digits()) return false;
    if (Take('.') && !Digits()) return false;
    if (Take('e') || Take('E')) {
      if (!Take('+')) Take('-');
      return Digits();
    }
    return true;
  }
  bool String() {
    if (!Take('"')) return false;
    while (!done()) {
      if (Take('"')) return true;
      if (Take('\\')) {
        if (!Escape()) return false;
        continue;
      }
      const auto byte = static_cast<unsigned char>(text_[at_]);
      const std::size_t length = byte < 0x20   ? 0
                                 : byte < 0x80 ? 1
                                               : core::CharacterLength(text_.substr(at_));
      if (length == 0) return false;
      at_ += length;
    }
    return false;
  }
  // A number, a text or a word.
  bool Plain() {
    if (done()) return false;
    switch (text_[at_]) {
      case '"':
        return String();
      case 't':
        return Word("true");
      case 'f':
        return Word("false");
      case 'n':
        return Word("null");
      default:
        return Number();
    }
  }

 private:
  bool Digits() {
    if (done() || !IsDigit(text_[at_])) return false;
    while (!done() && IsDigit(text_[at_])) ++at_;
    return true;
  }
  // Four hexadecimal digits.
  bool Unit(unsigned& value) {
    value = 0;
    for (int i = 0; i < 4; ++i) {
      if (done() || !IsHex(text_[at_])) return false;
      const char c = text_[at_++];
      value = value * 16 + static_cast<unsigned>(IsDigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return true;
  }
  bool Escape() {
    if (done()) return false;
    const std::size_t begin = at_ - 1;
    const char c = text_[at_++];
    if (c != 'u') {
      if (std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos) return true;
      --at_;
      return false;
    }
    unsigned unit = 0;
    if (!Unit(unit)) return false;
    // A character beyond 16 bits is written as two, of which neither stands alone.
    bool right = unit < 0xd800 || unit > 0xdfff;
    if (!right && unit < 0xdc00 && Word("\\u") && Unit(unit)) {
      right = unit >= 0xdc00 && unit <= 0xdfff;
    }
    if (!right) at_ = begin;
    return right;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::size_t> FirstError(std::string_view text) {
  Scan scan(text);
  std::vector<char> open;  // what closes each list and object that the place is in
  bool value = true;       // a value must come next
  while (true) {
    scan.Space();
    if (value && scan.Take('[')) {
      open.push_back(']');
      scan.Space();
      if (!scan.Take(']')) continue;
      open.pop_back();
    } else if (value && scan.Take('{')) {
      open.push_back('}');
      scan.Space();
      if (scan.Take('}')) {
        open.pop_back();
      } else {
        if (!scan.String()) return scan.at();
        scan.Space();
        if (!scan.Take(':')) return scan.at();
        continue;
      }
    } else if (value && !scan.Plain()) {
      return scan.at();
    }
    scan.Space();
    if (open.empty()) break;
    value = scan.Take(',');
    if (value && open.back() == '}') {
      scan.Space();
      if (!scan.String()) return scan.at();
      scan.Space();
      if (!scan.Take(':')) return scan.at();
    } else if (!value) {
      if (!scan.Take(open.back())) return scan.at();
      open.pop_back();
    }
  }
  return scan.done() ? std::nullopt : std::optional(scan.at());
}

}  // namespace sharewell::json
