// Ids are dense indices into the owner's vector, distinct by type, so that a job cannot be taken
// for a GPU. Ties everywhere are broken by id.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace sharewell::core {

template <class Tag>
struct Id {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t value = kNone;

  constexpr Id() = default;
  constexpr explicit Id(std::size_t v) : value(static_cast<std::uint32_t>(v)) {}

  friend constexpr auto operator<=>(const Id&, const Id&) = default;
  constexpr bool valid() const { return value != kNone; }
  constexpr std::size_t index() const { return value; }
};

using JobId = Id<struct JobTag>;
using GpuId = Id<struct GpuTag>;
using NodeId = Id<struct NodeTag>;
using UserId = Id<struct UserTag>;
using WorkloadId = Id<struct WorkloadTag>;
using GpuModelId = Id<struct GpuModelTag>;
using ProjectId = Id<struct ProjectTag>;

}  // namespace sharewell::core

template <class Tag>
struct std::hash<sharewell::core::Id<Tag>> {
  std::size_t operator()(sharewell::core::Id<Tag> id) const noexcept { return id.value; }
};
