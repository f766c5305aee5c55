#include "testing/builders.h"

#include <fmt/format.h>

#include <utility>

#include "catalogue/gpu_catalogue.h"
#include "core/result.h"

namespace sharewell::fixtures {

core::GpuModel CatalogueModel(const std::string& name) {
  const auto model = catalogue::GpuCatalogue::Builtin().Find(name);
  SHAREWELL_CHECK(model.has_value());
  return *model;
}

ClusterBuilder& ClusterBuilder::Model(std::string name, double gib) {
  core::GpuModel model;
  model.name = std::move(name);
  model.memory = core::GiB(gib);
  model.bandwidth = core::GBps(900);
  model.fp32_tflops = 15;
  models_.push_back(std::move(model));
  return *this;
}

ClusterBuilder& ClusterBuilder::Power(double idle, double limit) {
  models_.back().idle_power = core::Watts(idle);
  models_.back().power_limit = core::Watts(limit);
  return *this;
}

ClusterBuilder& ClusterBuilder::Node(int gpus, std::size_t model) {
  core::Node node;
  node.name = fmt::format("n{}", nodes_.size());
  node.gpus = gpus;
  node.model = core::GpuModelId(model);
  nodes_.push_back(std::move(node));
  return *this;
}

ClusterBuilder& ClusterBuilder::Nodes(int count, int gpus, std::size_t model) {
  for (int i = 0; i < count; ++i) Node(gpus, model);
  return *this;
}

ClusterBuilder& ClusterBuilder::Islands(std::string_view text) {
  nodes_.back().islands = core::GpuIslands::Parse(text, nodes_.back().gpus).value();
  return *this;
}

ClusterBuilder& ClusterBuilder::Cores(double cores) {
  nodes_.back().cores = cores;
  return *this;
}

ClusterBuilder& ClusterBuilder::Memory(double gib) {
  nodes_.back().memory = core::GiB(gib);
  return *this;
}

ClusterBuilder& ClusterBuilder::MemoryBandwidth(double gb_a_second) {
  nodes_.back().memory_bandwidth = core::GBps(gb_a_second);
  return *this;
}

ClusterBuilder& ClusterBuilder::Pcie(double gb_a_second) {
  nodes_.back().pcie = core::GBps(gb_a_second);
  return *this;
}

ClusterBuilder& ClusterBuilder::Network(double gbit_a_second) {
  nodes_.back().network = core::GBps(gbit_a_second / 8);
  return *this;
}

core::Cluster ClusterBuilder::Build() const {
  if (!models_.empty()) return {models_, nodes_};
  return {ClusterBuilder().Model("A").models_, nodes_};
}

core::Job JobOf(const JobSpec& spec, std::size_t id) {
  core::Job job;
  job.id = core::JobId(id);
  job.name = spec.name.empty() ? fmt::format("j{}", id) : spec.name;
  job.user = core::UserId(spec.user);
  if (spec.workload) job.workload = core::WorkloadId(*spec.workload);
  job.gpus = spec.gpus;
  job.cores = spec.cores;
  if (spec.asked_host_gib) job.host_memory = core::GiB(*spec.asked_host_gib);
  for (std::size_t m : spec.only) job.allowed_models.push_back(core::GpuModelId(m));
  for (std::size_t n : spec.only_nodes) job.allowed_nodes.push_back(core::NodeId(n));
  job.gpus_a_node = spec.gpus_a_node;
  job.weight = spec.weight;
  job.project = core::ProjectId(spec.project);
  job.alone_until_known = spec.alone_until_known;
  job.no_guests = spec.no_guests;
  job.exclusive = spec.exclusive;
  job.max_slowdown = spec.max_slowdown;
  job.sm_share = spec.sm_share;
  job.priority = spec.priority;
  job.preempts = spec.preempts;
  job.keeps_place = spec.keeps_place;
  job.submit = core::Seconds(spec.submit);
  if (spec.restart_cost) job.restart_cost = core::Seconds(*spec.restart_cost);
  return job;
}

sim::TrueJob TruthOf(const JobSpec& spec, const core::Cluster& cluster) {
  sim::TrueJob truth;
  truth.work = core::Seconds(spec.seconds);
  truth.startup = core::Seconds(spec.startup);
  truth.cpu_curve = spec.cpu_curve;
  core::Demand demand;
  demand.known = spec.known;
  demand.busy = spec.gpus > 0 ? spec.busy : 0;
  demand.sm = spec.sm.value_or(demand.busy);
  demand.dram = spec.dram;
  if (spec.kernel_time) demand.kernel_time = core::Seconds(*spec.kernel_time);
  demand.gpu_memory = core::GiB(spec.gib);
  demand.cpu_cores = spec.wants_cores;
  demand.host_bandwidth = core::GBps(spec.host_gbps);
  demand.host_memory = core::GiB(spec.host_gib);
  demand.pcie = core::GBps(spec.pcie_gbps);
  demand.power = core::Watts(spec.watts);
  for (std::size_t m = 0; m < cluster.models().size(); ++m) {
    truth.on.push_back({spec.rates.empty() ? 1 : spec.rates[m], demand});
  }
  return truth;
}

core::Estimate EstimateOf(const JobSpec& spec, const core::Cluster& cluster) {
  const sim::TrueJob truth = TruthOf(spec, cluster);
  core::Estimate estimate;
  estimate.on = truth.on;
  estimate.gpu_memory_upper = core::GiB(spec.gib);
  estimate.cpu_curve = spec.cpu_curve;
  if (spec.duration_known) estimate.duration = truth.work;
  estimate.sources = core::Sources::All(core::Source::kPredicted);
  return estimate;
}

interference::Interference WithoutResidual(interference::PairTable pairs) {
  interference::Coefficients coefficients;
  coefficients.residual = 0;
  coefficients.residual_of_three = 0;
  return interference::Interference(std::move(pairs), coefficients);
}

core::JobId SnapshotBuilder::Waiting(const JobSpec& spec) {
  const core::JobId id(snapshot_.job_count());
  snapshot_.Submit(JobOf(spec, id.index()), EstimateOf(spec, cluster_));
  return id;
}

core::JobId SnapshotBuilder::Running(const JobSpec& spec, const std::vector<std::size_t>& gpus,
                                     double cores) {
  const core::JobId id = Waiting(spec);
  snapshot_.Start(id, OnGpus(gpus, cores));
  snapshot_.Observe(id, core::Seconds(0), 1, core::Seconds(0));
  return id;
}

core::JobId SnapshotBuilder::RunningOnNode(const JobSpec& spec, std::size_t node, double cores) {
  const core::JobId id = Waiting(spec);
  snapshot_.Start(id, OnNode(node, cores));
  snapshot_.Observe(id, core::Seconds(0), 1, core::Seconds(0));
  return id;
}

SnapshotBuilder& SnapshotBuilder::At(double now) {
  snapshot_.AdvanceTo(core::Seconds(now));
  return *this;
}

core::Allocation OnGpus(const std::vector<std::size_t>& gpus, double cores) {
  core::Allocation where;
  for (std::size_t g : gpus) where.gpus.push_back(core::GpuId(g));
  where.cores = cores;
  return where;
}

core::Allocation OnNode(std::size_t node, double cores) {
  core::Allocation where;
  where.node = core::NodeId(node);
  where.cores = cores;
  return where;
}

}  // namespace sharewell::fixtures
