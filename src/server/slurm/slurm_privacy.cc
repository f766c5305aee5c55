#include "server/slurm/slurm_privacy.h"

#include <fmt/format.h>

#include "engine/slurm/read/slurm_words.h"
#include "engine/slurm/site/conf_lines.h"
#include "engine/slurm/site/site_check.h"

namespace sharewell::server {
namespace {

constexpr core::Seconds kPatience(10);

bool HidesOne(std::string_view data, std::string_view what) {
  for (const std::string_view word : engine::SplitAtCommas(data)) {
    if (engine::SameConfWord(word, what)) return true;
  }
  return false;
}

}  // namespace

std::set<std::string> SlurmOperatorsIn(std::string_view text) {
  std::set<std::string> operators;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t bar = line.find('|');
    if (bar == std::string_view::npos || bar == 0) continue;
    const std::string_view level = line.substr(bar + 1);
    if (engine::SameConfWord(level, "Operator") || engine::SameConfWord(level, "Administrator")) {
      operators.emplace(line.substr(0, bar));
    }
  }
  return operators;
}

core::Result<api::Privacy> SlurmPrivacy(engine::SlurmDriver& driver) {
  const auto answer = driver.Run({"scontrol", "show", "config"}, "", kPatience);
  RETURN_IF_ERROR(answer);
  if (answer->exit_code != 0) {
    return core::FailedError("scontrol show config: {}", answer->output + answer->errors);
  }
  const auto settings = engine::ParseSlurmSettings(answer->output);
  const auto found = settings.find("PrivateData");  // "jobs,usage", or "none"
  api::Privacy privacy;
  if (found == settings.end()) return privacy;
  privacy.jobs = HidesOne(found->second, "jobs") || HidesOne(found->second, "all");
  privacy.usage = HidesOne(found->second, "usage") || HidesOne(found->second, "all");
  privacy.setting = "PrivateData=" + found->second;
  if (!privacy.jobs && !privacy.usage) return privacy;
  const auto users =
      driver.Run({"sacctmgr", "-nP", "show", "user", "format=User,AdminLevel"}, "", kPatience);
  if (users && users->exit_code == 0) privacy.operators = SlurmOperatorsIn(users->output);
  return privacy;
}

}  // namespace sharewell::server
