#include "api/expected_starts.h"

#include <exception>
#include <thread>
#include <utility>

namespace sharewell::api {
namespace {

template <class Duration>
core::Seconds InSeconds(Duration time) {
  return core::Seconds(std::chrono::duration<double>(time).count());
}

std::chrono::steady_clock::duration InClock(core::Seconds time) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(time.value));
}

}  // namespace

ExpectedStarts::ExpectedStarts(const control::EventHub& events, Find find,
                               const ExpectedStartsOptions& options)
    : events_(events), find_(std::move(find)), options_(options), worker_(1) {}

void ExpectedStarts::Stop() { worker_.Stop(); }

std::optional<ExpectedStarts::Clock::time_point> ExpectedStarts::Next() const {
  const auto now = Clock::now();
  if (!find_) return std::nullopt;
  if (!found_) return now;
  if (InSeconds(now - *found_) <= options_.fresh && events_.Last() == event_) return std::nullopt;
  const auto next = *found_ + InClock(took_ * options_.rest);
  return next <= now + InClock(options_.patience) ? std::optional(next) : std::nullopt;
}

void ExpectedStarts::WhenKnown(std::function<void()> then) {
  bool waits = false, begin = false;
  {
    const platform::MutexLock lock(mutex_);
    begin = !working_ && Next();
    working_ = working_ || begin;
    waits = working_ && took_ <= options_.patience;
    if (waits) asked_.push_back(std::exchange(then, {}));
  }
  if (!waits) then();
  if (begin) (void)worker_.Put([this] { Work(); });  // refused only once it is stopped
}

// Whoever asks while one is under way is for the next round: the queue may have changed since.
void ExpectedStarts::Work() {
  for (bool first = true;; first = false) {
    std::optional<Clock::time_point> next;
    {
      const platform::MutexLock lock(mutex_);
      if (asked_.empty() && !first) {
        working_ = false;
        return;
      }
      next = Next();
    }
    if (next) std::this_thread::sleep_until(*next);
    std::vector<std::function<void()>> asked;
    {
      const platform::MutexLock lock(mutex_);
      asked.swap(asked_);
    }
    if (next) FindAnew();
    for (const auto& then : asked) then();
  }
}

void ExpectedStarts::FindAnew() {
  // The board is changed before the event is told: what is found knows of all up to this one.
  const std::int64_t event = events_.Last();
  const auto begin = Clock::now();
  core::Result<Starts> found = Starts();
  try {
    found = find_();
  } catch (const std::exception&) {
    found = Starts();  // nobody knows; jobs are shown without it
  }
  const auto end = Clock::now();
  const platform::MutexLock lock(mutex_);
  starts_ = found ? std::move(*found) : Starts();
  found_ = end;
  event_ = event;
  took_ = InSeconds(end - begin);
}

Starts ExpectedStarts::All() const {
  const platform::MutexLock lock(mutex_);
  return found_ && InSeconds(Clock::now() - *found_) <= options_.oldest ? starts_ : Starts();
}

std::optional<core::UnixMillis> ExpectedStarts::Of(std::int64_t number) const {
  const platform::MutexLock lock(mutex_);
  if (!found_ || InSeconds(Clock::now() - *found_) > options_.oldest) return std::nullopt;
  const auto start = starts_.find(number);
  return start == starts_.end() ? std::nullopt : std::optional(start->second);
}

}  // namespace sharewell::api
