// A run as its folder keeps it (docs/formats/jobs.md): what the supervisor needs, and the request
// itself, so that a server that comes up later knows what runs.
#pragma once

#include "engine/local/run/job_folder.h"
#include "engine/runner.h"

namespace sharewell::engine {

// False: some text of it has a zero byte, which no command can be given.
bool PutRequest(const RunRequest& request, engine::JobSpec& spec);
RunRequest RequestIn(const engine::JobSpec& spec);

}  // namespace sharewell::engine
