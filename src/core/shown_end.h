// The end of a value, as core/shown.h shows its beginning.
#pragma once

#include <string>
#include <string_view>

namespace sharewell::core {

// As Shown(), but of a value that is too long the last 120 characters: a message of a program says
// the reason last.
std::string ShownEnd(std::string_view value);

}  // namespace sharewell::core
