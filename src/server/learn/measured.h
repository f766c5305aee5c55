// What was measured, for the API: the samples of one job, and pairs of workloads on one GPU.
#pragma once

#include <cstddef>
#include <string>

#include "core/job/job_record.h"
#include "core/result.h"

namespace sharewell::server {

// GET /jobs/{number}/samples: series of the job itself, and of its machine and GPUs over the same
// time. At most `most` points a series. Of a counter: its rate a second. Opens the store.
core::Result<std::string> JobSamplesJson(const std::string& store, const std::string& node,
                                         const core::JobRecord& job, std::size_t most);

// GET /pairs: those that the program carries, and those that this server measured itself.
core::Result<std::string> PairsJson(const std::string& store);

}  // namespace sharewell::server
