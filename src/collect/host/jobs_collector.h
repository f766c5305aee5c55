// The collector of jobs' figures on the host, with its clock to be set by tests.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "collect/collector.h"
#include "collect/jobs.h"

namespace sharewell::collect {

// `jobs` may be null: then there is nothing to say. `now`: seconds of a clock that only goes on.
std::unique_ptr<Collector> NewJobsCollector(const std::string& root, JobSource* jobs,
                                            std::function<double()> now);

}  // namespace sharewell::collect
