#include "http/meter.h"

#include <algorithm>
#include <ctime>

namespace sharewell::http {
namespace {

constexpr core::Seconds kMinute{60};

// How much of it goes each second.
double RateOf(core::Seconds per_minute) { return std::max(per_minute.value, 1e-3) / kMinute.value; }

core::Seconds ThreadTime() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return core::Seconds(static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9);
}

}  // namespace

void Meter::Charge(core::Seconds used) {
  const platform::MutexLock lock(mutex_);
  used_ += used;
}

core::Seconds Meter::Leak(core::Seconds per_minute, Time now) {
  if (leaked_) {
    const double passed = std::chrono::duration<double>(now - *leaked_).count();
    used_.value = std::max(0.0, used_.value - passed * RateOf(per_minute));
  }
  leaked_ = now;
  return used_;
}

core::Seconds Meter::Used(core::Seconds per_minute, Time now) {
  const platform::MutexLock lock(mutex_);
  return Leak(per_minute, now);
}

std::optional<core::Seconds> Meter::Wait(core::Seconds per_minute, Time now) {
  const platform::MutexLock lock(mutex_);
  const core::Seconds used = Leak(per_minute, now);
  if (used < per_minute) return std::nullopt;
  return core::Seconds(std::max(1.0, (used - per_minute).value / RateOf(per_minute)));
}

MeteredBlock::MeteredBlock(Meter* meter) : meter_(meter) {
  if (meter_ != nullptr) begin_ = ThreadTime();
}

MeteredBlock::~MeteredBlock() {
  if (meter_ != nullptr) meter_->Charge(ThreadTime() - begin_);
}

}  // namespace sharewell::http
