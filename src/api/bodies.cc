#include "api/bodies.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <utility>

#include "api/api_impl.h"
#include "core/result.h"
#include "core/text/iso_time.h"
#include "core/text/quoted.h"
#include "json/reader.h"
#include "store/jobs/job_json.h"

namespace sharewell::api {

using core::UsageError;

namespace {

// A parsed value takes many times its text: two bodies of 30 MB, empty lists alone, took 0.8 GB.
constexpr std::ptrdiff_t kMostValues = 2'000'000;
constexpr core::UnixMillis kMostMillis = 253'402'300'799'999;  // the year 9999
constexpr std::size_t kMostPolicies = 20, kMostFollow = 64;

core::Result<void> CheckFollow(const std::string& name) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; };
  if (name.size() <= kMostFollow && std::all_of(name.begin(), name.end(), plain)) return {};
  return UsageError("follow: a name of at most {} letters, digits and '-' is needed", kMostFollow);
}

// A date, a time, or Unix milliseconds.
std::optional<core::UnixMillis> UsageTimeOf(const std::string& text) {
  core::UnixMillis millis = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, millis);
  if (!text.empty() && read.ec == std::errc() && read.ptr == end) {
    return millis >= 0 && millis <= kMostMillis ? std::optional(millis) : std::nullopt;
  }
  return core::ParseIsoTime(text);
}

}  // namespace

core::Result<std::vector<core::Submission>> ParseSubmissions(std::string_view body) {
  if (std::count(body.begin(), body.end(), ',') > kMostValues) {
    return UsageError(
        "this submission has more than {} commas, too many values to take at once; "
        "send its jobs in several requests",
        kMostValues);
  }
  const auto parsed = store::ParseSent(body);
  RETURN_IF_ERROR(parsed);
  const json::Value root = parsed->root();
  std::vector<core::Submission> jobs;
  if (!root.Has("jobs")) {
    auto job = store::SubmissionFromJson(root);
    RETURN_IF_ERROR(job);
    jobs.push_back(std::move(*job));
    return jobs;
  }
  const json::Value list = root["jobs"];
  if (!list.is_list() || list.empty()) {
    return UsageError("jobs: give a list of at least one submission");
  }
  if (root.size() > 1) return UsageError("no other key may stand beside \"jobs\"");
  for (const json::Value entry : list.items()) {
    auto job = store::SubmissionFromJson(entry);
    if (!job) {
      return tl::unexpected(
          std::move(job.error()).Within("jobs[" + std::to_string(jobs.size()) + "]"));
    }
    jobs.push_back(std::move(*job));
  }
  return jobs;
}

core::Result<WhatIfAsked> ParseWhatIf(std::string_view body) {
  const auto parsed = store::ParseSent(body);
  RETURN_IF_ERROR(parsed);
  std::string error;
  WhatIfAsked asked;
  json::Reader reader(parsed->root(), "", json::Trust::kSent, error);
  reader.Number("days", asked.days, {0.001, 3650});
  reader.Text("follow", asked.follow, 64);
  reader.Texts("policies", asked.policies, kMostPolicies, 200);
  reader.RefuseOthers();
  if (!error.empty()) return UsageError("{}", error);
  if (asked.policies.empty()) {
    return UsageError("policies: give at least one (`sharewell policies` lists them)");
  }
  RETURN_IF_ERROR(CheckFollow(asked.follow));
  return asked;
}

core::Result<SimulateAsked> SimulateAskedOf(
    const std::vector<std::pair<std::string, std::string>>& query) {
  SimulateAsked asked;
  for (const auto& [key, value] : query) {
    if (key == "name" && !value.empty()) asked.name = value.substr(0, 200);
    if (key == "follow") asked.follow = value;
    if (key != "policies") continue;
    for (std::size_t at = 0; at < value.size();) {
      const std::size_t comma = std::min(value.find(',', at), value.size());
      if (comma > at) asked.policies.push_back(value.substr(at, comma - at));
      at = comma + 1;
    }
  }
  RETURN_IF_ERROR(CheckFollow(asked.follow));
  if (asked.policies.empty() || asked.policies.size() > kMostPolicies) {
    return UsageError(
        "policies: give 1 to {}, separated by commas (`sharewell policies` lists them)",
        kMostPolicies);
  }
  return asked;
}

core::Result<std::optional<UsageAsked>> UsageAskedOf(
    const std::vector<std::pair<std::string, std::string>>& query, std::string_view accept,
    core::UnixMillis now) {
  UsageAsked asked;
  asked.csv = accept.find("text/csv") != std::string_view::npos;
  bool is_table = asked.csv;
  asked.to = now;
  std::optional<core::UnixMillis> from;
  for (const auto& [key, value] : query) {
    if (key == "by") {
      asked.by = value;
    } else if (key == "from" || key == "to") {
      const auto time = UsageTimeOf(value);
      if (!time) {
        return UsageError(
            "{}: {} is not a time; give 2026-11-15, 2026-11-15T08:00 (UTC), or Unix "
            "milliseconds",
            key, core::Quoted(value));
      }
      (key == "to" ? asked.to : from.emplace()) = *time;
    } else if (key == "format") {
      if (value != "csv" && value != "json") {
        return UsageError("format: {} is not allowed; give json or csv", core::Quoted(value));
      }
      asked.csv = value == "csv";
    } else {
      continue;
    }
    is_table = true;
  }
  if (!is_table) return std::nullopt;
  const auto seconds = QueryNumber(query, "seconds", kLeastUsage, kMostUsage);
  RETURN_IF_ERROR(seconds);
  asked.from = from.value_or(asked.to - seconds->value_or(kUsualUsage) * 1000);
  if (asked.from >= asked.to) return UsageError("from: it is not before to");
  return asked;
}

core::Result<std::string> ParseTokenLabel(std::string_view body) {
  if (body.empty()) return std::string();
  const auto parsed = store::ParseSent(body);
  RETURN_IF_ERROR(parsed);
  std::string error, label;
  json::Reader reader(parsed->root(), "", json::Trust::kSent, error);
  reader.Text("label", label, 200);
  reader.RefuseOthers();
  if (!error.empty()) return UsageError("{}", error);
  return label;
}

core::Result<std::string> ParseSignInCode(std::string_view body) {
  const auto parsed = store::ParseSent(body);
  RETURN_IF_ERROR(parsed);
  std::string error, code;
  json::Reader reader(parsed->root(), "", json::Trust::kSent, error);
  reader.Text("code", code, 200);
  reader.RefuseOthers();
  if (error.empty() && code.empty()) error = "code: missing; it stands in the link that signs in";
  if (!error.empty()) return UsageError("{}", error);
  return code;
}

}  // namespace sharewell::api
