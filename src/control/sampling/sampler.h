// Sampler: asks each collector at its own interval, on one thread, and hands what they read to
// sinks.
//
// No collector can stop another: one that fails is counted, marked down and asked less and less
// often until it answers again; one that takes long is measured, said, and its missed ticks are
// skipped, never made up for in a burst. Intervals lie on one grid, so that one wake-up serves all
// that are due.
//
// Times are the steady clock plus an offset, so they rise; a wall clock that jumps by more than a
// second is said and followed (then alone they may go back), a small difference is worked off.
//
// One thread calls Step or Run; States may be called from any. Sinks and `say` are called on the
// sampling thread and must not wait.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "collect/collector.h"
#include "core/metric.h"
#include "core/units.h"
#include "platform/mutex.h"

namespace sharewell::control {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::nanoseconds Steady() = 0;  // since some moment; never goes back
  virtual core::UnixMillis Wall() = 0;
};
Clock& SystemClock();

struct CollectorState {
  enum class Standing { kNotAsked, kWorks, kPartly, kDown };
  std::string name;
  core::Seconds interval;
  Standing standing = Standing::kNotAsked;
  std::string problem;          // why it is partly or wholly down; empty: nothing
  core::Seconds last_duration;  // of its last answer
  std::int64_t asked = 0;
  std::int64_t errors = 0;   // answers that were an error, partly or wholly
  std::int64_t skipped = 0;  // ticks that passed while something took too long

  bool Up() const { return standing == Standing::kWorks || standing == Standing::kPartly; }
};

struct Watched {
  std::unique_ptr<collect::Collector> collector;
  core::Seconds interval;  // raised to the collector's floor
};

class Sampler {
 public:
  // The batch is shared, not copied: a page for Prometheus and the queue to the store hold the same
  // one, each for as long as it needs it. Empty when the collector is down.
  using Sink =
      std::function<void(const CollectorState&, const std::shared_ptr<const core::Batch>&)>;
  using Log = std::function<void(const std::string&)>;

  // REQUIRES: every interval above 0.
  Sampler(std::vector<Watched> watched, std::vector<Sink> sinks, Log log,
          Clock& clock = SystemClock());
  ~Sampler();

  // Asks whatever is due now. How long until the next one is.
  core::Seconds Step();
  // Steps until it is asked to stop.
  void Run(const std::stop_token& stop);

  std::vector<CollectorState> States() const;  // in the order they were given

 private:
  struct Seat;

  void Ask(Seat& seat);
  void Settle(Seat& seat, core::Result<void>&& answer, std::chrono::nanoseconds took, bool any);
  void LogStanding(Seat& seat);
  void FollowWallClock();
  core::UnixMillis Stamp();

  std::vector<std::unique_ptr<Seat>> seats_;
  std::vector<Sink> sinks_;
  Log log_;
  Clock& clock_;
  std::chrono::nanoseconds origin_;    // of the grid
  std::chrono::nanoseconds offset_;    // wall minus steady
  std::chrono::nanoseconds followed_;  // when the wall clock was last looked at
  mutable platform::Mutex
      mutex_;  // every Seat::state is written with it held, and read so elsewhere
};

// What this process has cost so far.
struct AgentCost {
  core::Seconds cpu;
  std::optional<core::Bytes> resident;
};
AgentCost OwnCost();

}  // namespace sharewell::control
