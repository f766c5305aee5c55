// The screen of `sharewell top -w`: the terminal, the server and the state between them.
#pragma once

#include <optional>

#include "cli/args/command.h"
#include "cli/client/server_client.h"
#include "core/result.h"
#include "report/jobs/job_rows.h"

namespace sharewell::cli {

// Until the person quits. Absent: this is no terminal for it, and nothing was done. A server that
// does not answer at the beginning is an error; one that goes later is waited for, and said so.
// `shown`: what is shown first; keys change it.
core::Result<std::optional<ExitCode>> WatchServer(const ServerClient& client,
                                                  const report::JobsShown& shown);

}  // namespace sharewell::cli
