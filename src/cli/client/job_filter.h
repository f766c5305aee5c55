// Which jobs a list shows, for every command that lists jobs: mine, --user, --state, --flat.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/client/server_client.h"
#include "core/result.h"
#include "report/jobs/job_rows.h"

namespace sharewell::cli {

class JobFilterFlags {
 public:
  void Add(CLI::App& app);
  // A usage error lists the states. Of `mine` the server is asked who that is.
  core::Result<report::JobsShown> Find(const ServerClient& client) const;

 private:
  std::string whose_, user_, states_;
  bool flat_ = false;
};

// "phase=running,waiting&user=ann", as GET /jobs has it; empty: all.
std::string JobsQuery(const report::JobsShown& shown);

}  // namespace sharewell::cli
