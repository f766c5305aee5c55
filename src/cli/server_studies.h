// What the API asks of the studies: predictions, what-ifs, forecasts, profiles, and where logs lie.
#pragma once

#include <string>

#include "control/service/service.h"
#include "platform/files/gpu_catalogue.h"
#include "serve/api/api.h"
#include "study/job_watch.h"
#include "study/this_machine.h"

namespace sharewell::cli {

struct StudyParts {
  const study::MachineHere* machine;
  const platform::GpuCatalogue* catalogue;
  const control::Service* service;
  const study::JobWatch* watch;
  std::string store, state, policy;
  core::Ratio max_slowdown;
};

// All of `parts` must outlive them.
serve::Studies ServerStudies(const StudyParts& parts);

}  // namespace sharewell::cli
