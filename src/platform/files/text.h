// Small words about words, shared by the readers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/suggest.h"

namespace sharewell::platform {

// The value as it may be shown in a message: in single quotes, at most 40 characters, control
// characters and broken UTF-8 replaced by '?'. Never more than a few hundred bytes are looked at.
std::string Shown(std::string_view value);

std::string_view Trimmed(std::string_view text);  // without spaces and tabs at both ends
using core::LowerCase;

// The parts between separators, trimmed; empty parts are left out.
std::vector<std::string_view> SplitList(std::string_view text, char separator);

}  // namespace sharewell::platform
