// A value from a file as it may stand in a message: a hostile file must not drive the terminal.
#pragma once

#include <string>
#include <string_view>

namespace sharewell::core {

// In single quotes, at most 40 characters, or 255 where it has a '/': half a path helps nobody.
// Control characters and broken UTF-8 are replaced by '?'. Never more than about a thousand bytes
// are looked at.
std::string Quoted(std::string_view value);
// The same, but of a value that is too long the last 120 characters: a message of a program says
// the reason last.
std::string QuotedEnd(std::string_view value);

}  // namespace sharewell::core
