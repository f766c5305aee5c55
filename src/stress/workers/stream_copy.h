// The inner loops: a copy that goes past the caches, and touches of scattered cache lines.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sharewell::stress {

inline constexpr std::size_t kLine =
    64;  // bytes; a touch moves one, whatever the machine's line is

// Reads `bytes` of `from` and writes them to `to`, with `stamp` added to every 64-bit word, by
// stores that do not fetch the line first (x86-64: streaming stores; aarch64: STNP, a hint that
// cores follow for whole lines). REQUIRES: both aligned to kLine, bytes a multiple of it.
void StreamCopy(std::byte* to, const std::byte* from, std::size_t bytes, std::uint64_t stamp);

// Every so many lines of a working set carry a mark that counts their touches.
inline constexpr std::size_t kMarkEvery = 64;

// Reads a word of `touches` lines out of `lines`, `stride` lines apart from `at` on, round and
// round; returns where the next one would be. The word of every kMarkEvery-th line goes up by one
// instead: few enough not to matter, and another program can count the rounds by them. When stride
// and lines have no common divisor, each line is touched once a round. REQUIRES: at < lines, stride
// < lines or lines == 1.
std::size_t TouchLines(std::byte* memory, std::size_t lines, std::size_t stride, std::size_t at,
                       std::size_t touches);

// A stride near 0.618 of `lines` that has no common divisor with it: far apart, so that no
// prefetcher helps.
std::size_t ScatterStride(std::size_t lines);

}  // namespace sharewell::stress
