// Small words about words, shared by the readers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/text/quoted.h"
#include "core/text/suggest.h"

namespace sharewell::platform {

std::string_view Trimmed(std::string_view text);  // without spaces and tabs at both ends
using core::LowerCase;
using core::Quoted;

// The parts between separators, trimmed; empty parts are left out.
std::vector<std::string_view> SplitList(std::string_view text, char separator);

}  // namespace sharewell::platform
