// Profiles: what workloads were measured to need, alone. Format: docs/formats/profiles.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/profile.h"
#include "core/result.h"

namespace sharewell::catalogue {

core::Result<std::vector<core::Profile>> ReadProfiles(const std::string& path);
core::Result<std::vector<core::Profile>> ReadProfilesText(std::string_view text,
                                                          const std::string& name);

}  // namespace sharewell::catalogue
