// sharewell.toml (docs/formats/settings.md): what one user may take of the server, for everybody,
// by user and by group; how jobs of which nothing is known start; projects; and what GPUs cost.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/job/limits.h"
#include "core/prices.h"
#include "core/projects.h"
#include "core/result.h"

namespace sharewell::server {

// What one table gives, by the order of core::LimitKeys().
using GivenLimits = std::vector<std::optional<double>>;

// [sharing]: whether jobs of which nothing is known wait for an idle GPU (unknown = "alone"), or
// may start beside others as guests ("guest").
struct GivenSharing {
  std::optional<bool> unknown_alone;          // of everybody
  std::map<std::string, bool> alone_of_user;  // by name

  friend bool operator==(const GivenSharing&, const GivenSharing&) = default;
};

struct SettingsFile {
  GivenLimits everybody = GivenLimits(core::LimitKeys().size());
  std::map<std::string, GivenLimits> users, groups;  // by name
  GivenSharing sharing;
  core::Prices prices;  // [prices]
  // Names in it that the GPU catalogue does not have: they price GPUs that call themselves so.
  std::vector<std::string> unknown_models;
  core::Projects projects;  // [projects.NAME]
};

// `name` stands in errors, with the line.
core::Result<SettingsFile> ParseSettings(std::string_view text, const std::string& name);
// As root, a file that anybody else may write is refused. Where there is none: nothing is given,
// or, if `named`, an error.
core::Result<SettingsFile> ReadSettings(const std::string& path, bool named);

}  // namespace sharewell::server
