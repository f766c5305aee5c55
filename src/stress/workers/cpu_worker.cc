#include "stress/workers/cpu_worker.h"

#include <algorithm>
#include <cstdint>

namespace sharewell::stress {
namespace {

constexpr int kSteps = 2000;  // between two looks at the clock: some microseconds
// What a thread may owe or have in hand for pieces that were too long or too short.
constexpr double kMostOwed = 0.01;  // seconds

class BusyWorker : public Worker {
 public:
  core::Result<void> Prepare() override {
    counted_ = ThreadCpuSeconds();
    wanted_ = counted_;
    return {};
  }

  core::Result<double> Do(double amount) override {
    double now = ThreadCpuSeconds();
    // Waking up has cost something already; it is part of this piece.
    wanted_ = std::max(wanted_, now - kMostOwed) + amount;
    std::uint64_t state = 1;
    while (now < wanted_) {
      for (int i = 0; i < kSteps; ++i) state = state * 6364136223846793005U + 1442695040888963407U;
      asm volatile("" : "+r"(state));
      now = ThreadCpuSeconds();
    }
    const double done = now - counted_;
    counted_ = now;
    return done;
  }

 private:
  double counted_ = 0;  // CPU time that was reported
  double wanted_ = 0;   // CPU time that there should be
};

}  // namespace

std::vector<PlacedWorker> CpuWorkers(const std::vector<int>& cpus) {
  std::vector<PlacedWorker> out;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    out.push_back({std::make_unique<BusyWorker>(), cpus});
  }
  return out;
}

}  // namespace sharewell::stress
