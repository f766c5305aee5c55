// Every policy there is, by name: what the laws that hold for all of them are tested on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policy/options.h"
#include "policy/policy.h"

namespace sharewell::fixtures {

// All named policies, each order, placement and sizing of the registry by itself, and some
// compositions of them. A policy that is added to the registry is among them at once.
std::vector<std::string> EveryPolicy();
// Those that never stop a running training job.
std::vector<std::string> NonPreemptingPolicies();

// Does it give training jobs the cores that their users asked for?
bool GivesCoresAsAsked(const std::string& policy);

// REQUIRES: the registry knows it.
std::unique_ptr<policy::Policy> MakePolicy(const std::string& text, const policy::Options& options);

}  // namespace sharewell::fixtures
