// Cancelled: who or what asked for a job's end. One struct a kind.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace sharewell::core {

namespace cancelled {

// One of our users asked us: a server that finds the run again goes on ending it.
struct ByUser {
  std::string who;
  friend bool operator==(const ByUser&, const ByUser&) = default;
};
// It was cancelled in the queue of the cluster's manager, which ends it itself.
struct ByManager {
  std::string why;
  friend bool operator==(const ByManager&, const ByManager&) = default;
};
// A job that it was to come after did not finish well.
struct ByJobBefore {
  std::int64_t job = 0;
  enum class End : std::uint8_t { kUnknown, kFailed, kCancelled } end = End::kUnknown;
  friend bool operator==(const ByJobBefore&, const ByJobBefore&) = default;
};
// The store failed while it was submitted: its user was told that it was refused.
struct ByStore {
  friend bool operator==(const ByStore&, const ByStore&) = default;
};

}  // namespace cancelled

using Cancelled = std::variant<cancelled::ByUser, cancelled::ByManager, cancelled::ByJobBefore,
                               cancelled::ByStore>;

// In words, for people.
std::string InWords(const Cancelled& cancelled);

}  // namespace sharewell::core
