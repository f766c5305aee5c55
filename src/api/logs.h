// Bytes of a job's log, by offset, over the pieces it lies in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/api.h"
#include "core/result.h"

namespace sharewell::api {

// From `offset` on (below 0: so many from the end), at most `most`. What lies before the first
// piece is gone: it begins with that. A piece that is no plain file of its own (a link, a pipe, a
// file with a second name) is not read: whoever owns the folder must not make us read others'.
core::Result<LogPart> ReadLog(const std::vector<LogPiece>& pieces, std::int64_t offset,
                              std::size_t most);

// GET /jobs/{number}/logs, of the job as it is now: the reading thread.
void ShowLog(ApiImpl& api, const http::HttpRequest& request,
             const std::optional<core::Account>& who, const control::JobPtr& job,
             const http::Responder& responder);

}  // namespace sharewell::api
