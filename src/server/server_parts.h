// Server::Parts: what a server is made of. Its methods are told by story, a file each: stores, jobs
// on this machine, clusters.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "api/api.h"
#include "catalogue/gpu_catalogue.h"
#include "control/sampling/store_writer.h"
#include "control/service/service.h"
#include "core/result.h"
#include "engine/local/linux_runner.h"
#include "engine/local/log_keeper.h"
#include "engine/slurm/control/slurm_runner.h"
#include "engine/slurm/read/slurm_client.h"
#include "engine/slurm/read/slurm_driver.h"
#include "engine/watched_runs.h"
#include "http/http_server.h"
#include "server/cluster_agents.h"
#include "server/cluster_monitor.h"
#include "server/cluster_predictions.h"
#include "server/kubernetes/kube_cluster.h"
#include "server/learn/learner.h"
#include "server/live/advisor.h"
#include "server/live/job_keeper.h"
#include "server/live/job_watch.h"
#include "server/live/neighbours.h"
#include "server/live/step_reader.h"
#include "server/live/this_machine.h"
#include "server/live/watch_monitor.h"
#include "server/server.h"
#include "server/settings/settings.h"
#include "server/slurm/slurm_lock.h"
#include "store/job_store.h"
#include "store/open_database.h"
#include "store/postgres/password.h"
#include "store/store.h"

namespace sharewell::server {

// Where a browser finds the dashboard; empty: nowhere (server_greeting.cc).
std::string DashboardAddress(const ServerOptions& options, const http::HttpServer& http);
// Whether an image can be run on this machine (server_local.cc).
core::Result<void> CheckContainerRuntime();

// How Slurm is asked: by its own commands.
struct SlurmCommands {
  std::unique_ptr<engine::SlurmDriver> driver;
  std::unique_ptr<engine::SlurmClient> client;
  std::string version;
};

// In the order they are made; they go in the opposite one.
struct Server::Parts {
  ServerOptions options;
  std::unique_ptr<Settings> settings;
  catalogue::GpuCatalogue catalogue;
  MachineHere machine;
  std::string key;  // seals records; empty: not root
  std::unique_ptr<store::JobStore> jobs;
  std::unique_ptr<store::Store> profiles;
  bool end_runs = false;  // of another store
  std::unique_ptr<Learner> learner;
  std::unique_ptr<engine::LinuxRunner> runner;      // null: a cluster's manager runs the jobs
  std::unique_ptr<ClusterMonitor> cluster_monitor;  // of a cluster's jobs
  SlurmCommands slurm_commands;
  ClusterLock slurm_lock;
  std::unique_ptr<ClusterPredictions> predictions;  // of a Slurm cluster
  std::unique_ptr<ClusterAgents> cluster_agents;    // where agents on the nodes can be heard
  std::unique_ptr<engine::SlurmRunner> slurm;
  std::unique_ptr<KubeCluster> kube;
  std::unique_ptr<ServerAdvisor> advisor;
  std::unique_ptr<control::StoreWriter> writer;
  std::unique_ptr<JobWatch> watch;
  std::unique_ptr<WatchMonitor> monitor;
  std::unique_ptr<StepReader> step_reader;
  std::unique_ptr<control::Service> service;
  std::atomic<control::Service*> serving = nullptr;  // once it is there, for the watch's thread
  std::unique_ptr<engine::LogKeeper> keeper;
  std::unique_ptr<JobKeeper> job_keeper;
  std::unique_ptr<NeighbourSampler> neighbours;
  std::unique_ptr<http::HttpServer> http;
  std::unique_ptr<api::Api> api;
  std::jthread calibration;

  ~Parts();

  // server.cc
  core::Result<void> MakeLearner();
  core::Result<void> MakeAdvisor();
  void MakeWriter();
  void MakeService();
  core::Result<void> MakeApi();
  void MakeKeepers();
  engine::ClusterRunner* AnyCluster() {
    if (slurm) return slurm.get();
    return kube ? &kube->runner() : nullptr;
  }
  control::JobMonitor* AnyMonitor() {
    if (cluster_monitor) return cluster_monitor.get();
    return monitor.get();
  }

  // server_stores.cc
  core::Result<void> CheckPlaces() const;
  core::Result<void> OpenStores();
  core::Result<void> ClaimState();
  StateOwner Owner() const { return {jobs->Id(), store::WithoutPassword(options.store)}; }
  // How long ago this store first had a server: runners' clocks go on from there, and times of jobs
  // over restarts.
  core::Result<core::Seconds> Origin();

  // server_local.cc: jobs on this machine
  core::Result<void> EndRuns();
  core::Result<void> MakeRunner();
  void MakeWatch();
  bool HasRealGpus() const;  // of this machine
  bool KeepsShares() const;
  void Calibrate();

  // server_clusters.cc
  core::Result<void> MakeSlurm();
  core::Result<void> LockCluster();
  void MakeClusterAgents();
  core::Result<void> HearAgents(engine::SlurmControlOptions& control);
  core::Result<void> MakeKubernetes();
  engine::StepsOfRuns MakeClusterMonitor();
  const std::string& AgentsStore() const {
    return options.agents_store.empty() ? options.store : options.agents_store;
  }
};

}  // namespace sharewell::server
