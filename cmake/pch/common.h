// Precompiled for every module: what nearly all sources include. A source still includes what it
// uses; clang-tidy reads it without the precompiled header and finds what is missing.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
