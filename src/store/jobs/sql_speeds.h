// How fast jobs stepped over their lives, as SqlJobStore writes it (docs/formats/store.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/job/speed_history.h"
#include "core/result.h"
#include "store/sql.h"

namespace sharewell::store {

// Within the caller's transaction.
core::Result<void> PutSpeeds(
    Database& database, const std::vector<std::pair<std::int64_t, core::SpeedHistory>>& speeds);
core::Result<void> RemoveSpeeds(Database& database, std::span<const std::int64_t> jobs);

std::string SpeedToJson(const core::SpeedHistory& history);
// Absent: it is none.
std::optional<core::SpeedHistory> SpeedFromJson(std::string_view text);

}  // namespace sharewell::store
