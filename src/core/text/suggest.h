// "Did you mean": the nearest of the names that exist, by edit distance, case aside.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sharewell::core {

// ASCII letters only: names, not prose.
std::string LowerCase(std::string_view text);

// Insertions, deletions, replacements and swaps of neighbours that turn one into the other.
// Cost: the product of the lengths; callers pass names, not files.
std::size_t EditDistance(std::string_view a, std::string_view b);

// The candidate with the least distance, the earliest of equals; none when all differ in more than
// a third of their letters (at least two), for then a suggestion would only puzzle.
std::optional<std::string> Nearest(std::string_view name, std::span<const std::string> candidates);

// "; did you mean 'gpus'?", or nothing: to be put at the end of a message.
std::string DidYouMean(std::string_view name, std::span<const std::string> candidates);

}  // namespace sharewell::core
