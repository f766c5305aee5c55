// sharewell: the policy people should just use. Who holds less than an equal share goes first, then
// who is due: by submission and by what is left to do, later for users who used much (order/due.h).
// A placement that shares within a slowdown bound over every job's lifetime (placement/share.h),
// nodes kept for jobs of several GPUs that wait (reservations.h), cores as a job can use them
// (sizing/slim.cc), and on small clusters of several GPU models an exchange that gives each job the
// model it is worth (generations/generations.h).
#pragma once

#include <memory>
#include <string>

#include "policy/options.h"
#include "policy/policy.h"

namespace sharewell::policy {

std::unique_ptr<Policy> NewSharewell(std::string name, const Options& options);

}  // namespace sharewell::policy
