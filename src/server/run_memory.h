// RunMemory: what earlier runs of the same were seen to need, by core::WorkloadKey, the last few of
// each; and by how much predictions erred here. Bounded: keys that were not met for longest go.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/metric.h"
#include "core/profile_record.h"
#include "core/submission.h"

namespace sharewell::server {

// A key as it is kept: commands may be a megabyte long.
struct KeyDigest {
  std::uint64_t a = 0, b = 0;

  friend bool operator==(const KeyDigest&, const KeyDigest&) = default;
};
KeyDigest DigestOf(const std::string& key);
std::string TextOf(const KeyDigest& digest);                   // 32 hexadecimal digits
std::optional<KeyDigest> DigestFrom(const std::string& text);  // and back
struct HashOfDigest {
  std::size_t operator()(const KeyDigest& digest) const noexcept { return digest.a; }
};

class RunMemory {
 public:
  explicit RunMemory(std::size_t most_keys = 5000) : most_keys_(most_keys) {}

  // One run: what was seen of it (gpu: where), and how long it takes alone. A run on another GPU
  // model than those before it makes them forgotten.
  void Add(const KeyDigest& key, std::int64_t job, const core::Profile& seen,
           std::optional<core::Seconds> alone);
  // As they were stored under that name by RecordOf.
  void Restore(const KeyDigest& key, const core::ProfileRecord& record);

  // Medians, with the most of them as bounds. Absent: never met.
  std::optional<core::Needs> NeedsOf(const KeyDigest& key) const;
  // The same as a profile to be kept; absent where no figure was ever seen, or where it would say
  // what was last kept. `id` is what the store gave it: Kept().
  std::optional<core::ProfileRecord> RecordOf(const KeyDigest& key);
  void Kept(const KeyDigest& key, std::int64_t id);

  // A run that had been predicted was seen.
  void Compare(const KeyDigest& key, const core::Profile& predicted, const core::Profile& seen);
  // By how much predictions erred over all keys, as a geometric mean; changes nothing below three.
  void Correct(core::Needs& predicted) const;

 private:
  static constexpr std::size_t kFigures = 10;
  struct Run {
    std::optional<double> figures[kFigures];  // in the order of kRunFigures
    std::optional<double> alone;              // seconds
  };
  struct Runs {
    std::vector<Run> last;  // at most kRuns
    std::int64_t count = 0, job = 0;
    std::string gpu;
    core::Workload workload;
    std::int64_t record = 0;  // in the store; 0: none yet
    std::vector<double> kept;
    std::uint64_t met = 0;
  };
  struct Errors {
    double busy = 0, memory = 0, cores = 0;  // log of seen over predicted
  };

  Runs& At(const KeyDigest& key);
  void Sum(const Errors& errors, double sign);
  static std::vector<double> Row(const Runs& runs, std::size_t figure);

  std::size_t most_keys_;
  std::uint64_t clock_ = 0;
  std::unordered_map<KeyDigest, Runs, HashOfDigest> runs_;
  std::unordered_map<KeyDigest, Errors, HashOfDigest> errors_;
  Errors sums_;  // over errors_
};

}  // namespace sharewell::server
