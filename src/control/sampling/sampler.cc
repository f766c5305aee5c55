#include "control/sampling/sampler.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <utility>

#include "core/result.h"
#include "core/text/plain_text.h"
#include "platform/clock/wall_clock.h"
#include "platform/mutex.h"

namespace sharewell::control {
namespace {

using std::chrono::duration;
using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Standing = CollectorState::Standing;

constexpr nanoseconds kSlack = milliseconds(1);  // due so soon is due now
constexpr nanoseconds kMostBackOff = std::chrono::seconds(60);
constexpr nanoseconds kSayAgain = std::chrono::seconds(60);  // a flapping collector is no news
constexpr nanoseconds kJump = std::chrono::seconds(1);
constexpr int kSlew = 10;  // a difference is worked off with a tenth of the time that passes
constexpr nanoseconds kLong = milliseconds(100);
constexpr int kLongInARow = 3;

nanoseconds InNanos(core::Seconds time) {
  return nanoseconds(static_cast<std::int64_t>(std::llround(time.value * 1e9)));
}

core::Seconds InSeconds(nanoseconds time) {
  return core::Seconds(duration_cast<duration<double>>(time).count());
}

class RealClock : public Clock {
 public:
  nanoseconds Steady() override { return std::chrono::steady_clock::now().time_since_epoch(); }
  core::UnixMillis Wall() override { return platform::UnixNow(); }
};

}  // namespace

Clock& SystemClock() {
  static RealClock clock;
  return clock;
}

struct Sampler::Seat {
  std::unique_ptr<collect::Collector> collector;
  nanoseconds interval;
  nanoseconds due{0};  // since the grid's origin
  int failures = 0;    // in a row
  int slow = 0;        // in a row
  bool slow_said = false;
  Standing said = Standing::kNotAsked;
  nanoseconds said_at{0};
  std::size_t last_size = 0;
  CollectorState state;
};

Sampler::Sampler(std::vector<Watched> watched, std::vector<Sink> sinks, Log log, Clock& clock)
    : sinks_(std::move(sinks)), log_(std::move(log)), clock_(clock), origin_(clock.Steady()) {
  offset_ = milliseconds(clock_.Wall()) - origin_;
  followed_ = origin_;
  for (Watched& each : watched) {
    auto seat = std::make_unique<Seat>();
    const core::Seconds interval = std::max(each.interval, each.collector->Floor());
    SHAREWELL_CHECK(interval > core::Seconds(0));
    seat->collector = std::move(each.collector);
    seat->interval = InNanos(interval);
    seat->state.name = seat->collector->Name();
    seat->state.interval = interval;
    seats_.push_back(std::move(seat));
  }
}

Sampler::~Sampler() = default;

std::vector<CollectorState> Sampler::States() const {
  const platform::MutexLock lock(mutex_);
  std::vector<CollectorState> states;
  for (const auto& seat : seats_) states.push_back(seat->state);
  return states;
}

void Sampler::FollowWallClock() {
  const nanoseconds now = clock_.Steady();
  const nanoseconds slew = (now - std::exchange(followed_, now)) / kSlew;
  const nanoseconds apart = milliseconds(clock_.Wall()) - (now + offset_);
  if (apart > kJump || apart < -kJump) {
    offset_ += apart;
    log_(fmt::format("the clock was set {} by {:.1f} s; samples follow it",
                     apart > nanoseconds(0) ? "forward" : "back",
                     std::abs(InSeconds(apart).value)));
  } else {
    offset_ += std::clamp(apart, -slew, slew);
  }
}

core::UnixMillis Sampler::Stamp() {
  return duration_cast<milliseconds>(clock_.Steady() + offset_).count();
}

core::Seconds Sampler::Step() {
  FollowWallClock();
  for (const auto& seat : seats_) {
    if (seat->due <= clock_.Steady() - origin_ + kSlack) Ask(*seat);
  }
  nanoseconds next = kMostBackOff;
  const nanoseconds now = clock_.Steady() - origin_;
  for (const auto& seat : seats_) next = std::min(next, seat->due - now);
  return InSeconds(std::max(next, nanoseconds(0)));
}

void Sampler::Ask(Seat& seat) {
  const auto batch = std::make_shared<core::Batch>();
  batch->readings.reserve(seat.last_size);
  batch->time = Stamp();
  const nanoseconds before = clock_.Steady();
  auto answer = seat.collector->Collect(batch->readings);
  const nanoseconds took = clock_.Steady() - before;
  // A value that is no number is unknown.
  std::erase_if(batch->readings, [](const core::Reading& r) { return !std::isfinite(r.value); });
  seat.last_size = batch->readings.size();
  Settle(seat, std::move(answer), took, !batch->readings.empty());
  for (const Sink& sink : sinks_) sink(seat.state, batch);
}

void Sampler::Settle(Seat& seat, core::Result<void>&& answer, nanoseconds took, bool any) {
  const Standing standing = answer ? Standing::kWorks : any ? Standing::kPartly : Standing::kDown;
  seat.failures = standing == Standing::kDown ? std::min(seat.failures + 1, 16) : 0;
  const nanoseconds now = clock_.Steady() - origin_;
  // The grid's next line, or a later one while it fails.
  nanoseconds pause = seat.interval;
  for (int i = 0; i < seat.failures && pause * 2 <= kMostBackOff; ++i) pause *= 2;
  const nanoseconds due = (now + kSlack) / seat.interval * seat.interval + pause;
  const std::int64_t missed = std::max<std::int64_t>((now - seat.due) / seat.interval, 0);
  seat.due = due;
  {
    const platform::MutexLock lock(mutex_);
    seat.state.standing = standing;
    seat.state.problem = answer ? std::string() : core::PlainText(answer.error().message, " ");
    seat.state.last_duration = InSeconds(took);
    ++seat.state.asked;
    seat.state.errors += answer ? 0 : 1;
    seat.state.skipped += missed;
  }
  LogStanding(seat);
  seat.slow = took > kLong ? seat.slow + 1 : 0;
  if (seat.slow >= kLongInARow && !std::exchange(seat.slow_said, true)) {
    log_(fmt::format("{}: takes long: {:.0f} ms the last time; it may delay the others",
                     seat.state.name, InSeconds(took).value * 1e3));
  }
}

void Sampler::LogStanding(Seat& seat) {
  const CollectorState& state = seat.state;
  const nanoseconds now = clock_.Steady();
  if (state.standing == seat.said) return;
  if (seat.said != Standing::kNotAsked && now - seat.said_at < kSayAgain) return;
  const bool first = std::exchange(seat.said, state.standing) == Standing::kNotAsked;
  seat.said_at = now;
  switch (state.standing) {
    case Standing::kNotAsked:
      break;
    case Standing::kWorks:
      log_(fmt::format("{}: works{}", state.name, first ? "" : " again"));
      break;
    case Standing::kPartly:
      log_(fmt::format("{}: works in part: {}", state.name, state.problem));
      break;
    case Standing::kDown:
      log_(fmt::format("{}: down: {}", state.name, state.problem));
      break;
  }
}

void Sampler::Run(const std::stop_token& stop) {
  platform::Mutex mutex;
  std::condition_variable_any wake;
  platform::MutexLock lock(mutex);
  while (!stop.stop_requested()) {
    const auto pause = duration<double>(Step().value);
    wake.wait_for(lock, stop, pause, [] { return false; });
  }
}

AgentCost OwnCost() {
  AgentCost cost;
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    cost.cpu = core::Seconds(seconds(usage.ru_utime) + seconds(usage.ru_stime));
  }
  if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
    unsigned long long all = 0;
    unsigned long long resident = 0;
    if (std::fscanf(file, "%llu %llu", &all, &resident) == 2) {
      cost.resident =
          core::Bytes(static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)));
    }
    std::fclose(file);
  }
  return cost;
}

}  // namespace sharewell::control
