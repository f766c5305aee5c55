// Builders: the words that tests describe clusters, jobs and snapshots in. One JobSpec gives a
// job's submission, its truth and its exact estimate, so that a test states each figure once.
//
// The namespace is not called testing: inside sharewell that would hide GoogleTest's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster.h"
#include "core/estimate.h"
#include "core/job/job.h"
#include "core/snapshot.h"
#include "interference/interference.h"
#include "sim/truth.h"

namespace sharewell::fixtures {

// A GPU model of the built-in catalogue. REQUIRES: there is one of that name.
core::GpuModel CatalogueModel(const std::string& name);

// Node() begins a node; what follows it is about that node. Without Model() there is one model,
// "A".
class ClusterBuilder {
 public:
  ClusterBuilder& Model(std::string name, double gib = 16);
  ClusterBuilder& Power(double idle, double limit);  // of the last model, in watts
  ClusterBuilder& Node(int gpus, std::size_t model = 0);
  ClusterBuilder& Nodes(int count, int gpus, std::size_t model = 0);
  ClusterBuilder& Islands(std::string_view text);  // of the last node, as the ones below
  ClusterBuilder& Cores(double cores);
  ClusterBuilder& Memory(double gib);  // of the host
  ClusterBuilder& MemoryBandwidth(double gb_a_second);
  ClusterBuilder& Pcie(double gb_a_second);
  ClusterBuilder& Network(double gbit_a_second);
  core::Cluster Build() const;

 private:
  std::vector<core::GpuModel> models_;
  std::vector<core::Node> nodes_;
};

// A job as a test states it. Figures a GPU where core/demand.h says so.
struct JobSpec {
  std::string name = {};  // empty: "j" and its number
  double seconds = 100;
  double submit = 0;
  int gpus = 1;
  double busy = 0.5;
  std::optional<double> sm = {};  // absent: as busy
  double dram = 0;
  double gib = 1;
  double wants_cores = 0;              // cores it keeps busy at full speed, a GPU
  std::optional<double> cores = {};    // asked for, in all
  std::vector<double> rates = {};      // by GPU model; empty: 1 everywhere
  std::vector<std::size_t> only = {};  // allowed models; empty: any
  bool exclusive = false;
  std::optional<double> max_slowdown = {};  // its own
  std::optional<double> sm_share = {};      // its user insists
  std::optional<double> kernel_time = {};   // seconds
  int priority = 0;
  bool preempts = false;
  bool keeps_place = false;
  std::size_t user = 0;
  std::optional<std::size_t> workload = {};
  double host_gbps = 0;                       // host memory traffic
  double host_gib = 0;                        // host memory, a GPU
  std::optional<double> asked_host_gib = {};  // in all
  double pcie_gbps = 0;
  double watts = 0;
  core::CpuCurve cpu_curve = {};
  std::optional<double> restart_cost = {};
  bool known = true;  // its demand
  bool duration_known = true;
  double startup = 0;
  int gpus_a_node = 0;
  std::vector<std::size_t> only_nodes = {};  // empty: any
  double weight = 1;                         // of its user
  bool alone_until_known = false;
  bool no_guests = false;
  std::size_t project = 0;
};

core::Job JobOf(const JobSpec& spec, std::size_t id);
sim::TrueJob TruthOf(const JobSpec& spec, const core::Cluster& cluster);
core::Estimate EstimateOf(const JobSpec& spec, const core::Cluster& cluster);  // exact

// The interference model as fitted, without the residual that the world errs by.
interference::Interference WithoutResidual(interference::PairTable pairs = {});

// A snapshot put together by hand. Times only rise; ids are given in the order of the calls.
class SnapshotBuilder {
 public:
  explicit SnapshotBuilder(core::Cluster cluster, double restart_cost = 30)
      : cluster_(std::move(cluster)), snapshot_(cluster_, core::Seconds(restart_cost)) {}
  SnapshotBuilder(const SnapshotBuilder&) = delete;
  SnapshotBuilder& operator=(const SnapshotBuilder&) = delete;

  core::JobId Waiting(const JobSpec& spec);
  // Starts it on these GPUs at full speed.
  core::JobId Running(const JobSpec& spec, const std::vector<std::size_t>& gpus, double cores = 0);
  core::JobId RunningOnNode(const JobSpec& spec, std::size_t node, double cores);  // CPU-only
  SnapshotBuilder& At(double now);

  core::Snapshot& operator*() { return snapshot_; }
  core::Snapshot* operator->() { return &snapshot_; }

 private:
  core::Cluster cluster_;
  core::Snapshot snapshot_;
};

core::Allocation OnGpus(const std::vector<std::size_t>& gpus, double cores = 0);
core::Allocation OnNode(std::size_t node, double cores);

}  // namespace sharewell::fixtures
