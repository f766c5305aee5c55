// sharewell: the policy people should just use. Users in turn, who used least first
// (order/fair.h); within a user an order that puts the short first without leaving the long to the
// end (order/drain.h); a placement that shares within a slowdown bound over every
// job's lifetime (placement/share.h), cores as a job can use them (sizing/slim.cc), and on small
// clusters of several GPU models an exchange that gives each job the model it is worth
// (generations/generations.h).
#pragma once

#include <memory>
#include <string>

#include "policy/options.h"
#include "policy/policy.h"

namespace sharewell::policy {

std::unique_ptr<Policy> NewSharewell(std::string name, const Options& options);

}  // namespace sharewell::policy
