// Text of others as a terminal, a log or a page may show it: what it says, not what it orders.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sharewell::core {

// Bytes of the character that begins `text`; 0 where it may not be shown: a control (C0, DEL, C1),
// what breaks a line or turns the direction of writing, no character, or broken UTF-8.
// REQUIRES: not empty.
std::size_t PlainLength(std::string_view text);

// Each such character, or byte that is none, as `instead`; but for those in `kept`: line breaks and
// tabs, where the place has room for them.
std::string PlainText(std::string_view text, std::string_view instead = "?",
                      std::string_view kept = {});

}  // namespace sharewell::core
