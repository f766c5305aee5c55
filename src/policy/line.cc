#include "policy/line.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "policy/ledger.h"

namespace sharewell::policy {

using core::JobId;
using core::JobView;
using core::Snapshot;

namespace {
constexpr int kBusySteps = 16;
// GPU seconds that stand for the most where nobody has used any yet.
constexpr double kUnused = 3600;
// Seconds that put a user behind all who hold less than an equal share: no due time is as far away.
constexpr double kHasShare = 1e9;

// In steps of a twentieth; beyond 3 they are one.
int BoundStep(const JobView& view) {
  return view.job.max_slowdown ? static_cast<int>(std::min(*view.job.max_slowdown, 3.0) * 20) : 0;
}

// A job that wants no more of a node's memory hardly ever waits for it.
constexpr double kSmallPart = 1.0 / 16;

// Of the smallest node that states it; infinite: none does.
double LeastMemory(const Snapshot& snapshot) {
  double least = std::numeric_limits<double>::infinity();
  for (const core::Node& node : snapshot.cluster().nodes()) {
    if (node.memory) least = std::min(least, node.memory->value);
  }
  return least;
}

// Each step is twice the one before; those who want little are one.
int MemoryStep(const JobView& view, double small) {
  const auto& on = view.estimate.on;
  const double believed = on.empty() ? 0 : on.front().demand.host_memory.value * view.job.gpus;
  const double wanted = std::max(view.job.host_memory.value_or(core::Bytes()).value, believed);
  return wanted <= small ? 0 : 1 + std::ilogb(wanted / small);
}
}  // namespace

Line::Entry Line::EntryOf(const Snapshot& snapshot, const Order& order, const JobView& view) {
  return {-view.job.priority, order.Key(snapshot, view), view.job.submit.value, view.job.id};
}

Line::Class Line::ClassOf(const JobView& view) const {
  const bool shares = MayShare(view);
  const double busy = view.estimate.on.empty() ? 0 : view.estimate.on.front().demand.busy;
  return {
      {-view.job.priority, view.job.gpus, shares, shares ? static_cast<int>(busy * kBusySteps) : 0,
       shares ? BoundStep(view) : 0, MemoryStep(view, small_memory_), view.job.allowed_models,
       view.job.gpus_a_node, view.job.allowed_nodes},
      OwnerOf(view)};
}

void Line::Rebuild(const Snapshot& snapshot) {
  stage_ = order_->Stage(snapshot);
  classes_.clear();
  oldest_.clear();
  where_.clear();
  where_.resize(snapshot.job_count());
  small_memory_ = std::max(1.0, kSmallPart * LeastMemory(snapshot));
  for (JobId id : snapshot.waiting()) {
    if (Members* members = Enter(snapshot, snapshot.job(id))) {
      members->push_back(where_[id.index()]->second);
    }
  }
  for (auto& [what, members] : classes_) std::sort(members.begin(), members.end());
}

Line::Members* Line::Enter(const Snapshot& snapshot, const JobView& view) {
  if (view.state != core::JobState::kWaiting || (view.cpu_only() && !cpu_only_)) return nullptr;
  const JobId id = view.job.id;
  const auto its = classes_.try_emplace(ClassOf(view)).first;
  where_[id.index()].emplace(its, EntryOf(snapshot, *order_, view));
  if (!view.cpu_only()) oldest_[its->first.second].insert({view.job.submit.value, id});
  return &its->second;
}

void Line::Update(const Snapshot& snapshot, JobId id) {
  if (id.index() >= where_.size()) where_.resize(snapshot.job_count());
  const JobView& view = snapshot.job(id);
  auto& where = where_[id.index()];
  if (where) {
    const auto [its, entry] = *where;
    auto& members = its->second;
    if (auto mine = oldest_.find(its->first.second); mine != oldest_.end()) {
      mine->second.erase({view.job.submit.value, id});
      if (mine->second.empty()) oldest_.erase(mine);
    }
    members.erase(std::lower_bound(members.begin(), members.end(), entry));
    if (members.empty()) classes_.erase(its);
    where.reset();
  }
  if (Members* members = Enter(snapshot, view)) {
    const Entry& entry = where->second;
    members->insert(std::lower_bound(members->begin(), members->end(), entry), entry);
  }
}

std::optional<JobId> Line::Oldest(const Snapshot& snapshot) const {
  std::optional<std::tuple<double, double, JobId>> first;  // user's key, submission, job
  for (const auto& [owner, jobs] : oldest_) {
    const double key = order_->ByUser() ? order_->UserKey(snapshot, core::UserId(owner.user)) : 0;
    const std::tuple<double, double, JobId> mine(key, jobs.begin()->first, jobs.begin()->second);
    if (!first || mine < *first) first = mine;
  }
  return first ? std::optional(std::get<2>(*first)) : std::nullopt;
}

Line::Turns::Turns(const Line& line, const Snapshot& snapshot, int misses,
                   std::span<const JobId> dropped)
    : line_(line),
      snapshot_(snapshot),
      most_misses_(misses),
      dropped_(dropped),
      tail_from_(line.order_->TailFrom(snapshot)),
      adds_(line.order_->UserKeyAdds() > 0),
      standing_(snapshot, line.project_shares_),
      users_(UserComesLater{adds_}) {
  const Needs* before = nullptr;  // classes of the same needs follow each other
  std::map<Owner, std::size_t> users;
  std::vector<core::UserId> ids;
  for (const auto& [what, members] : line.classes_) {
    const auto& [needs, owner] = what;
    if (before == nullptr || *before != needs) missed_.push_back(0);
    before = &needs;
    const auto end = members.end();
    const auto [known, fresh] = users.try_emplace(owner, users.size());
    if (fresh) {
      const auto id = core::UserId(owner.user);
      ids.push_back(id);
      projects_.push_back(owner.project);
      user_keys_.push_back(line.order_->ByUser() ? line.order_->UserKey(snapshot, id) : 0);
    }
    cursors_.push_back({members.begin(), end, end, end, missed_.size() - 1, known->second});
  }
  if (adds_ && !user_keys_.empty()) {
    const double most = *std::max_element(user_keys_.begin(), user_keys_.end());
    scale_ = line.order_->UserKeyAdds() / (most > 0 ? most : kUnused);
    for (double& key : user_keys_) key *= scale_;
  }
  if (line.order_->EqualShareFirst()) FindShares(ids);
  heads_.resize(user_keys_.size());
  for (std::size_t i = 0; i < cursors_.size(); ++i) {
    if (const auto head = HeadOf(i)) heads_[cursors_[i].user].push_back(*head);
  }
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    std::make_heap(heads_[i].begin(), heads_[i].end(), HeadComesLater());
    users_.push(AsHeStands(i));  // each has a job that waits
  }
}

void Line::Turns::FindShares(const std::vector<core::UserId>& users) {
  double weights = 0;
  for (const core::UserId user : users) weights += snapshot_.weight(user);
  const double each = static_cast<double>(snapshot_.cluster().gpu_count()) / weights;
  for (std::size_t i = 0; i < users.size(); ++i) {
    short_of_.push_back(each * snapshot_.weight(users[i]) - snapshot_.gpus_held(users[i]));
    if (short_of_[i] <= 0) user_keys_[i] += kHasShare;
  }
}

// Written out: it is asked a million times.
bool Line::Turns::ComesLater(const Head& a, double a_key, const Head& b, double b_key, bool adds) {
  if (a.entry.minus_priority != b.entry.minus_priority) {
    return a.entry.minus_priority > b.entry.minus_priority;
  }
  if (a.tail != b.tail) return b.tail;
  if (adds && !a.tail) {
    const double a_sum = a_key + a.entry.key, b_sum = b_key + b.entry.key;
    if (a_sum != b_sum) return a_sum > b_sum;
  } else {
    if (a_key != b_key) return a_key > b_key;
    if (a.entry.key != b.entry.key) return a.entry.key > b.entry.key;
  }
  if (a.entry.submit != b.entry.submit) return a.entry.submit > b.entry.submit;
  return a.entry.id > b.entry.id;  // each job stands in one class
}

std::optional<Line::Turns::Head> Line::Turns::HeadOf(std::size_t cursor) {
  Cursor& c = cursors_[cursor];
  if (c.tail == c.tail_end && c.front != c.back && std::prev(c.back)->key >= tail_from_) {
    // Its equals stand right before it, and are few.
    c.tail = std::prev(c.back);
    const double key = c.tail->key;
    while (c.tail != c.front && std::prev(c.tail)->key == key) --c.tail;
    c.tail_end = std::exchange(c.back, c.tail);
  }
  if (c.tail != c.tail_end) {
    Entry mirrored = *c.tail;
    mirrored.key = -mirrored.key;
    return Head{true, mirrored, cursor};
  }
  if (c.front == c.back) return std::nullopt;
  return Head{false, *c.front, cursor};
}

void Line::Turns::TakeTop(std::size_t user, const std::optional<Head>& in_its_place) {
  Heads& heads = heads_[user];
  const HeadComesLater later;
  if (!in_its_place) {
    std::pop_heap(heads.begin(), heads.end(), later);
    heads.pop_back();
    return;
  }
  // Down from the top, which is mostly where it stays.
  std::size_t at = 0;
  for (std::size_t child = 1; child < heads.size(); child = 2 * at + 1) {
    if (child + 1 < heads.size() && later(heads[child], heads[child + 1])) ++child;
    if (!later(*in_its_place, heads[child])) break;
    heads[at] = heads[child];
    at = child;
  }
  heads[at] = *in_its_place;
}

bool Line::Turns::GoesOn() const {
  if (!user_ || heads_[*user_].empty()) return false;
  if (users_.empty()) return true;
  return !UserComesLater{adds_}(AsHeStands(*user_), users_.top());
}

Line::Turns::User Line::Turns::AsHeStands(std::size_t user) const {
  return {user_keys_[user], user, heads_[user].front(), standing_.Has(projects_[user])};
}

// A project comes to its share while others of its users stand in the heap: they sink then.
void Line::Turns::TakeFirstUser() {
  user_.reset();
  while (!users_.empty() && !user_) {
    const std::size_t first = users_.top().number;
    const bool had_share = users_.top().has_share;
    users_.pop();
    if (had_share == standing_.Has(projects_[first])) {
      user_ = first;
    } else {
      users_.push(AsHeStands(first));
    }
  }
}

std::optional<JobId> Line::Turns::Next() {
  for (;;) {
    if (!GoesOn()) {
      if (user_ && !heads_[*user_].empty()) users_.push(AsHeStands(*user_));
      TakeFirstUser();
      if (!user_) return std::nullopt;
    }
    Cursor& c = cursors_[heads_[*user_].front().cursor];
    if (missed_[c.needs] < most_misses_) {
      given_ = c.tail != c.tail_end ? (c.tail++)->id : (c.front++)->id;
      return given_;
    }
    TakeTop(*user_, std::nullopt);
  }
}

void Line::Turns::Answer(bool served) {
  const std::size_t cursor = heads_[*user_].front().cursor;
  if (served) {
    const core::JobView& job = snapshot_.job(given_);
    user_keys_[*user_] += line_.order_->Charge(job) * scale_;
    if (!std::binary_search(dropped_.begin(), dropped_.end(), given_)) {
      standing_.Give(projects_[*user_], job.job.gpus);
    }
    if (!short_of_.empty() && short_of_[*user_] > 0) {
      short_of_[*user_] -= job.job.gpus;
      if (short_of_[*user_] <= 0) user_keys_[*user_] += kHasShare;
    }
  } else if (++missed_[cursors_[cursor].needs] == most_misses_) {
    return TakeTop(*user_, std::nullopt);  // the rest of its class is left out
  }
  TakeTop(*user_, HeadOf(cursor));
}

}  // namespace sharewell::policy
