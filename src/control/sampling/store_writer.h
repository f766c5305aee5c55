// StoreWriter: takes batches from the sampler and writes them to a store on a thread of its own,
// so that a slow disk or a lost server never delays sampling.
//
// What waits is bounded in bytes; above the bound the oldest batch goes, and is counted. Errors are
// said once, when the state changes, and tried again; the store reconnects by itself, and what
// waited is written then. What was put before Stop is durable when Stop returns, if the store lets
// it be.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "core/job/job_told.h"
#include "core/metric.h"
#include "core/result.h"
#include "core/units.h"
#include "platform/mutex.h"
#include "store/store.h"

namespace sharewell::control {

struct StoreWriterOptions {
  core::Seconds sync{5};
  core::Seconds tidy{3600};
  std::size_t most_bytes = std::size_t{12} << 20;
  store::Retention retention = {};
};

struct StoreWriterState {
  bool up = false;           // the last attempt to write succeeded
  std::string problem;       // why not
  std::int64_t written = 0;  // readings that are durable
  std::int64_t dropped = 0;  // readings that had to go
  std::size_t waiting_bytes = 0;
};

class StoreWriter {
 public:
  using Open = std::function<core::Result<std::unique_ptr<store::Store>>()>;
  using Log = std::function<void(const std::string&)>;

  // `store` may be null: `open` is asked for one until it has one. `say` is called on the writer's
  // thread.
  StoreWriter(std::string node, std::unique_ptr<store::Store> store, Open open, Log log,
              const StoreWriterOptions& options = {});
  ~StoreWriter();
  StoreWriter(const StoreWriter&) = delete;
  StoreWriter& operator=(const StoreWriter&) = delete;

  void Put(const std::shared_ptr<const core::Batch>& batch);  // never waits
  // Likewise, and written at once. Of each job the newest; more than 64 jobs are not held.
  void PutTold(core::JobTold told);
  // Writes what waits, once, and ends the thread. Later calls do nothing.
  void Stop();
  StoreWriterState State() const;

 private:
  struct Waiting {
    std::shared_ptr<const core::Batch> batch;
    std::size_t bytes = 0;
  };

  void Work();
  core::Result<void> AppendAndSync();
  core::Result<void> SaveTold();
  core::Result<void> Sync();
  void Settle(const core::Result<void>& outcome);
  void TidyWhenDue();
  bool Bound() SHAREWELL_REQUIRES(mutex_);  // whether something had to go

  const std::string node_;
  const Open open_;
  const Log log_;
  const StoreWriterOptions options_;
  std::unique_ptr<store::Store> store_;  // the writer's thread alone
  std::chrono::steady_clock::time_point tidied_;
  std::int64_t appended_ = 0;  // not durable yet
  bool said_up_ = true, said_full_ = false;
  std::int64_t said_dropped_ = 0;

  mutable platform::Mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Waiting> queue_ SHAREWELL_GUARDED_BY(mutex_);
  StoreWriterState state_ SHAREWELL_GUARDED_BY(mutex_);
  std::map<std::string, core::JobTold> told_ SHAREWELL_GUARDED_BY(mutex_);  // by job
  bool told_anew_ SHAREWELL_GUARDED_BY(mutex_) = false;
  bool stop_ SHAREWELL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // the last: it uses all of the above
};

}  // namespace sharewell::control
