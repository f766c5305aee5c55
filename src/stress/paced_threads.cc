#include "stress/paced_threads.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <exception>
#include <system_error>

namespace sharewell::stress {
namespace {

constexpr double kLate = 0.02;         // seconds behind the schedule, and another thread joins
constexpr double kBetweenHelp = 0.05;  // seconds from one to the next

// Signals are for the threads of the caller.
void TakeNoSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

core::Result<void> StayOn(const std::vector<int>& cpus) {
  if (cpus.empty()) return {};
  const int most = *std::max_element(cpus.begin(), cpus.end()) + 1;
  cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(most));
  if (set == nullptr) return core::FailedError("out of memory");
  const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(most));
  CPU_ZERO_S(size, set);
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), size, set);
  const int error = ::sched_setaffinity(0, size, set) == 0 ? 0 : errno;
  CPU_FREE(set);
  if (error == 0) return {};
  return core::FailedError("cannot keep a thread on its CPUs: {}", std::strerror(error));
}

std::chrono::steady_clock::time_point TimeOf(double seconds) {
  return std::chrono::steady_clock::time_point(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(
          std::chrono::duration<double>(seconds)));
}

}  // namespace

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double ThreadCpuSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

core::Result<std::unique_ptr<PacedThreads>> PacedThreads::Start(std::vector<PlacedWorker> workers) {
  std::unique_ptr<PacedThreads> self(new PacedThreads);
  const int count = static_cast<int>(workers.size());
  try {
    for (int i = 0; i < count; ++i) {
      self->threads_.emplace_back(
          [me = self.get(), i, placed = std::move(workers[static_cast<std::size_t>(i)])](
              const std::stop_token& stop) { me->Live(stop, i, placed); });
    }
  } catch (const std::system_error& error) {
    return core::FailedError("cannot start a thread: {}; ask for fewer CPUs with --cpus",
                             error.what());
  }
  std::unique_lock lock(self->mutex_);
  self->changed_.wait(lock, [&] { return self->prepared_ == count || !self->first_error_; });
  if (!self->first_error_) {
    core::Error error = self->first_error_.error();
    lock.unlock();
    return tl::unexpected(std::move(error));
  }
  return self;
}

PacedThreads::~PacedThreads() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

void PacedThreads::SetRate(double rate, double piece, int threads) {
  const std::scoped_lock lock(mutex_);
  const double now = SteadySeconds();
  pacer_.SetRate(rate, piece, now);
  seconds_.Restart(now);
  totals_.active = std::clamp(threads, 1, size());
  helped_ = now;
  ++epoch_;
  changed_.notify_all();
}

void PacedThreads::RestartSeconds() {
  const std::scoped_lock lock(mutex_);
  seconds_.Restart(SteadySeconds());
}

std::vector<double> PacedThreads::TakeSeconds() {
  const std::scoped_lock lock(mutex_);
  return seconds_.Take(SteadySeconds());
}

PacedThreads::Totals PacedThreads::Total() {
  const std::scoped_lock lock(mutex_);
  return totals_;
}

void PacedThreads::Live(const std::stop_token& stop, int index, const PlacedWorker& placed) {
  TakeNoSignals();
  core::Result<void> ready = StayOn(placed.cpus);
  try {
    if (ready) ready = placed.worker->Prepare();
  } catch (const std::exception& error) {
    ready = core::FailedError("out of memory ({})", error.what());
  }
  {
    const std::scoped_lock lock(mutex_);
    ++prepared_;
    if (!ready && first_error_) first_error_ = ready;
    changed_.notify_all();
  }
  if (ready) Work(stop, index, *placed.worker);
}

void PacedThreads::Work(const std::stop_token& stop, int index, Worker& worker) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (index >= totals_.active) {
      changed_.wait(lock, stop, [&] { return index < totals_.active; });
      continue;
    }
    const double asked = SteadySeconds();
    CallForHelp(asked);
    const int epoch = epoch_;
    const double due = pacer_.Reserve(asked);
    const double piece = pacer_.piece();
    const auto replaced = [&] { return epoch_ != epoch; };
    if (std::isinf(due)) {
      changed_.wait(lock, stop, replaced);
      continue;
    }
    if (due > asked && changed_.wait_until(lock, stop, TimeOf(due), replaced)) continue;
    if (stop.stop_requested()) return;
    lock.unlock();
    const double from = SteadySeconds();
    const double cpu = ThreadCpuSeconds();
    const auto done = worker.Do(piece);
    const double cpu_used = ThreadCpuSeconds() - cpu;
    const double to = SteadySeconds();
    lock.lock();
    if (!done) {
      if (totals_.trouble.empty()) totals_.trouble = done.error().message;
      return;
    }
    totals_.amount += *done;
    totals_.busy_seconds += to - from;
    totals_.cpu_seconds += cpu_used;
    seconds_.Add(from, to, *done);
  }
}

// A schedule that lags has more to do than its threads can.
void PacedThreads::CallForHelp(double now) {
  if (totals_.active >= size() || pacer_.Lag(now) < kLate || now - helped_ < kBetweenHelp) return;
  ++totals_.active;
  helped_ = now;
  changed_.notify_all();
}

}  // namespace sharewell::stress
