// From what a person calls a job to its number: the number itself, or its name. Names need not be
// unique, and this is the one place that decides which job is meant.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client/server_client.h"
#include "core/result.h"

namespace sharewell::cli {

// "17"; a usage error says where numbers come from.
core::Result<std::int64_t> ParseJob(std::string_view text);

// To look at: of several jobs of that name the newest, the caller's own before those of others.
// `said` is then "job 19, the newest of 3 named 'bert'; others: 4, 7"; else empty.
struct NamedJob {
  std::int64_t number = 0;
  std::string said;
};
core::Result<NamedJob> JobToLookAt(const ServerClient& client, std::string_view job);

// To act on: numbers, ranges ("71-370") and names; rising, without repeats. A name counts only
// where exactly one job of the caller that is not over has it: what cannot be undone is never
// guessed at.
core::Result<std::vector<std::int64_t>> JobsToActOn(const ServerClient& client,
                                                    const std::vector<std::string>& jobs);

}  // namespace sharewell::cli
