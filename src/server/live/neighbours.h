// The neighbours of a job over time: who was on its GPUs beside it, how fast it was then against
// alone, and what that cost it.
//
// NeighbourSampler writes what the service sees now as samples of the job, on a thread of its own;
// NeighboursJson reads them back, for a job that runs or is long over.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "control/service/job_service.h"
#include "core/metric.h"
#include "core/units.h"
#include "platform/mutex.h"
#include "store/store.h"

namespace sharewell::server {

// What is so at one moment: of every running job its measured speed, where it is known, and each
// job that shares a GPU with it.
core::Batch NeighboursNow(const control::ServiceView& view, const control::JobBoard& board,
                          core::UnixMillis now);

class NeighbourSampler {
 public:
  using Put = std::function<void(const std::shared_ptr<const core::Batch>&)>;  // must not wait
  // `service` outlives it. With more than a hundred readings it looks less often, so that a large
  // cluster writes no more than a small one.
  NeighbourSampler(const control::JobService& service, Put put,
                   core::Seconds every = core::Seconds(2));
  ~NeighbourSampler();
  NeighbourSampler(const NeighbourSampler&) = delete;
  NeighbourSampler& operator=(const NeighbourSampler&) = delete;

 private:
  void Work();

  const control::JobService& service_;
  const Put put_;
  const core::Seconds every_;
  platform::Mutex mutex_;
  std::condition_variable_any wake_;
  bool stop_ SHAREWELL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // the last: it uses all of the above
};

// A while in which the same jobs were beside it.
struct NeighbourSpan {
  core::UnixMillis from = 0, to = 0;
  std::vector<std::int64_t> jobs;    // rising; empty: it was alone
  core::Seconds measured;            // of it, the time in which its speed was known
  std::optional<core::Ratio> speed;  // over that time, against alone

  friend bool operator==(const NeighbourSpan&, const NeighbourSpan&) = default;
};

// As charts of the same range give them; by the neighbour's number.
struct NeighbourBuckets {
  std::vector<store::Bucket> speed;
  std::map<std::int64_t, std::vector<store::Bucket>> beside;
};
// In order of time. Pure. A time without samples belongs to no span.
std::vector<NeighbourSpan> NeighbourSpans(const NeighbourBuckets& buckets, core::UnixMillis end);

// GET /jobs/{number}/neighbours. Opens the store.
core::Result<std::string> NeighboursJson(const std::string& store, const core::JobRecord& job);

}  // namespace sharewell::server
