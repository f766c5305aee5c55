#include "control/sampling/store_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/result.h"
#include "platform/clock/wall_clock.h"

namespace sharewell::control {
namespace {

using SteadyClock = std::chrono::steady_clock;

SteadyClock::duration Span(core::Seconds time) {
  return std::chrono::duration_cast<SteadyClock::duration>(
      std::chrono::duration<double>(time.value));
}

constexpr std::size_t kMostJobsTold = 64;

// About what a batch takes in memory.
std::size_t BytesOf(const core::Batch& batch) {
  std::size_t bytes = sizeof(batch) + batch.readings.capacity() * sizeof(core::Reading);
  for (const core::Reading& reading : batch.readings) {
    for (const std::string* text : {&reading.instance, &reading.job}) {
      if (text->capacity() > std::string().capacity()) bytes += text->capacity() + 1;
    }
  }
  return bytes;
}

}  // namespace

StoreWriter::StoreWriter(std::string node, std::unique_ptr<store::Store> store, Open open, Log log,
                         const StoreWriterOptions& options)
    : node_(std::move(node)),
      open_(std::move(open)),
      log_(std::move(log)),
      options_(options),
      store_(std::move(store)),
      // The first time soon after the start: an agent that never lives an hour tidies too.
      tidied_(SteadyClock::now() - Span(options_.tidy) + Span(options_.sync) * 6) {
  thread_ = std::thread([this] { Work(); });
}

StoreWriter::~StoreWriter() { Stop(); }

bool StoreWriter::Bound() {
  bool went = false;
  while (state_.waiting_bytes > options_.most_bytes && !queue_.empty()) {
    state_.waiting_bytes -= queue_.front().bytes;
    state_.dropped += static_cast<std::int64_t>(queue_.front().batch->readings.size());
    queue_.pop_front();
    went = true;
  }
  return went;
}

void StoreWriter::Put(const std::shared_ptr<const core::Batch>& batch) {
  if (batch->readings.empty()) return;
  const std::size_t bytes = BytesOf(*batch);
  const platform::MutexLock lock(mutex_);
  if (stop_) return;
  const bool half_before = state_.waiting_bytes > options_.most_bytes / 2;
  queue_.push_back({batch, bytes});
  state_.waiting_bytes += bytes;
  Bound();
  // Normally the writer wakes by itself; a flood does not wait for that.
  if (!half_before && state_.waiting_bytes > options_.most_bytes / 2) wake_.notify_one();
}

void StoreWriter::PutTold(core::JobTold told) {
  const platform::MutexLock lock(mutex_);
  if (stop_ || (told_.size() >= kMostJobsTold && !told_.contains(told.job))) return;
  const std::string job = told.job;
  told_[job] = std::move(told);
  told_anew_ = true;
  wake_.notify_one();
}

StoreWriterState StoreWriter::State() const {
  const platform::MutexLock lock(mutex_);
  return state_;
}

void StoreWriter::Stop() {
  {
    const platform::MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void StoreWriter::Work() {
  bool last = false;
  while (!last) {
    {
      platform::MutexLock lock(mutex_);
      // Once for a flood, not again and again while the store fails.
      const bool flooded = state_.waiting_bytes > options_.most_bytes / 2;
      wake_.wait_until(lock, SteadyClock::now() + Span(options_.sync),
                       [&]() SHAREWELL_REQUIRES(mutex_) {
                         return stop_ || told_anew_ ||
                                (!flooded && state_.waiting_bytes > options_.most_bytes / 2);
                       });
      last = stop_;
      told_anew_ = false;
    }
    Settle(AppendAndSync());
    if (!last) TidyWhenDue();
  }
}

core::Result<void> StoreWriter::AppendAndSync() {
  if (!store_) {
    auto opened = open_();
    RETURN_IF_ERROR(opened);
    store_ = std::move(*opened);
  }
  std::deque<Waiting> taken;
  {
    const platform::MutexLock lock(mutex_);
    taken.swap(queue_);
    state_.waiting_bytes = 0;
  }
  core::Result<void> outcome;
  while (!taken.empty()) {
    outcome = store_->Append(node_, *taken.front().batch);
    if (!outcome) {
      // The store holds all that it can. Written out, it has room again; else these wait here.
      outcome = Sync();
      if (outcome) outcome = store_->Append(node_, *taken.front().batch);
      if (!outcome) break;
    }
    appended_ += static_cast<std::int64_t>(taken.front().batch->readings.size());
    taken.pop_front();
  }
  if (!taken.empty()) {
    const platform::MutexLock lock(mutex_);
    while (!taken.empty()) {
      state_.waiting_bytes += taken.back().bytes;
      queue_.push_front(std::move(taken.back()));
      taken.pop_back();
    }
    Bound();
  }
  if (outcome) outcome = Sync();
  return outcome ? SaveTold() : outcome;
}

// Each waits until it is saved, or something newer of its job has come.
core::Result<void> StoreWriter::SaveTold() {
  core::Result<void> outcome;
  while (outcome) {
    core::JobTold next;
    {
      const platform::MutexLock lock(mutex_);
      if (told_.empty()) break;
      next = told_.begin()->second;
    }
    outcome = store_->SaveTold(node_, next);
    const platform::MutexLock lock(mutex_);
    const auto saved = told_.find(next.job);
    if (outcome && saved->second == next) told_.erase(saved);
  }
  return outcome;
}

core::Result<void> StoreWriter::Sync() {
  auto outcome = store_->Sync();
  if (outcome) {
    const platform::MutexLock lock(mutex_);
    state_.written += std::exchange(appended_, 0);
  }
  return outcome;
}

void StoreWriter::Settle(const core::Result<void>& outcome) {
  std::int64_t dropped = 0;
  {
    const platform::MutexLock lock(mutex_);
    state_.up = outcome.has_value();
    state_.problem = outcome ? std::string() : outcome.error().message;
    dropped = state_.dropped;
  }
  if (!outcome && std::exchange(said_up_, false)) {
    log_(fmt::format("store: {}; what is read waits in memory, at most {} MB, and is tried again",
                     outcome.error().message, options_.most_bytes >> 20));
  }
  const bool dropping = dropped > said_dropped_;
  if (dropping && !std::exchange(said_full_, true)) {
    log_("store: too much waits for it; the oldest samples are dropped from now on");
  }
  if (outcome && !std::exchange(said_up_, true)) {
    log_("store: written to again; what waited is in it");
  }
  if (outcome && std::exchange(said_full_, false)) {
    log_(fmt::format("store: {} samples were lost", dropped - said_dropped_));
    said_dropped_ = dropped;
  }
}

void StoreWriter::TidyWhenDue() {
  if (!store_ || SteadyClock::now() - tidied_ < Span(options_.tidy)) return;
  tidied_ = SteadyClock::now();
  if (const auto tidied = store_->Tidy(platform::UnixNow(), options_.retention); !tidied) {
    log_(fmt::format("store: could not be tidied: {}", tidied.error().message));
  }
}

}  // namespace sharewell::control
