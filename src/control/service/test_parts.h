// Stand-ins for the tests of this room: a store in memory, an advisor that lets everybody in, and
// three people.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "control/service/advisor.h"
#include "policy/policy.h"
#include "store/job_store.h"

namespace sharewell::control {

class MemoryJobs final : public store::JobStore {
 public:
  core::Result<void> Write(const store::JobChanges& changes) override {
    const std::lock_guard lock(mutex);
    if (full) return core::FailedError("the disk is full");
    for (const auto& job : changes.jobs) jobs[job.number] = job;
    for (const auto& event : changes.events) {
      EXPECT_EQ(event.id, last_event + 1);
      last_event = event.id;
    }
    for (const auto& [name, value] : changes.kept) kept[name] = value;
    return {};
  }
  core::Result<std::vector<core::JobRecord>> Jobs(const store::JobFilter& filter) override {
    const std::lock_guard lock(mutex);
    std::vector<core::JobRecord> found;
    for (const auto& [number, job] : jobs) {
      if (filter.number == number) found.push_back(job);
      for (const core::Phase phase : filter.phases) {
        if (job.phase == phase) found.push_back(job);
      }
    }
    return found;
  }
  core::Result<std::int64_t> LastNumber() override {
    return jobs.empty() ? 0 : jobs.rbegin()->first;
  }
  core::Result<std::int64_t> LastEvent() override { return last_event; }
  core::Result<std::vector<core::Event>> Events(std::int64_t, std::size_t) override { return {}; }
  core::Result<std::vector<core::SharedRun>> SharedRuns() override { return {}; }
  core::Result<std::optional<std::string>> Kept(const std::string& name) override {
    const auto found = kept.find(name);
    return found == kept.end() ? std::nullopt : std::optional(found->second);
  }
  core::Result<void> TidyJobs(core::UnixMillis, std::int64_t) override { return {}; }
  core::Result<void> BecomeServer() override { return {}; }

  std::mutex mutex;
  bool full = false;
  std::map<std::int64_t, core::JobRecord> jobs;
  std::map<std::string, std::string> kept;
  std::int64_t last_event = 0;
};

class PlainAdvisor final : public Advisor {
 public:
  explicit PlainAdvisor(std::unique_ptr<policy::Policy> policy) : policy_(std::move(policy)) {}
  core::Result<void> Check(const core::Submission& job) override {
    if (job.gpus > most) return core::UsageError("there are not so many GPUs");
    return {};
  }
  core::Needs NeedsOf(const core::Submission&) override { return {}; }
  core::Estimate EstimateOf(const core::JobRecord&) override {
    core::Estimate estimate;
    estimate.on.resize(1);
    return estimate;
  }
  core::WorkloadId WorkloadOf(const core::Submission&) override { return {}; }
  const policy::Policy& Policy() override { return *policy_; }
  void LearnShared(const core::SharedRun&) override {}
  void LearnRun(const core::JobRecord& record, const core::Profile&) override {
    learnt.push_back(record.number);
  }
  std::vector<std::int64_t> learnt;
  int most = 8;

 private:
  std::unique_ptr<policy::Policy> policy_;
};

inline const core::Account kAnn{"ann", 1000, 1000, false};
inline const core::Account kBob{"bob", 1001, 1001, false};
inline const core::Account kRoot{"root", 0, 0, true};

}  // namespace sharewell::control
