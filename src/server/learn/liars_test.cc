// The law of liars: whatever other users' jobs claim and do, no user's job is believed to need less
// GPU memory than its own runs, its own words or an admin's measurement say, and none is placed
// where it does not fit by these. Histories are drawn by seed: false needs, false steps, false
// names, others' commands run with a tiny program.
//
// SHAREWELL_SEEDS says how many histories; SHAREWELL_SEED runs one alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/numbers/random.h"
#include "core/snapshot.h"
#include "server/live/advisor.h"
#include "server/live/this_machine.h"
#include "server/test_stores.h"
#include "testing/random_case.h"
#include "testing/sanitized.h"

namespace sharewell::server {
namespace {

using core::GiB;
using core::JobRecord;
using core::Needs;
using core::Submission;

const core::Account kVictim{"bob", 1001, 1001, false};
const core::Account kLiars[] = {{"eve", 2001, 2001, false}, {"mal", 2002, 2002, false}};
const char* const kNames[] = {"bert", "gpt", "resnet"};

// What one server knows.
struct Knows {
  MemoryProfiles profiles;
  MemoryKnowledge jobs;
  std::unique_ptr<ServerAdvisor> advisor;
};

class LiarsHistory {
 public:
  LiarsHistory(std::uint64_t seed, const MachineHere& machine,
               const catalogue::GpuCatalogue& catalogue)
      : dice_(core::HashOf({seed, 7})), machine_(machine), catalogue_(catalogue) {
    for (int i = dice_.Between(0, 2); i > 0; --i) Measure();
    for (Knows* knows : {&all_, &honest_}) Restart(*knows);
  }

  // Empty: all went as it must.
  std::string Live() {
    const int restart = dice_.Chance(0.3) ? dice_.Between(5, 35) : -1;
    for (int i = 0; i < 40 && wrong_.empty(); ++i) {
      if (i == restart) {
        for (Knows* knows : {&all_, &honest_}) Restart(*knows);
      }
      const bool honest = dice_.Chance(0.2);
      Run(honest ? kVictim : kLiars[dice_.Between(0, 1)], honest);
      Check();
    }
    if (wrong_.empty()) Place();
    return wrong_;
  }

 private:
  void Restart(Knows& knows) {
    knows.advisor.reset();
    knows.advisor = ServerAdvisor::New(machine_.cluster, catalogue_, knows.profiles, knows.jobs,
                                       {.policy = "sharewell"})
                        .value();
  }
  Submission Job() {
    Submission job;
    job.folder = "/home/bob";
    job.command = {"python3", fmt::format("train{}.py", dice_.Between(0, 3))};
    if (dice_.Chance(0.4)) job.needs = Claim();
    if (dice_.Chance(0.2)) job.profile = kNames[dice_.Between(0, 2)];
    if (dice_.Chance(0.4)) job.name = kNames[dice_.Between(0, 2)];
    return job;
  }
  Needs Claim() {
    Needs needs;
    needs.sources = core::Sources::All(core::Source::kPredicted);
    needs.profile.gpu = "H200";
    needs.profile.busy = dice_.Uniform(0.01, 1);
    needs.profile.gpu_memory = GiB(dice_.Pick({0.1, 10, 60, 120}));
    needs.profile.cpu_cores = dice_.Uniform(0.1, 8);
    needs.retrained = dice_.Chance(0.1);
    return needs;
  }
  core::Profile Seen(double least) {
    core::Profile seen;
    seen.busy = seen.sm = dice_.Uniform(0.01, 1);
    seen.gpu_memory = GiB(least + dice_.Uniform(0, 30));
    seen.cpu_cores = dice_.Uniform(0.1, 4);
    seen.steps_per_second = dice_.Pick({0.001, 1, 1e6});
    return seen;
  }
  void Run(const core::Account& user, bool honest) {
    const Submission job = Job();
    const core::Profile seen = Seen(honest ? 40 : 0.1);
    JobRecord record;
    record.number = ++last_;
    record.user = user;
    record.asked = job;
    record.phase = core::Phase::kFinished;
    record.gpus = {{0, "GPU-0", "H200"}};
    record.cores = 8;
    record.alone_time = record.run_time = core::Seconds(dice_.Uniform(1, 100));
    record.ended = 1'700'000'000'000 + last_;
    ran_[core::WorkloadKey(job)].insert(user.name);
    Learn(all_, record, seen);
    if (honest) Learn(honest_, record, seen);
  }
  static void Learn(Knows& knows, JobRecord record, const core::Profile& seen) {
    if (!knows.advisor->Check(record.user, record.asked)) return;
    record.believed = knows.advisor->NeedsOf(record.user, record.asked);
    knows.jobs.finished.push_back(record);
    knows.advisor->LearnRun(record, seen);
  }
  // By `sharewell profile`, into both stores.
  void Measure() {
    core::ProfileRecord record;
    record.name = kNames[dice_.Between(0, 2)];
    record.source = "profile";
    record.created = 1'700'000'000'000 + last_;
    record.profile = Seen(40);
    record.profile.gpu = "H200";
    for (Knows* knows : {&all_, &honest_}) EXPECT_TRUE(knows->profiles.Save(record));
  }

  core::Bytes UpperOf(Knows& knows, const Submission& job) const {
    JobRecord record;
    record.user = kVictim;
    record.asked = job;
    record.believed = knows.advisor->NeedsOf(kVictim, job);
    return knows.advisor->EstimateOf(record).gpu_memory_upper;
  }
  void Check() {
    const Submission job = Job();
    // A name that nobody who counts gave is refused, whoever else has it.
    const bool known = honest_.advisor->Check(kVictim, job).has_value();
    if (all_.advisor->Check(kVictim, job).has_value() != known) {
      wrong_ = fmt::format("profile {} counts by what others did", job.profile);
    }
    if (!known) return;
    const core::Bytes with = UpperOf(all_, job), without = UpperOf(honest_, job);
    const bool told = job.needs || !job.profile.empty();
    const bool own = honest_.advisor->NeedsOf(kVictim, job).profile.gpu_memory.has_value();
    // Of what nothing of his own says, several others together may speak.
    if (!told && !own && Others(job) >= kCorroborating) return;
    if (with.value < without.value * (1 - 1e-9)) {
      wrong_ = fmt::format("{} is believed to need {:.1f} GiB, and {:.1f} by his own knowledge",
                           core::DisplayName(job), with / GiB(1), without / GiB(1));
    }
  }

  // His job and liars' beside each other on one GPU, as the policy has it.
  void Place() {
    core::Snapshot snapshot(machine_.cluster);
    std::vector<core::Bytes> needed;
    for (std::size_t i = 0; i < 4; ++i) {
      JobRecord record;
      record.user = i == 0 ? kVictim : kLiars[i % 2];
      record.asked = Job();
      record.asked.profile.clear();
      record.believed = all_.advisor->NeedsOf(record.user, record.asked);
      const core::Estimate estimate = all_.advisor->EstimateOf(record);
      const bool may_speak = Others(record.asked) >= kCorroborating && !record.asked.needs;
      needed.push_back(i == 0 && !may_speak ? UpperOf(honest_, record.asked)
                                            : estimate.gpu_memory_upper);
      core::Job job;
      job.id = core::JobId(i);
      job.user = core::UserId(i);
      job.workload = all_.advisor->WorkloadOf(record.user, record.asked);
      snapshot.Submit(job, estimate);
    }
    const policy::Policy& policy = all_.advisor->Policy();
    const auto memo = policy.NewMemo();
    const core::Plan plan = policy.Decide(snapshot, {}, *memo);
    core::Bytes taken;
    for (const auto& start : plan.starts) {
      const core::Bytes most = needed[start.job.index()];
      taken =
          taken + std::min(most, start.to.guest_memory.value_or(most));  // a guest is kept to it
    }
    const core::Bytes there = machine_.cluster.models().front().memory;
    if (plan.starts.size() > 1 && taken.value > there.value * (1 + 1e-9)) {
      wrong_ =
          fmt::format("{:.1f} GiB are placed on a GPU of {:.1f}", taken / GiB(1), there / GiB(1));
    }
  }
  std::size_t Others(const Submission& job) {
    auto others = ran_[core::WorkloadKey(job)];
    others.erase(kVictim.name);
    return others.size();
  }

  fixtures::Dice dice_;
  const MachineHere& machine_;
  const catalogue::GpuCatalogue& catalogue_;
  Knows all_, honest_;
  std::map<std::string, std::set<std::string>> ran_;  // by key: who
  std::int64_t last_ = 0;
  std::string wrong_;
};

TEST(Liars, A3_NobodysJobIsBelievedToNeedLessMemoryForWhatOthersDid) {
  const auto catalogue = catalogue::GpuCatalogue::Builtin();
  const MachineHere machine = *MachineOf({"box", 16, GiB(128)}, "1xH200", {}, catalogue);
  const auto number = [](const char* name, std::uint64_t usual) {
    const char* text = std::getenv(name);
    return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
  };
  const std::uint64_t one = number("SHAREWELL_SEED", 0);
  const std::uint64_t seeds = number("SHAREWELL_SEEDS", 2000 / fixtures::kFewer);
  for (std::uint64_t seed = one > 0 ? one : 1; seed <= (one > 0 ? one : seeds); ++seed) {
    const std::string wrong = LiarsHistory(seed, machine, catalogue).Live();
    ASSERT_EQ(wrong, "") << "SHAREWELL_SEED=" << seed;
  }
}

}  // namespace
}  // namespace sharewell::server
