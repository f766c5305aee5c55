// KnownSteps: what runs are known by since their watchers told of a step of theirs (core::Told).
// Runs of the same operators on the same shapes are one workload, whatever their commands are
// called; another batch of the same model errs as the first did; and a script that ran before most
// likely runs the same again, until its own step says so.
//
// What a user's runs taught counts for that user, and for others by the rule of run_memory.h.
// Bounded: where there is too much, the user with most loses what was not met for longest. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/job/profile.h"
#include "core/job/submission.h"
#include "core/job/told.h"
#include "server/learn/key_digest.h"
#include "server/learn/run_memory.h"

namespace sharewell::server {

// Where a submission was seen to run a certain step: by its command, or by its script.
struct StepLabels {
  KeyDigest command;
  std::optional<KeyDigest> script;  // absent: the client knew of none
};
StepLabels LabelsOf(const core::Submission& submission);

// Some of each user's, by digest; the least recently met of the user with most go first.
template <class Value>
class OwnedEntries {
 public:
  explicit OwnedEntries(std::size_t most) : most_(most) {}

  Value& At(const std::string& user, const KeyDigest& key) {
    if (Find(user, key) == nullptr && count_ >= most_) MakeRoom();
    auto& theirs = by_user_[user];
    const auto [entry, fresh] = theirs.try_emplace(key);
    count_ += fresh ? 1U : 0U;
    entry->second.met = ++clock_;
    return entry->second.value;
  }
  const Value* Find(const std::string& user, const KeyDigest& key) const {
    const auto theirs = by_user_.find(user);
    if (theirs == by_user_.end()) return nullptr;
    const auto entry = theirs->second.find(key);
    return entry == theirs->second.end() ? nullptr : &entry->second.value;
  }
  void Forget(const std::string& user) {
    const auto theirs = by_user_.find(user);
    if (theirs == by_user_.end()) return;
    count_ -= theirs->second.size();
    by_user_.erase(theirs);
  }
  std::size_t size() const { return count_; }

 private:
  struct Entry {
    Value value = {};
    std::uint64_t met = 0;
  };
  void MakeRoom() {
    const auto largest = std::max_element(
        by_user_.begin(), by_user_.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    if (largest == by_user_.end() || largest->second.empty()) return;
    std::vector<std::uint64_t> met;
    for (const auto& [key, entry] : largest->second) met.push_back(entry.met);
    const auto tenth = met.begin() + static_cast<std::ptrdiff_t>(met.size() / 10);
    std::nth_element(met.begin(), tenth, met.end());
    count_ -= std::erase_if(largest->second,
                            [&](const auto& entry) { return entry.second.met <= *tenth; });
  }

  const std::size_t most_;
  std::size_t count_ = 0;
  std::uint64_t clock_ = 0;
  std::map<std::string, std::unordered_map<KeyDigest, Entry, HashOfDigest>> by_user_;
};

class KnownSteps {
 public:
  explicit KnownSteps(std::size_t most = 5000) : runs_(most), last_(2 * most), errors_(most) {}

  // That user's job runs that step: what it is called is known to mean it from now on.
  void Meet(const std::string& user, const StepLabels& labels, const core::Told& told);
  // One of their runs of it, with what was seen (as RunMemory::Add has it).
  void Learn(const std::string& user, const core::Told& told, std::int64_t job,
             const core::Profile& seen, const RunMemory::Times& times);

  // Of their own runs of that step. Absent: none has ended.
  std::optional<core::Needs> NeedsOf(const std::string& user, const core::Told& told) const;
  std::optional<core::Needs> OthersNeeds(const std::string& user, const core::Told& told) const;
  // What the last run of the same script was measured to need, or else what its step was predicted
  // to, with wider bounds, as a guess: it is known for sure when this run has told its own step.
  std::optional<core::Needs> NeedsOfScript(const std::string& user, const KeyDigest& script) const;
  // Whether the last run of that command was of another step: its script has changed.
  bool IsAnother(const std::string& user, const KeyDigest& command, const core::Told& told) const;
  // By what a run of the same model, at whatever batch, was measured to need over what was
  // predicted of it. False: none was.
  bool CorrectByModel(const std::string& user, const core::Told& told,
                      core::Needs& predicted) const;

  void Forget(const std::string& user);

 private:
  static constexpr std::size_t kLastSteps = 4;  // of one label
  struct Last {
    std::vector<KeyDigest> steps;          // the newest first
    std::optional<core::Needs> predicted;  // of the newest
  };
  struct Errors {
    double busy = 0, memory = 0, cores = 0;  // log of seen over predicted
  };

  RunMemory runs_;  // by step
  OwnedEntries<Last> last_;
  OwnedEntries<Errors> errors_;  // by model
};

}  // namespace sharewell::server
