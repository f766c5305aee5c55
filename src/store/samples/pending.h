// Pending: what was appended and is not durable yet, within bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/metric.h"
#include "core/result.h"
#include "store/store.h"

namespace sharewell::store {

// Above this Append fails: four million points, two hours of 500 series at 1 Hz.
constexpr std::size_t kMostPendingBytes = 64 * 1024 * 1024;

struct PendingSeries {
  SeriesKey key;
  std::string unit;
  core::MetricKind kind = core::MetricKind::kGauge;
  std::int64_t id = 0;              // in the store; 0: not asked yet
  std::vector<core::Point> points;  // as they came
};

// One node's series. Those without points are kept for a while: their ids need not be asked again.
class PendingNode {
 public:
  explicit PendingNode(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  std::vector<PendingSeries>& series() { return series_; }
  const std::vector<PendingSeries>& series() const { return series_; }
  const PendingSeries* Find(const SeriesKey& key) const;
  std::size_t points() const { return points_; }
  std::size_t bytes() const { return bytes_; }

  void Add(const core::Batch& batch);
  // All points are durable.
  void Clear();
  void ForgetIds();

 private:
  PendingSeries& Series(const core::Reading& reading);
  void DropIdle();

  std::string name_;
  std::vector<PendingSeries> series_;
  std::unordered_map<std::string, std::size_t> index_;
  std::size_t next_ = 0;  // batches repeat: the series after the one before is tried first
  std::size_t points_ = 0, bytes_ = 0;
  std::string scratch_;
};

class Pending {
 public:
  // Fails, with nothing taken, where that would be above `most` bytes.
  explicit Pending(std::size_t most = kMostPendingBytes) : most_(most) {}

  core::Result<void> Add(const std::string& node, const core::Batch& batch,
                         const std::string& where);
  std::map<std::string, PendingNode>& nodes() { return nodes_; }
  const std::map<std::string, PendingNode>& nodes() const { return nodes_; }

 private:
  std::size_t most_;
  std::map<std::string, PendingNode> nodes_;
};

// Names as a store can keep them: control characters and broken UTF-8 become '?', at most 1,000
// bytes. Two names that differ in such alone are one.
std::string StoredName(std::string_view name);

}  // namespace sharewell::store
