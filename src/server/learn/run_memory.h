// RunMemory: what earlier runs of the same were seen to need, by user and core::WorkloadKey, the
// last few of each; and by how much predictions erred here.
//
// Whoever starts a command decides what it does, so what a user's runs taught counts for that user
// alone. For others it counts where kCorroborating other users or more taught it, each of them
// weighing once. Bounded: where there is too much, the user with most loses what was not met for
// longest. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/job/profile_record.h"
#include "core/job/submission.h"
#include "core/metric.h"
#include "server/learn/key_digest.h"

namespace sharewell::server {

// What one user's runs taught, to be shown: so many workloads were measured, and by so much
// predictions were off, as seen over predicted (absent: too few were compared).
struct Lessons {
  std::size_t workloads = 0, compared = 0;
  std::optional<double> busy = {}, gpu_memory = {}, cores = {};

  friend bool operator==(const Lessons&, const Lessons&) = default;
};

// So many users besides the one who asks must have taught a thing before it counts for that one.
// One alone may be a liar; and of two both must be.
inline constexpr std::size_t kCorroborating = 2;

// Whether somebody saw the rate in a stored profile: an older version kept rates that were only
// predicted too, in the profiles that jobs left, which did not say for how long they were watched.
bool RateWasSeen(const core::ProfileRecord& record);

class RunMemory {
 public:
  explicit RunMemory(std::size_t most_keys = 5000) : most_keys_(most_keys) {}

  struct Times {
    std::optional<core::Seconds> taken;  // by the whole of it, alone where that is known
    core::Seconds watched = {};
  };
  // One run: what was seen of it (gpu: where). A run on another GPU model than those before it
  // makes them forgotten.
  void Add(const std::string& user, const KeyDigest& key, std::int64_t job,
           const core::Profile& seen, const Times& times);
  // As they were stored under that name by RecordOf.
  void Restore(const std::string& user, const KeyDigest& key, const core::ProfileRecord& record);

  // Of that user's own runs: medians, with the most of them as bounds. Absent: never met.
  std::optional<core::Needs> NeedsOf(const std::string& user, const KeyDigest& key) const;
  // By the runs of the others: of each figure the median over users, of memory and cores the most
  // that any of them says. Absent: too few users agree on where they ran it and measured it.
  std::optional<core::Needs> OthersNeeds(const std::string& user, const KeyDigest& key) const;
  // The first as a profile to be kept; absent where no figure was ever seen, or where it would say
  // what was last kept. `id` is what the store gave it: Kept().
  std::optional<core::ProfileRecord> RecordOf(const std::string& user, const KeyDigest& key);
  void Kept(const std::string& user, const KeyDigest& key, std::int64_t id);

  // A run that had been predicted was seen.
  void Compare(const std::string& user, const KeyDigest& key, const core::Profile& predicted,
               const core::Profile& seen);
  // By how much predictions erred for that user, as a geometric mean over keys; below three keys by
  // how much they erred for others, as the median over users. What others taught never lowers
  // memory. Changes nothing where too little is known.
  void Correct(const std::string& user, core::Needs& predicted) const;

  Lessons LessonsOf(const std::string& user) const;
  std::vector<std::string> Users() const;
  void Forget(const std::string& user);

 private:
  static constexpr std::size_t kFigures = 10;
  struct Run {
    std::optional<double> figures[kFigures];  // in the order of kRunFigures
    std::optional<double> taken;              // seconds
    core::Seconds watched;
  };
  struct Runs {
    std::vector<Run> last;  // at most kRuns
    std::int64_t count = 0, job = 0;
    std::string gpu;
    core::Workload workload;
    std::int64_t record = 0;  // in the store; 0: none yet
    std::vector<double> kept;
    std::uint64_t met = 0;
    bool measured = false;  // any figure was ever seen
  };
  struct Errors {
    double busy = 0, memory = 0, cores = 0;  // log of seen over predicted
  };
  // What one user taught.
  struct Taught {
    std::unordered_map<KeyDigest, Runs, HashOfDigest> runs;
    std::unordered_map<KeyDigest, Errors, HashOfDigest> errors;
    Errors sums;  // over errors

    void Sum(const Errors& errors, double sign);
    Errors Mean() const;  // REQUIRES: there are errors
  };

  Runs& At(const std::string& user, const KeyDigest& key);
  const Runs* Find(const std::string& user, const KeyDigest& key) const;
  void MakeRoom();
  // Absent: too few others were compared.
  std::optional<Errors> OthersErrors(const std::string& user, std::size_t& users) const;
  static std::vector<double> Row(const Runs& runs, std::size_t figure);
  static core::Needs NeedsBy(const Runs& runs);

  std::size_t most_keys_;
  std::uint64_t clock_ = 0;
  std::map<std::string, Taught> by_user_;
  std::unordered_map<KeyDigest, std::size_t, HashOfDigest> users_of_;  // how many have runs of it
  std::size_t keys_ = 0;                                               // of all users together
};

}  // namespace sharewell::server
