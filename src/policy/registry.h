// The registry: every order, placement, sizing and named policy, by name. Help, completion and docs
// come from these tables. A policy is added by writing one pair of files and one line in
// registry.cc.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "policy/options.h"
#include "policy/policy.h"

namespace sharewell::policy {

struct Entry {
  std::string_view kind;  // "order", "placement", "sizing", "policy"
  std::string_view name;
  std::string_view help;   // one line
  std::string_view paper;  // where it comes from
};

// All names, in the order they are shown in.
std::vector<Entry> Entries();

// A named policy ("sharewell"), or a composition of an order, a placement and a sizing, in any
// number and order of parts ("srtf+pack+slim"; an order alone: slots, and the cores asked for). The
// policy's name is `text`. Unknown names get an error with the nearest one.
core::Result<std::unique_ptr<Policy>> NewPolicy(const std::string& text, const Options& options);

// Whether the policy of that name ever puts two jobs on one GPU.
bool SharesGpus(const std::string& text);

}  // namespace sharewell::policy
