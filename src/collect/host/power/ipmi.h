// IPMI: the management controller's figures, by the tools that speak to it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collect/collector.h"

namespace sharewell::collect {

// "Current Power : 164 Watts" of ipmi-dcmi, "Instantaneous power reading: 220 Watts" of ipmitool.
// 0 W and less are no reading.
std::optional<double> ParseDcmiWatts(std::string_view text);

// The comma-separated lines of `ipmi-sensors` and `ipmitool -c sdr`: temperatures, fans and power;
// the others are left out.
std::vector<core::Reading> ParseIpmiSensors(std::string_view text);

struct IpmiOptions {
  std::string path = {};  // where the tools are looked for; empty: $PATH and the sbin folders
  core::Seconds every{30}, limit{20};
};

// Its thread starts with the first Collect, and only where there are a controller and a tool.
std::unique_ptr<Collector> NewIpmiCollector(const std::string& root, IpmiOptions options);

}  // namespace sharewell::collect
