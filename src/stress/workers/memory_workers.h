// Workers for memory bandwidth and for the last-level cache.
#pragma once

#include <memory>
#include <vector>

#include "stress/cpu_caches.h"
#include "stress/paced_threads.h"

namespace sharewell::stress {

// Bandwidth: a thread for every CPU. Those behind one cache copy one half of a buffer onto the
// other, both together four times as large as the cache, taking turns chunk by chunk, so that even
// a single thread walks all of it. Amounts are bytes read plus bytes written.
//
// Every word of the target half is the source's (kSourceByte in each byte) plus the number of the
// pass, from 1 on: whoever can read this process's memory can count what was written.
inline constexpr unsigned char kSourceByte = 0x5a;
inline constexpr double kCopyQuantum = 256.0 * 1024;  // bytes moved: amounts are multiples of it

core::Result<std::vector<PlacedWorker>> MemoryWorkers(const std::vector<CacheDomain>& domains);
double MemoryBufferBytes(const std::vector<CacheDomain>& domains);  // of all of them together

// Cache: a thread for every last-level cache, which touches the lines of its working set in
// scattered order, each once a round. Amounts are bytes: kLine for a touch.
class CacheLoad {
 public:
  virtual ~CacheLoad() = default;
  // The part of each domain's memory that is walked: 0 < share <= 1. From any thread.
  virtual void SetShare(double share) = 0;
};

struct CacheWorkersMade {
  std::vector<PlacedWorker> workers;
  std::shared_ptr<CacheLoad> load;
};
// REQUIRES: every domain has a size.
core::Result<CacheWorkersMade> CacheWorkers(const std::vector<CacheDomain>& domains);

}  // namespace sharewell::stress
