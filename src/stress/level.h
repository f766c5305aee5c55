// What is pressed on, and how hard: kinds of pressure, their units, and levels from text.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/result.h"

namespace sharewell::stress {

enum class PressureKind { kMemoryBandwidth, kLastLevelCache, kCpu, kPcie, kDisk };

inline constexpr std::array kPressureKinds = {PressureKind::kMemoryBandwidth,
                                              PressureKind::kLastLevelCache, PressureKind::kCpu,
                                              PressureKind::kPcie, PressureKind::kDisk};

std::string_view NameOf(PressureKind kind);   // "membw", "llc", "cpu", "pcie", "disk"
std::string_view UnitOf(PressureKind kind);   // "bytes_per_second", "bytes" (llc), "cores" (cpu)
std::string_view TitleOf(PressureKind kind);  // "memory bandwidth"
core::Result<PressureKind> KindOf(std::string_view name);  // an error suggests the nearest

// In the kind's unit, or as a share (above 0, at most 1) of what the machine can do.
struct Level {
  enum class Basis { kAbsolute, kShare };
  Basis basis = Basis::kShare;
  double value = 0;

  static Level Share(double share) { return {Basis::kShare, share}; }
  static Level Absolute(double value) { return {Basis::kAbsolute, value}; }
  friend bool operator==(const Level&, const Level&) = default;
};

// "75%" for every kind; "10GB/s" or "800MiB/s" for membw, pcie and disk; "32MB" or "32MiB" for llc;
// "1.5" for cpu. More than 0. Errors show the text and what is allowed, not the flag.
core::Result<Level> ParseLevel(PressureKind kind, std::string_view text);
// The same without shares: what a capacity is given as.
core::Result<double> ParseAmount(PressureKind kind, std::string_view text);

// "10.0 GB/s", "33.6 MB", "1.50 cores".
std::string ShowLevel(PressureKind kind, double value);

}  // namespace sharewell::stress
