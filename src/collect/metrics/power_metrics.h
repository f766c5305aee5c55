// Power, energy and temperature of the machine without its GPUs: RAPL, hwmon, IPMI.
#pragma once

#include "collect/metrics/metric_makers.h"

namespace sharewell::collect {

inline constexpr core::Metric kRaplPackageJoules =
    Counter("rapl_package_joules", "joules", "index", "Energy of the processor package.",
            "node_rapl_package_joules_total");
inline constexpr core::Metric kRaplCoreJoules =
    Counter("rapl_core_joules", "joules", "index", "Energy of the package's cores.",
            "node_rapl_core_joules_total");
inline constexpr core::Metric kRaplUncoreJoules =
    Counter("rapl_uncore_joules", "joules", "index", "Energy of the package's uncore.",
            "node_rapl_uncore_joules_total");
inline constexpr core::Metric kRaplDramJoules =
    Counter("rapl_dram_joules", "joules", "index", "Energy of the package's memory.",
            "node_rapl_dram_joules_total");
inline constexpr core::Metric kRaplPlatformJoules = Counter(
    "rapl_platform_joules", "joules", "index",
    "Energy of the whole board, where it is counted (psys).", "node_rapl_psys_joules_total");

inline constexpr core::Metric kCpuTemperatureCelsius =
    Gauge("cpu_temperature_celsius", "celsius", "", "The hottest processor sensor.");
inline constexpr core::Metric kTemperatureCelsius =
    Gauge("temperature_celsius", "celsius", "sensor", "Temperature by one sensor (hwmon).",
          "node_hwmon_temp_celsius");
inline constexpr core::Metric kFanRpm =
    Gauge("fan_rpm", "rpm", "sensor", "Speed of one fan (hwmon).", "node_hwmon_fan_rpm");
inline constexpr core::Metric kSensorPowerWatts =
    Gauge("sensor_power_watts", "watts", "sensor", "Power by one sensor (hwmon).",
          "node_hwmon_power_watt");

inline constexpr core::Metric kMachinePowerWatts =
    Gauge("machine_power_watts", "watts", "",
          "Power of the whole machine, by its management controller (IPMI DCMI), read every 30 s.",
          "ipmi_dcmi_power_consumption_watts");
inline constexpr core::Metric kIpmiTemperatureCelsius =
    Gauge("ipmi_temperature_celsius", "celsius", "name",
          "Temperature by one sensor of the management controller, read every 30 s.",
          "ipmi_temperature_celsius");
inline constexpr core::Metric kIpmiFanRpm =
    Gauge("ipmi_fan_rpm", "rpm", "name",
          "Speed of one fan by the management controller, read every 30 s.", "ipmi_fan_speed_rpm");
inline constexpr core::Metric kIpmiPowerWatts =
    Gauge("ipmi_power_watts", "watts", "name",
          "Power by one sensor of the management controller, read every 30 s.", "ipmi_power_watts");

inline constexpr const core::Metric* kPowerMetrics[] = {
    &kRaplPackageJoules,  &kRaplCoreJoules,        &kRaplUncoreJoules,       &kRaplDramJoules,
    &kRaplPlatformJoules, &kCpuTemperatureCelsius, &kTemperatureCelsius,     &kFanRpm,
    &kSensorPowerWatts,   &kMachinePowerWatts,     &kIpmiTemperatureCelsius, &kIpmiFanRpm,
    &kIpmiPowerWatts,
};

}  // namespace sharewell::collect
