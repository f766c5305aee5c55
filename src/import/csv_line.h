// One line of a CSV whose table stands among other text, which platform/files/csv.h refuses.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace sharewell::imports {

// Its fields; quotes as in RFC 4180, without line breaks inside. `kept` holds those that had
// doubled quotes. False: a quote is not closed, or has letters behind it.
bool SplitLine(std::string_view line, std::vector<std::string_view>& fields,
               std::deque<std::string>& kept);

}  // namespace sharewell::imports
