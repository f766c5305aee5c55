// What each project of the server has in use now, as GET /projects, `why` and the dashboard tell
// it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "control/service/job_service.h"
#include "core/job/job_record.h"
#include "core/projects.h"

namespace sharewell::api {

struct ProjectUse {
  double gpus_of_share = 0;              // its part of all GPUs
  double gpus_in_use = 0;                // of a GPU that several jobs share, each has an equal part
  std::size_t running = 0, waiting = 0;  // jobs

  bool has_share() const { return gpus_in_use >= gpus_of_share - 1e-6; }
};

// By ProjectId. Any thread.
std::vector<ProjectUse> UseOfProjects(const core::Projects& projects,
                                      const control::JobService& service);
// "it counts to project vision, which has 3 of the GPUs in use and a share of 4: it goes before
// projects that have theirs". Absent: it does not wait, or there are no projects.
std::optional<std::string> ProjectInWords(const core::Projects& projects,
                                          const core::JobRecord& job,
                                          const control::JobService& service);

}  // namespace sharewell::api
