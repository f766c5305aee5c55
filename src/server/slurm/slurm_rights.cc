#include "server/slurm/slurm_rights.h"

#include <fmt/format.h>

#include "engine/slurm/site/site_check.h"

namespace sharewell::server {

std::string SlurmRightsRemark(engine::SlurmDriver& driver, uid_t uid) {
  if (uid == 0) return {};
  const auto answer = driver.Run({"scontrol", "show", "config"}, "", core::Seconds(10));
  if (!answer || answer->exit_code != 0) return {};
  const auto settings = engine::ParseSlurmSettings(answer->output);
  const auto found = settings.find("SlurmUser");  // "slurm(64030)"
  if (found == settings.end() || found->second.ends_with(fmt::format("({})", uid))) return {};
  return fmt::format(
      "this account (user id {}) is neither root nor Slurm's own, {}: unless it is an operator in "
      "Slurm's database, Slurm refuses every placement; with --mode user it places jobs of its own",
      uid, found->second);
}

}  // namespace sharewell::server
