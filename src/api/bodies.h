// What clients send: submissions and what-ifs. Every error names the key that is wrong.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/api.h"
#include "core/job/submission.h"
#include "core/metric.h"
#include "core/result.h"

namespace sharewell::api {

// One submission, or {"jobs":[...]}.
core::Result<std::vector<core::Submission>> ParseSubmissions(std::string_view body);

struct WhatIfAsked {
  std::vector<std::string> policies;
  double days = 7;
  std::string follow = {};  // the name by which its progress can be asked for; empty: none
};
core::Result<WhatIfAsked> ParseWhatIf(std::string_view body);

struct SimulateAsked {
  std::vector<std::string> policies;
  std::string name = "trace", follow = {};
};
// ?policies=slot,sharewell&name=jobs.csv&follow=NAME
core::Result<SimulateAsked> SimulateAskedOf(
    const std::vector<std::pair<std::string, std::string>>& query);

// ?by=user&from=2026-11-01&to=now-as-ms&format=csv, or ?seconds=3600 up to now; `accept` is the
// header of that name. Absent: nothing of it is asked for, but the figures of the last `seconds`.
core::Result<std::optional<UsageAsked>> UsageAskedOf(
    const std::vector<std::pair<std::string, std::string>>& query, std::string_view accept,
    core::UnixMillis now);

// {"label":"..."}, or nothing at all: what a new token is for.
core::Result<std::string> ParseTokenLabel(std::string_view body);

// {"code":"..."}: of a link that signs in.
core::Result<std::string> ParseSignInCode(std::string_view body);

}  // namespace sharewell::api
