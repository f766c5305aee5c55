// Waits for jobs to be over.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/client/server_client.h"
#include "core/job/job_record.h"
#include "core/result.h"

namespace sharewell::cli {

// The records of these jobs once all are over, in the order given. Listens to the server's events;
// one that goes away is waited for, five minutes at most. Ctrl-C ends the program, says that the
// jobs go on, and leaves them alone.
core::Result<std::vector<core::JobRecord>> WaitForJobs(const ServerClient& client,
                                                       const std::vector<std::int64_t>& numbers);

// What a shell should see of them: the first one's that failed, in the order given.
int ExitCodeOf(const std::vector<core::JobRecord>& jobs);

}  // namespace sharewell::cli
