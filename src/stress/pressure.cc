#include "stress/pressure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "core/result.h"
#include "stress/kinds.h"

namespace sharewell::stress {
namespace {

using core::Result;
using core::UsageError;

constexpr double kFlatOut = std::numeric_limits<double>::infinity();
constexpr double kWarm = 0.1;    // seconds before a measurement counts
constexpr double kWindow = 0.2;  // seconds of one measurement
constexpr int kWindows = 5;
constexpr double kSettleIn = 0.3;   // seconds until readings count
constexpr double kBeyond = 1.05;    // of capacity: what is refused
constexpr double kHeadroom = 1.15;  // of the work that one thread is given

void SleepFor(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// The rate over a time in which nothing else is asked of the threads.
Result<double> Measured(PacedThreads& threads, double seconds) {
  const auto before = threads.Total();
  const double began = SteadySeconds();
  SleepFor(seconds);
  const auto after = threads.Total();
  if (!after.trouble.empty()) return core::FailedError("{}", after.trouble);
  return (after.amount - before.amount) / (SteadySeconds() - began);
}

Result<Capacity> Measure(PacedThreads& threads, PressureKind kind) {
  const double piece = PiecesOf(kind).most;
  Capacity out;
  threads.SetRate(kFlatOut, piece, 1);
  SleepFor(kWarm);
  const auto one = Measured(threads, kWindow);
  RETURN_IF_ERROR(one);
  out.one_thread = *one;
  threads.SetRate(kFlatOut, piece, threads.size());
  SleepFor(kWarm);
  std::vector<double> rates;
  for (int i = 0; i < kWindows; ++i) {
    const auto rate = Measured(threads, kWindow);
    RETURN_IF_ERROR(rate);
    rates.push_back(*rate);
  }
  threads.SetRate(0, piece, 1);
  std::sort(rates.begin(), rates.end());
  out.value = rates[rates.size() / 2];
  if (out.value <= 0) {
    return core::FailedError("nothing at all was moved in {} s; is it stuck?", kWindow * kWindows);
  }
  out.spread = (rates.back() - rates.front()) / out.value;
  return out;
}

class PacedPressure : public Pressure {
 public:
  static Result<std::unique_ptr<PacedPressure>> Make(const PressureSpec& spec) {
    auto made = MakeKind(spec);
    RETURN_IF_ERROR(made);
    std::unique_ptr<PacedPressure> self(new PacedPressure);
    self->kind_ = spec.kind;
    auto threads = PacedThreads::Start(std::move(made->workers));
    RETURN_IF_ERROR(threads);
    self->threads_ = std::move(*threads);
    self->made_ = std::move(*made);
    if (self->made_.known_capacity) {
      self->capacity_ = {*self->made_.known_capacity, std::nullopt, std::nullopt};
    } else if (spec.capacity) {
      self->capacity_ = *spec.capacity;
    } else {
      auto measured = Measure(*self->threads_, spec.kind);
      RETURN_IF_ERROR(measured);
      self->capacity_ = *measured;
    }
    return self;
  }

  void Run() override {
    running_ = true;
    Apply();
    SleepFor(kSettleIn);
    Restart();
  }

  void Rest() override {
    running_ = false;
    threads_->SetRate(0, PiecesOf(kind_).most, 1);
    Restart();
  }

  Result<void> SetLevel(Level level) override {
    double value = level.value;
    if (level.basis == Level::Basis::kShare) {
      if (!(value > 0) || value > 1) {
        return UsageError("{}: a share of {} is not allowed; it is more than 0 and at most 1",
                          NameOf(kind_), value);
      }
      value *= capacity_.value;
    }
    const double least = PiecesOf(kind_).least_level;
    if (!(value >= least)) {
      return UsageError("{}: {} is too little to be held steady; the least is {}", NameOf(kind_),
                        ShowLevel(kind_, value), ShowLevel(kind_, least));
    }
    if (value > capacity_.value * (capacity_.spread ? kBeyond : 1)) {
      return UsageError("{}: {} is more than there is; {} {}{}", NameOf(kind_),
                        ShowLevel(kind_, value),
                        capacity_.spread ? "flat out it reached just now" : "this machine has",
                        ShowLevel(kind_, capacity_.value),
                        capacity_.spread ? " (if others use it too, try when they do not)" : "");
    }
    target_ = value;
    if (made_.cache != nullptr) made_.cache->SetShare(std::min(1.0, value / capacity_.value));
    if (running_) Apply();
    Restart();
    return {};
  }

  PressureReading Read() override {
    PressureReading reading;
    const auto total = threads_->Total();
    const double now = SteadySeconds();
    reading.target = target_;
    reading.seconds = now - read_at_;
    if (reading.seconds > 0) {
      reading.achieved = (total.amount - read_.amount) / reading.seconds / made_.rate_of_level;
    }
    for (const double amount : threads_->TakeSeconds()) {
      reading.per_second.push_back(amount / made_.rate_of_level);
    }
    if (const double busy = total.busy_seconds - read_.busy_seconds; busy > 0) {
      reading.cpu_share = (total.cpu_seconds - read_.cpu_seconds) / busy;
    }
    reading.trouble = total.trouble;
    read_ = total;
    read_at_ = now;
    return reading;
  }

  PressureKind kind() const override { return kind_; }
  double target() const override { return target_; }
  const Capacity& capacity() const override { return capacity_; }
  std::string Describe() const override {
    const int active = threads_->Total().active;
    return fmt::format("{}; {} thread{}", made_.what, active, active == 1 ? "" : "s");
  }

 private:
  PacedPressure() = default;

  void Apply() {
    const double rate = target_ * made_.rate_of_level;
    const Pieces pieces = PiecesOf(kind_);
    const double piece =
        std::clamp(std::round(rate * pieces.part / pieces.quantum) * pieces.quantum, pieces.quantum,
                   pieces.most);
    threads_->SetRate(rate, piece, FirstThreads());
  }

  // As few as should do; more join when these cannot keep up.
  int FirstThreads() const {
    if (kind_ == PressureKind::kLastLevelCache) return threads_->size();
    if (kind_ == PressureKind::kCpu) return static_cast<int>(std::ceil(target_ - 1e-9));
    const double each = capacity_.one_thread.value_or(capacity_.value / threads_->size());
    return static_cast<int>(std::ceil(std::min(1e6, kHeadroom * target_ / each)));
  }

  void Restart() {
    threads_->RestartSeconds();
    read_ = threads_->Total();
    read_at_ = SteadySeconds();
  }

  PressureKind kind_ = PressureKind::kCpu;
  MadeKind made_;
  std::unique_ptr<PacedThreads> threads_;
  Capacity capacity_;
  double target_ = 0;
  bool running_ = false;
  PacedThreads::Totals read_;  // at the reading before
  double read_at_ = 0;
};

}  // namespace

Result<std::unique_ptr<Pressure>> Pressure::Prepare(const PressureSpec& spec) {
  auto made = PacedPressure::Make(spec);
  if (!made) return tl::unexpected(std::move(made.error()).Within(std::string(NameOf(spec.kind))));
  RETURN_IF_ERROR((*made)->SetLevel(spec.level));
  return std::unique_ptr<Pressure>(std::move(*made));
}

Result<std::unique_ptr<Pressure>> Pressure::Start(const PressureSpec& spec) {
  auto prepared = Prepare(spec);
  if (prepared) (*prepared)->Run();
  return prepared;
}

Result<Capacity> Calibrate(const PressureSpec& spec) {
  PressureSpec alone = spec;
  alone.capacity = std::nullopt;
  auto made = PacedPressure::Make(alone);
  if (!made) return tl::unexpected(std::move(made.error()).Within(std::string(NameOf(spec.kind))));
  return (*made)->capacity();
}

}  // namespace sharewell::stress
