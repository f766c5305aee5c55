#include "engine/slurm/site/slurm_limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdlib>

#include "core/text/quoted.h"
#include "engine/slurm/read/slurm_words.h"
#include "engine/slurm/site/conf_lines.h"

namespace sharewell::engine {
namespace {

using core::FailedError;
using core::Result;

constexpr std::array<const char*, 9> kQosFields = {"GrpTRES",   "GrpTRESMins",    "GrpTRESRunMins",
                                                   "MaxTRES",   "MaxTRESPerNode", "MaxTRESMins",
                                                   "MaxTRESPU", "MaxTRESPA",      "MinTRES"};
constexpr std::array<const char*, 6> kAssociationFields = {
    "GrpTRES", "GrpTRESMins", "GrpTRESRunMins", "MaxTRES", "MaxTRESPerNode", "MaxTRESMins"};
constexpr std::size_t kMostLimits = 1'000'000;

// The fields of each line, each with as many as there are names.
Result<std::vector<std::vector<std::string>>> LimitRows(std::string_view text, std::size_t fields) {
  std::vector<std::vector<std::string>> out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty()) continue;
    std::vector<std::string> row;
    for (std::string_view rest = line;;) {
      const auto bar = rest.find('|');
      row.emplace_back(rest.substr(0, bar));
      if (bar == std::string_view::npos) break;
      rest.remove_prefix(bar + 1);
    }
    if (row.size() != fields || out.size() >= kMostLimits) {
      return FailedError("sacctmgr: {} has not {} fields", core::Quoted(line), fields);
    }
    out.push_back(std::move(row));
  }
  return out;
}

template <std::size_t N>
void TakeLimits(const std::vector<std::string>& row, std::size_t from,
                const std::array<const char*, N>& fields, const SlurmLimit& of,
                std::vector<SlurmLimit>& out) {
  for (std::size_t i = 0; i < N; ++i) {
    if (LowerConf(row[from + i]).find("gres/gpu") == std::string::npos) continue;
    SlurmLimit limit = of;
    limit.field = fields[i];
    limit.tres = row[from + i];
    out.push_back(std::move(limit));
  }
}

}  // namespace

std::vector<std::string> QosLimitsCommand() {
  return {"sacctmgr", "-n",  "-P",
          "show",     "qos", fmt::format("format=Name,{}", fmt::join(kQosFields, ","))};
}

Result<std::vector<SlurmLimit>> ParseQosLimits(std::string_view text) {
  const auto rows = LimitRows(text, 1 + kQosFields.size());
  RETURN_IF_ERROR(rows);
  std::vector<SlurmLimit> out;
  for (const auto& row : *rows) {
    TakeLimits(row, 1, kQosFields, {"QOS " + row[0], "qos " + row[0], "", ""}, out);
  }
  return out;
}

std::vector<std::string> AssociationLimitsCommand(const std::string& cluster) {
  std::vector<std::string> words = {
      "sacctmgr",
      "-n",
      "-P",
      "show",
      "assoc",
      fmt::format("format=Account,User,Partition,{}", fmt::join(kAssociationFields, ","))};
  if (!cluster.empty()) words.push_back("cluster=" + cluster);
  return words;
}

Result<std::vector<SlurmLimit>> ParseAssociationLimits(std::string_view text) {
  const auto rows = LimitRows(text, 3 + kAssociationFields.size());
  RETURN_IF_ERROR(rows);
  std::vector<SlurmLimit> out;
  for (const auto& row : *rows) {
    const std::string &account = row[0], &user = row[1], &partition = row[2];
    SlurmLimit of{"account " + account, "account " + account, "", ""};
    if (!user.empty()) {
      of.of = fmt::format("user {} of account {}", user, account);
      of.modify = fmt::format("user {} account={}", user, account);
    }
    if (!partition.empty()) {
      of.of += " in partition " + partition;
      of.modify += " partition=" + partition;
    }
    TakeLimits(row, 3, kAssociationFields, of, out);
  }
  return out;
}

std::optional<std::string> TresValue(std::string_view tres, std::string_view name) {
  for (const std::string_view part : SplitAtCommas(tres)) {
    const auto equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    if (SameConfWord(part.substr(0, equals), name)) return std::string(part.substr(equals + 1));
  }
  return std::nullopt;
}

std::optional<std::string> TypedGpuValue(std::string_view tres) {
  for (const std::string_view part : SplitAtCommas(tres)) {
    const auto equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    if (LowerConf(part).starts_with("gres/gpu:")) return std::string(part.substr(equals + 1));
  }
  return std::nullopt;
}

std::optional<std::string> ShardWeightMissing(std::string_view billing) {
  const auto gpu = TresValue(billing, "gres/gpu");
  if (!gpu || TresValue(billing, "gres/shard")) return std::nullopt;
  char* end = nullptr;
  const double weight = std::strtod(gpu->c_str(), &end);
  if (gpu->empty() || *end != '\0' || !(weight >= 0) || weight > 1e12) return std::nullopt;
  return fmt::format("GRES/shard={:g}", weight / 100);
}

}  // namespace sharewell::engine
