#include "stress/workers/memory_workers.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>

#include "core/result.h"
#include "stress/workers/host_memory.h"
#include "stress/workers/stream_copy.h"

namespace sharewell::stress {
namespace {

constexpr std::size_t kChunk = 128 * 1024;  // bytes copied; twice that is moved: kCopyQuantum
constexpr double kTimesCache = 4;
constexpr double kUnknownCache = 64.0 * 1024 * 1024;  // assumed when the machine does not say
constexpr double kLeastBuffer = 64.0 * 1024 * 1024;

double BufferBytes(const CacheDomain& domain) {
  return std::max(kLeastBuffer, kTimesCache * domain.bytes.value_or(kUnknownCache));
}

// The buffer of one domain, shared by its threads.
struct CopyRing {
  std::size_t size = 0;
  std::once_flag once;
  HostMemory memory;
  core::Result<void> made;
  std::size_t chunks = 0;
  std::atomic<std::uint64_t> next = 0;
  // A thread that was held up for a whole pass still has its chunk: nobody else writes it then.
  std::vector<std::atomic_flag> taken;

  // By the first of its threads, so that its pages are where that thread runs.
  core::Result<void> Make() {
    std::call_once(once, [this] {
      auto mapped = HostMemory::Map(size);
      if (!mapped) {
        made = tl::unexpected(mapped.error());
        return;
      }
      memory = std::move(*mapped);
      std::memset(memory.data(), kSourceByte, memory.size());
      chunks = memory.size() / 2 / kChunk;
      taken = std::vector<std::atomic_flag>(chunks);
    });
    return made;
  }
};

class CopyWorker : public Worker {
 public:
  explicit CopyWorker(std::shared_ptr<CopyRing> ring) : ring_(std::move(ring)) {}

  core::Result<void> Prepare() override { return ring_->Make(); }

  core::Result<double> Do(double amount) override {
    const auto count = static_cast<std::uint64_t>(std::max(1.0, std::round(amount / kCopyQuantum)));
    std::byte* const from = ring_->memory.data();
    std::byte* const to = from + ring_->memory.size() / 2;
    for (std::uint64_t done = 0; done < count;) {
      const std::uint64_t turn = ring_->next.fetch_add(1, std::memory_order_relaxed);
      const std::size_t chunk = turn % ring_->chunks;
      if (ring_->taken[chunk].test_and_set(std::memory_order_acquire)) continue;
      const std::size_t offset = chunk * kChunk;
      StreamCopy(to + offset, from + offset, kChunk, turn / ring_->chunks + 1);
      ring_->taken[chunk].clear(std::memory_order_release);
      ++done;
    }
    return static_cast<double>(count) * kCopyQuantum;
  }

 private:
  std::shared_ptr<CopyRing> ring_;
};

class CacheShare : public CacheLoad {
 public:
  void SetShare(double share) override { share_.store(share, std::memory_order_relaxed); }
  double share() const { return share_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> share_ = 1;
};

class TouchWorker : public Worker {
 public:
  TouchWorker(double bytes, std::shared_ptr<CacheShare> load)
      : all_lines_(static_cast<std::size_t>(bytes) / kLine), load_(std::move(load)) {}

  core::Result<void> Prepare() override {
    auto mapped = HostMemory::Map(all_lines_ * kLine);
    RETURN_IF_ERROR(mapped);
    memory_ = std::move(*mapped);
    std::memset(memory_.data(), kSourceByte, all_lines_ * kLine);
    return {};
  }

  core::Result<double> Do(double amount) override {
    if (const double share = load_->share(); share != share_) {
      share_ = share;
      lines_ = std::clamp<std::size_t>(
          static_cast<std::size_t>(std::llround(static_cast<double>(all_lines_) * share)), 1,
          all_lines_);
      stride_ = ScatterStride(lines_);
      at_ = 0;
    }
    const auto touches = static_cast<std::size_t>(std::max(1.0, amount / kLine));
    at_ = TouchLines(memory_.data(), lines_, stride_, at_, touches);
    return static_cast<double>(touches * kLine);
  }

 private:
  std::size_t all_lines_;
  std::shared_ptr<CacheShare> load_;
  HostMemory memory_;
  double share_ = 0;
  std::size_t lines_ = 1;
  std::size_t stride_ = 1;
  std::size_t at_ = 0;
};

}  // namespace

double MemoryBufferBytes(const std::vector<CacheDomain>& domains) {
  double total = 0;
  for (const CacheDomain& domain : domains) total += BufferBytes(domain);
  return total;
}

core::Result<std::vector<PlacedWorker>> MemoryWorkers(const std::vector<CacheDomain>& domains) {
  std::vector<std::shared_ptr<CopyRing>> rings;
  std::size_t most = 0;
  for (const CacheDomain& domain : domains) {
    rings.push_back(std::make_shared<CopyRing>());
    rings.back()->size = static_cast<std::size_t>(BufferBytes(domain));
    most = std::max(most, domain.cpus.size());
  }
  // In turns, so that the first few threads already press on every cache's memory.
  std::vector<PlacedWorker> out;
  for (std::size_t i = 0; i < most; ++i) {
    for (std::size_t d = 0; d < domains.size(); ++d) {
      if (i >= domains[d].cpus.size()) continue;
      out.push_back({std::make_unique<CopyWorker>(rings[d]), domains[d].cpus});
    }
  }
  return out;
}

core::Result<CacheWorkersMade> CacheWorkers(const std::vector<CacheDomain>& domains) {
  auto load = std::make_shared<CacheShare>();
  CacheWorkersMade made{{}, load};
  for (const CacheDomain& domain : domains) {
    made.workers.push_back(
        {std::make_unique<TouchWorker>(domain.bytes.value(), load), domain.cpus});
  }
  return made;
}

}  // namespace sharewell::stress
