// Server::Parts: what a server is made of, whatever its backend is.
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
#include "engine/local/log_keeper.h"
#include "http/http_server.h"
#include "server/backend.h"
#include "server/learn/learner.h"
#include "server/live/advisor.h"
#include "server/live/job_keeper.h"
#include "server/live/neighbours.h"
#include "server/live/step_reader.h"
#include "server/server.h"
#include "server/settings/settings.h"
#include "store/job_store.h"
#include "store/open_database.h"
#include "store/postgres/password.h"
#include "store/store.h"

namespace sharewell::server {

// Where a browser finds the dashboard; empty: nowhere (server_greeting.cc).
std::string DashboardAddress(const ServerOptions& options, const http::HttpServer& http);

// In the order they are made; they go in the opposite one.
struct Server::Parts {
  ServerOptions options;
  std::unique_ptr<Settings> settings;
  catalogue::GpuCatalogue catalogue;
  std::string key;  // seals records; empty: not root
  std::unique_ptr<store::JobStore> jobs;
  std::unique_ptr<store::Store> profiles;
  bool end_runs = false;  // of another store
  std::unique_ptr<Learner> learner;
  std::unique_ptr<Backend> backend;  // made first, destroyed after all who have its face
  std::unique_ptr<ServerAdvisor> advisor;
  std::unique_ptr<control::StoreWriter> writer;
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
  void Calibrate();

  // server_stores.cc
  core::Result<void> CheckPlaces() const;
  core::Result<void> OpenStores();
  core::Result<void> ClaimState();
  StateOwner Owner() const { return {jobs->Id(), store::WithoutPassword(options.store)}; }
};

}  // namespace sharewell::server
