#include "store/samples/pending.h"

#include <algorithm>
#include <utility>

#include "core/text/plain_text.h"
#include "core/text/quoted.h"
#include "store/samples/slot.h"

namespace sharewell::store {
namespace {

constexpr std::size_t kMostName = 1000;
constexpr std::size_t kIdleKept = 1024;
constexpr std::size_t kReserveKept = 256;

bool IsStorable(std::string_view name) {
  return name.size() <= kMostName &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

// What a series takes: its entry, its names twice, room for its points.
std::size_t Weight(const PendingSeries& series) {
  const SeriesKey& key = series.key;
  return sizeof(PendingSeries) + 100 +
         2 * (key.metric.size() + key.instance.size() + key.job.size()) +
         series.points.capacity() * sizeof(core::Point);
}

void IndexName(std::string_view metric, std::string_view instance, std::string_view job,
               std::string& name) {
  name.assign(metric);
  name += '\0';
  name += instance;
  name += '\0';
  name += job;
}

}  // namespace

std::string StoredName(std::string_view name) {
  std::string stored;
  while (!name.empty() && stored.size() < kMostName) {
    // PostgreSQL refuses what is not well-formed.
    const std::size_t length = core::PlainLength(name);
    if (stored.size() + length > kMostName) break;
    stored += length == 0 ? std::string_view("?") : name.substr(0, length);
    name.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return stored;
}

const PendingSeries* PendingNode::Find(const SeriesKey& key) const {
  std::string name;
  IndexName(key.metric, key.instance, key.job, name);
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &series_[found->second];
}

PendingSeries& PendingNode::Series(const core::Reading& reading) {
  if (next_ < series_.size()) {
    const SeriesKey& key = series_[next_].key;
    if (key.metric == reading.metric->name && key.instance == reading.instance &&
        key.job == reading.job) {
      return series_[next_++];
    }
  }
  const bool plain =
      IsStorable(reading.metric->name) && IsStorable(reading.instance) && IsStorable(reading.job);
  if (plain) {
    IndexName(reading.metric->name, reading.instance, reading.job, scratch_);
  } else {
    IndexName(StoredName(reading.metric->name), StoredName(reading.instance),
              StoredName(reading.job), scratch_);
  }
  const auto [entry, is_new] = index_.try_emplace(scratch_, series_.size());
  if (is_new) {
    PendingSeries& made = series_.emplace_back();
    made.key = {name_, StoredName(reading.metric->name), StoredName(reading.instance),
                StoredName(reading.job)};
    made.unit = StoredName(reading.metric->unit);
    made.kind = reading.metric->kind;
    bytes_ += Weight(made);
  }
  next_ = entry->second + 1;
  return series_[entry->second];
}

void PendingNode::Add(const core::Batch& batch) {
  next_ = 0;
  for (const core::Reading& reading : batch.readings) {
    auto& points = Series(reading).points;
    const std::size_t room = points.capacity();
    points.push_back({batch.time, reading.value});
    bytes_ += (points.capacity() - room) * sizeof(core::Point);
  }
  points_ += batch.readings.size();
}

void PendingNode::Clear() {
  DropIdle();
  points_ = bytes_ = 0;
  for (PendingSeries& series : series_) {
    if (series.points.capacity() > kReserveKept) {
      series.points = std::vector<core::Point>();  // after an outage
    } else {
      series.points.clear();
    }
    bytes_ += Weight(series);
  }
}

void PendingNode::ForgetIds() {
  for (PendingSeries& series : series_) series.id = 0;
}

// The series of jobs long gone: an agent runs for months.
void PendingNode::DropIdle() {
  const auto is_idle = [](const PendingSeries& series) { return series.points.empty(); };
  const auto idle =
      static_cast<std::size_t>(std::count_if(series_.begin(), series_.end(), is_idle));
  if (idle <= std::max(kIdleKept, series_.size() / 2)) return;
  std::erase_if(series_, is_idle);
  index_.clear();
  for (std::size_t i = 0; i < series_.size(); ++i) {
    const SeriesKey& key = series_[i].key;
    IndexName(key.metric, key.instance, key.job, scratch_);
    index_.emplace(scratch_, i);
  }
}

core::Result<void> Pending::Add(const std::string& node, const core::Batch& batch,
                                const std::string& where) {
  if (batch.time < -kTimeLimit || batch.time > kTimeLimit) {
    return core::UsageError(
        "a batch of time {} ms is not stored: that is no time of ours; look at "
        "the clock of {}",
        batch.time, core::Quoted(node));
  }
  std::size_t waiting = batch.readings.size() * sizeof(core::Point);
  for (const auto& [name, pending] : nodes_) waiting += pending.bytes();
  if (waiting > most_) {
    return core::FailedError(
        "{}: more than {} MiB of samples wait to be stored there, so these {} are not taken; the "
        "reason why it takes none was given before: once that is mended, what waits is stored",
        where, most_ / (1024 * 1024), batch.readings.size());
  }
  std::string name = StoredName(node);
  auto entry = nodes_.find(name);
  if (entry == nodes_.end()) entry = nodes_.emplace(name, PendingNode(name)).first;
  entry->second.Add(batch);
  return {};
}

}  // namespace sharewell::store
