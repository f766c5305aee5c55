#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/numbers/steady.h"
#include "measure/watch.h"

namespace sharewell::measure {
namespace {

using core::ProfileRecord;

// The mean of what all of them have; absent when one has it not.
template <class T, class Get>
std::optional<T> MeanOfAll(std::span<const ProfileRecord> records, Get get) {
  double sum = 0;
  for (const ProfileRecord& record : records) {
    const auto value = get(record.profile);
    if (!value) return std::nullopt;
    if constexpr (std::is_same_v<T, double>) {
      sum += *value;
    } else {
      sum += value->value;
    }
  }
  return T(sum / static_cast<double>(records.size()));
}

// The largest that any of them has.
template <class Get>
std::optional<core::Bytes> MostOfAny(std::span<const ProfileRecord> records, Get get) {
  std::optional<core::Bytes> most;
  for (const ProfileRecord& record : records) {
    if (const auto value = get(record.profile)) {
      most = most ? std::max(*most, *value) : *value;
    }
  }
  return most;
}

// Readings count as often as they were taken; deviations are of all of them together.
std::vector<core::Figure> MergedFigures(std::span<const ProfileRecord> records) {
  std::map<std::pair<std::string, std::string>, std::vector<const core::Figure*>> same;
  for (const ProfileRecord& record : records) {
    for (const core::Figure& figure : record.figures) {
      same[{figure.metric, figure.instance}].push_back(&figure);
    }
  }
  std::vector<core::Figure> merged;
  for (const auto& [key, figures] : same) {
    core::Figure figure = *figures.front();
    double weight = 0, mean = 0, median = 0, p95 = 0, squares = 0;
    for (const core::Figure* other : figures) {
      const auto n = static_cast<double>(std::max<std::int64_t>(1, other->readings));
      weight += n;
      mean += n * other->mean;
      median += n * other->median;
      p95 += n * other->p95;
      squares += n * (other->deviation * other->deviation + other->mean * other->mean);
      figure.least = std::min(figure.least, other->least);
      figure.most = std::max(figure.most, other->most);
    }
    figure.mean = mean / weight;
    figure.median = median / weight;
    figure.p95 = p95 / weight;
    figure.deviation = std::sqrt(std::max(0.0, squares / weight - figure.mean * figure.mean));
    figure.readings = static_cast<std::int64_t>(weight);
    merged.push_back(std::move(figure));
  }
  return merged;
}

}  // namespace

ProfileRecord MergeRepeats(std::span<const ProfileRecord> records) {
  ProfileRecord merged = records.front();
  if (records.size() == 1) return merged;
  merged.repeats = static_cast<int>(records.size());
  using core::Profile;
  Profile& profile = merged.profile;
  const auto ratio = [&](auto get) { return MeanOfAll<double>(records, get); };
  profile.steps_per_second = ratio([](const Profile& p) { return p.steps_per_second; });
  profile.busy = ratio([](const Profile& p) { return p.busy; });
  profile.sm = ratio([](const Profile& p) { return p.sm; });
  profile.dram = ratio([](const Profile& p) { return p.dram; });
  profile.cpu_cores = ratio([](const Profile& p) { return p.cpu_cores; });
  profile.pcie = MeanOfAll<core::BytesPerSecond>(records, [](const Profile& p) { return p.pcie; });
  profile.host_bandwidth =
      MeanOfAll<core::BytesPerSecond>(records, [](const Profile& p) { return p.host_bandwidth; });
  profile.kernels = ratio([](const Profile& p) { return p.kernels; });
  profile.kernel_time =
      MeanOfAll<core::Seconds>(records, [](const Profile& p) { return p.kernel_time; });
  profile.power = MeanOfAll<core::Watts>(records, [](const Profile& p) { return p.power; });
  profile.gpu_memory = MostOfAny(records, [](const Profile& p) { return p.gpu_memory; });
  profile.host_memory = MostOfAny(records, [](const Profile& p) { return p.host_memory; });
  merged.figures = MergedFigures(records);

  std::vector<double> rates;
  merged.warmup = merged.window = core::Seconds(0);
  merged.notes.clear();
  for (const ProfileRecord& record : records) {
    const auto& rate = profile.steps_per_second ? record.profile.steps_per_second
                       : profile.busy           ? record.profile.busy
                                                : record.profile.cpu_cores;
    if (rate) rates.push_back(*rate);
    merged.warmup += record.warmup / static_cast<double>(records.size());
    merged.window += record.window;
    merged.settled = merged.settled && record.settled;
    if (record.exit_code && (!merged.exit_code || *merged.exit_code == 0)) {
      merged.exit_code = record.exit_code;
    }
    for (const std::string& note : record.notes) {
      if (std::find(merged.notes.begin(), merged.notes.end(), note) == merged.notes.end()) {
        merged.notes.push_back(note);
      }
    }
  }
  if (rates.size() == records.size()) merged.uncertainty = core::Uncertainty(rates);
  return merged;
}

}  // namespace sharewell::measure
