// Profiles: what workloads were measured to need, alone. Format: docs/formats/profiles.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/job/profile.h"
#include "core/result.h"
#include "platform/files/csv.h"

namespace sharewell::catalogue {

core::Result<std::vector<core::Profile>> ReadProfiles(const std::string& path);
core::Result<std::vector<core::Profile>> ReadProfilesText(std::string_view text,
                                                          const std::string& name);

// "1:100;2:180;4:240": cores a GPU, and the throughput there in any one unit. Throughputs become
// shares of the last, which is the most. Empty for an empty field; what is wrong is csv's error.
core::CpuCurve ReadCpuCurve(platform::CsvReader& csv, platform::CsvReader::Column column);

}  // namespace sharewell::catalogue
