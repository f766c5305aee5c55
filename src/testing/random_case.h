// Random small clusters and job mixes for the laws that hold for every policy. The same seed gives
// the same case on every machine.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/job/job.h"
#include "interference/interference.h"
#include "sim/belief.h"
#include "sim/truth.h"
#include "testing/builders.h"

namespace sharewell::fixtures {

// A row of draws: what a test needs of chance.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  double Uniform(double low, double high);
  double LogUniform(double low, double high);
  int Between(int low, int high);  // both may come
  bool Chance(double p) { return Uniform(0, 1) < p; }
  double Pick(std::initializer_list<double> values);

 private:
  std::uint64_t Next();
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
};

struct CaseOptions {
  int least_jobs = 4;
  int most_jobs = 28;
  bool gangs = true;
  bool constraints = true;  // exclusive, priorities, allowed models
  bool cpu_only = true;
  bool misfits = true;      // jobs that can never run, or that run out of memory
  bool host_limits = true;  // nodes with stated cores, memory, memory bandwidth, PCIe, network
  int most_models = 3;
};

struct Case {
  core::Cluster cluster;
  std::vector<JobSpec> specs;
  std::vector<core::Job> jobs;
  std::vector<sim::TrueJob> truth;
  interference::Interference interference;
  sim::BeliefOptions belief;
};

Case RandomCase(std::uint64_t seed, const CaseOptions& options = {});

// A case of the jobs given, with exact belief and no residual.
Case CaseOf(core::Cluster cluster, std::vector<JobSpec> specs);

// Could it run on the empty cluster, its GPU memory aside? Written apart from the policies' own
// test, on purpose. Where cores are not taken as asked, a training job always finds enough.
bool CouldRun(const core::Cluster& cluster, const JobSpec& spec, bool cores_as_asked);
// Does it lack memory on some GPU model it may be put on?
bool MayRunOutAlone(const core::Cluster& cluster, const JobSpec& spec);

}  // namespace sharewell::fixtures
