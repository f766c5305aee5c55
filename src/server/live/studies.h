// What the API asks of the studies: predictions, what-ifs, forecasts, profiles, and where logs lie.
#pragma once

#include <string>

#include "api/api.h"
#include "catalogue/gpu_catalogue.h"
#include "control/service/service.h"
#include "core/prices.h"
#include "server/learn/learner.h"
#include "server/live/advisor.h"
#include "server/live/job_watch.h"
#include "server/live/this_machine.h"

namespace sharewell::server {

struct StudyParts {
  const server::MachineHere* machine;
  const catalogue::GpuCatalogue* catalogue;
  const control::Service* service;
  const server::JobWatch* watch;  // null: the GPUs are not on this machine
  Learner* learner;
  ServerAdvisor* advisor;
  std::string store, store_id, state, policy;
  core::Ratio max_slowdown;
  double match_patience;
  core::Prices prices;
  core::Projects projects;
};

// All of `parts` must outlive them.
api::Studies ServerStudies(const StudyParts& parts);

}  // namespace sharewell::server
