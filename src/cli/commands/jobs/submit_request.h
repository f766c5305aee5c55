// The flags of `submit`, and the submissions they make. Nothing is sent from here.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/args/model_flags.h"
#include "cli/client/server_client.h"
#include "core/job/submission.h"
#include "core/result.h"
#include "report/jobs/job_tables.h"

namespace sharewell::cli {

struct SubmitRequest {
  std::string name, gpus = "1", model, workers = "4", profile, project, gpu_memory, memory;
  std::string cpus = "auto";
  std::string gpu_models, max_slowdown, sm_share, priority = "0", time, image, after, trained;
  std::vector<std::string> env, array;
  bool exclusive = false, latency_sensitive = false, no_guests = false, held = false,
       no_requeue = false, no_watch = false;
  ModelFlags model_flags;
  CLI::Option* workers_option = nullptr;
  std::vector<std::string> command;
  const char* verb = "submit";  // the command whose flags these are

  // What it is and may use; `run` has these alone.
  void AddNeeds(CLI::App& app);
  void Add(CLI::App& app);  // and its place in the queue

  // All of the flags' words checked, without what --model predicts; of an array one that stands for
  // all. The environment is what the caller's shell shares with the job (docs/serving.md) and
  // --env.
  core::Result<core::Submission> One() const;
  // Each --env by name: their values are templates of an array.
  std::vector<std::string> GivenNames() const;
  // Puts what the model file is predicted to need on the first of the server's GPUs that it may run
  // on: by the server, which has learnt from its own runs, or here by --trained, or where the
  // server cannot. REQUIRES: `model` is given.
  core::Result<void> PutPrediction(const ServerClient& client,
                                   const std::vector<report::GpuNow>& gpus,
                                   core::Submission& one) const;
};

// What of the caller's environment goes with a job, sorted: that which makes a command mean the
// same there as here, and nothing that may be secret.
std::vector<std::pair<std::string, std::string>> SharedEnvironment(const char* const* all);

// Whether the command can be found as the job would, in its PATH.
core::Result<void> CheckCommand(const core::Submission& submission);

}  // namespace sharewell::cli
