// TextScan: finds where values of a JSON text end, without reading them. Exact about strings and
// nesting, so that a trace of many gigabytes can be taken apart into events and each be given to a
// real parser. It does not say whether what it skips is valid.
#pragma once

#include <cstddef>
#include <string_view>

namespace sharewell::json {

class TextScan {
 public:
  explicit TextScan(std::string_view text, std::size_t at = 0) : text_(text), at_(at) {}

  std::size_t at() const { return at_; }
  bool done() const { return at_ >= text_.size(); }
  char Peek();             // the next character that is no white space; '\0' at the end
  bool Take(char wanted);  // takes it if it is the next one
  // The value or string that comes next, as it stands; false when the text ends inside it, and the
  // position stays where it began.
  bool SkipValue(std::string_view& value);
  bool SkipString(std::string_view& inside);  // without its quotes; escapes as they are

 private:
  std::string_view text_;
  std::size_t at_;
};

}  // namespace sharewell::json
