// Text for people on a terminal that is narrower than the text was written for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sharewell::report {

// `text` with no line wider than `width`, where that can be. Tables are known by the rule under
// their headings and laid out as Table::Text does; of other lines what is too wide goes on below,
// at spaces alone, so that a path stays whole, and indented like the text of the line: behind its
// last gap of two blanks. What fits stays as it is.
std::string Fitted(std::string_view text, std::size_t width);

}  // namespace sharewell::report
