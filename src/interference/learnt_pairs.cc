#include "interference/learnt_pairs.h"

#include <algorithm>
#include <utility>

namespace sharewell::interference {

using core::Ratio;

LearntPairs::Slot LearntPairs::KeyOf(const Pair& pair) {
  return {(std::uint64_t{pair.self.value} << 32) | pair.other.value,
          (std::uint64_t{pair.model.value} << 16) |
              (static_cast<std::uint64_t>(pair.own_percent) << 8) |
              static_cast<std::uint64_t>(pair.others_percent),
          0};
}

std::size_t LearntPairs::Find(const Slot& key) const {
  std::uint64_t hash = (key.workloads ^ (key.rest << 20)) * 0x9E3779B97F4A7C15;
  hash ^= hash >> 32;
  const std::size_t mask = slots_.size() - 1;
  auto at = static_cast<std::size_t>(hash) & mask;
  while (slots_[at].speed > 0 &&
         (slots_[at].workloads != key.workloads || slots_[at].rest != key.rest)) {
    at = (at + 1) & mask;
  }
  return at;
}

void LearntPairs::Grow() {
  const auto before =
      std::exchange(slots_, std::vector<Slot>(std::max<std::size_t>(64, slots_.size() * 2)));
  for (const Slot& slot : before) {
    if (slot.speed > 0) slots_[Find(slot)] = slot;
  }
}

void LearntPairs::Learn(const Pair& pair, Ratio speed) {
  if (count_ * 2 >= slots_.size()) Grow();
  Slot key = KeyOf(pair);
  Slot& slot = slots_[Find(key)];
  if (slot.speed <= 0) ++count_;
  key.speed = speed;
  slot = key;
}

std::optional<Ratio> LearntPairs::Speed(const Pair& pair) const {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[Find(KeyOf(pair))];
  return slot.speed > 0 ? std::optional(slot.speed) : std::nullopt;
}

}  // namespace sharewell::interference
