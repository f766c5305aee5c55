// PacedThreads: workers on threads of their own that share one schedule, so that a thread whose CPU
// is taken away does less and the others more.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/result.h"
#include "stress/pacer.h"
#include "stress/workers/worker.h"

namespace sharewell::stress {

double SteadySeconds();     // now, on the steady clock
double ThreadCpuSeconds();  // that the calling thread has run

struct PlacedWorker {
  std::unique_ptr<Worker> worker;
  std::vector<int> cpus;  // where its thread may run; empty: as its parent
};

class PacedThreads {
 public:
  struct Totals {
    double amount = 0;
    double busy_seconds = 0;  // in pieces, all threads together
    double cpu_seconds = 0;   // of that
    int active = 0;           // threads in use
    std::string trouble;      // the first error of a worker; empty: none
  };

  // At rest, when all workers are prepared; the first error otherwise.
  static core::Result<std::unique_ptr<PacedThreads>> Start(std::vector<PlacedWorker> workers);
  ~PacedThreads();
  PacedThreads(const PacedThreads&) = delete;
  PacedThreads& operator=(const PacedThreads&) = delete;

  // `threads` of them begin; more join when the schedule cannot be kept, one every 50 ms. Infinite:
  // flat out; 0: rest. The seconds start afresh.
  void SetRate(double rate, double piece, int threads);
  void RestartSeconds();
  std::vector<double> TakeSeconds();
  Totals Total();
  int size() const { return static_cast<int>(threads_.size()); }

 private:
  PacedThreads() = default;
  void Live(const std::stop_token& stop, int index, const PlacedWorker& placed);
  void Work(const std::stop_token& stop, int index, Worker& worker);
  void CallForHelp(double now);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  // All below under the mutex.
  Pacer pacer_;
  SecondSeries seconds_;
  Totals totals_;
  int epoch_ = 0;  // of the schedule: a reservation of an older one is void
  double helped_ = 0;
  int prepared_ = 0;
  core::Result<void> first_error_;

  std::vector<std::jthread> threads_;  // last: they end before what they use
};

}  // namespace sharewell::stress
