// Line: the waiting jobs in an order's turn, kept between decisions. Jobs are put into classes of
// those that need much the same; when some of a class found no place in a decision, the rest of it
// is not tried (it would not find one either), which is what keeps a decision short when thousands
// wait.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "core/snapshot.h"
#include "policy/order/order.h"

namespace sharewell::policy {

class Line {
 public:
  struct Entry {
    int minus_priority = 0;
    double key = 0;
    double submit = 0;
    core::JobId id;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };

  explicit Line(const Order& order) : order_(&order) {}

  void Rebuild(const core::Snapshot& snapshot);
  // Takes over a job's state after something happened to it.
  void Update(const core::Snapshot& snapshot, core::JobId id);

  // The training job that has waited longest, by submission.
  std::optional<core::JobId> Oldest() const;

  static Entry EntryOf(const core::Snapshot& snapshot, const Order& order,
                       const core::JobView& view);

  // Walks the line in turn. `visit(JobId)` says whether the job was served; after `misses` unserved
  // jobs of a class the rest of that class is left out. Jobs whose key is at least order.TailFrom
  // go first, largest first.
  template <class Visit>
  void Walk(const core::Snapshot& snapshot, int misses, Visit visit) const;

 private:
  // Priority (lowest last, so that a class has but one), GPUs, may share, believed busy and its own
  // slowdown bound in steps, allowed models, user (orders by user only).
  using Class = std::tuple<int, int, bool, int, int, std::vector<core::GpuModelId>, std::uint32_t>;
  using Members = std::set<Entry>;
  Class ClassOf(const core::JobView& view) const;

  const Order* order_;
  std::map<Class, Members> classes_;
  std::set<std::pair<double, core::JobId>> oldest_;
  std::vector<std::optional<std::pair<Class, Entry>>> where_;  // by job
};

template <class Visit>
void Line::Walk(const core::Snapshot& snapshot, int misses, Visit visit) const {
  // A cursor a class: from the back through the tail, then from the front. The next job overall is
  // the least of the cursors' heads.
  struct Cursor {
    const Members* members;
    Members::const_iterator front;
    Members::const_iterator back;  // one past the next of the tail
    bool in_tail;
    int missed = 0;
    double user_key = 0;
  };
  const double tail_from = order_->TailFrom(snapshot);
  std::vector<Cursor> cursors;
  for (const auto& [what, members] : classes_) {
    Cursor c{&members, members.begin(), members.end(), false, 0, 0};
    if (order_->ByUser()) c.user_key = order_->UserKey(snapshot, core::UserId(std::get<6>(what)));
    cursors.push_back(c);
  }
  using Rank = std::tuple<int, int, double, Entry>;  // priority, tail first, user, entry
  const auto rank_of = [&](Cursor& c) -> std::optional<Rank> {
    if (c.back != c.members->begin()) {
      const Entry& last = *std::prev(c.back);
      // Priorities are sorted first, so the tail of a class is looked for among its last entries
      // only while the key is large enough.
      if (last.key >= tail_from) {
        c.in_tail = true;
        Entry mirrored = last;
        mirrored.key = -last.key;
        return Rank{last.minus_priority, 0, c.user_key, mirrored};
      }
    }
    c.in_tail = false;
    if (c.front == c.back) return std::nullopt;
    return Rank{c.front->minus_priority, 1, c.user_key, *c.front};
  };
  std::set<std::pair<Rank, std::size_t>> heads;
  for (std::size_t i = 0; i < cursors.size(); ++i) {
    if (auto rank = rank_of(cursors[i])) heads.insert({*rank, i});
  }
  while (!heads.empty()) {
    const std::size_t i = heads.begin()->second;
    heads.erase(heads.begin());
    Cursor& c = cursors[i];
    const core::JobId id = c.in_tail ? std::prev(c.back)->id : c.front->id;
    if (c.in_tail) {
      --c.back;
    } else {
      ++c.front;
    }
    if (!visit(id) && ++c.missed >= misses) continue;
    if (auto rank = rank_of(c)) heads.insert({*rank, i});
  }
}

}  // namespace sharewell::policy
