// A regular expression on single lines: <regex>, kept behind one door.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace sharewell::measure {

class OutputPattern {
 public:
  // ECMAScript without back-references: matching takes time in proportion to the line, whatever
  // the expression. A usage error says where it stops being one.
  static core::Result<OutputPattern> Make(const std::string& expression);
  OutputPattern(OutputPattern&&) noexcept;
  OutputPattern& operator=(OutputPattern&&) noexcept;
  ~OutputPattern();

  bool has_group() const;
  // Group 1 of the first match as a number ("1,234.5" has its comma taken out), or 1 where there is
  // no group. Absent: no match, or no number. Only the line's first 1,000 bytes are looked at.
  std::optional<double> Find(std::string_view line) const;

 private:
  struct Compiled;
  explicit OutputPattern(std::unique_ptr<Compiled> compiled);

  std::unique_ptr<Compiled> compiled_;
};

}  // namespace sharewell::measure
