// What NVML, GPM and DCGM say of GPUs, and what of it belongs to which job.
//
// Instance "gpu" is NVML's index as text ("0"); a MIG instance is the GPU's index and the id of its
// GPU instance ("0:3"): the whole GPU's figures include it, so the two kinds are never added.
// The names and scales on export are dcgm-exporter's; what it calls received (RX) goes from the
// host to the GPU.
#pragma once

#include <array>

#include "collect/metrics/metric_makers.h"

namespace sharewell::collect {

inline constexpr double kExportPercent = 100;
inline constexpr double kExportMebibytes = 1.0 / (1024 * 1024);

constexpr core::Metric GpuGauge(std::string_view name, std::string_view unit, std::string_view help,
                                std::string_view exported = {}, double export_scale = 1) {
  core::Metric metric = Gauge(name, unit, "gpu", help, exported);
  metric.export_scale = export_scale;
  return metric;
}

constexpr core::Metric GpuCounter(std::string_view name, std::string_view unit,
                                  std::string_view help, std::string_view exported = {},
                                  double export_scale = 1) {
  core::Metric metric = GpuGauge(name, unit, help, exported, export_scale);
  metric.kind = core::MetricKind::kCounter;
  return metric;
}

// NVML, the whole GPU.
inline constexpr core::Metric kGpuBusy = GpuGauge(
    "gpu_busy_ratio", "ratio",
    "Share of the time in which at least one kernel ran on the GPU, looked at ten times a second.",
    "DCGM_FI_DEV_GPU_UTIL", kExportPercent);
inline constexpr core::Metric kGpuMemoryBusy =
    GpuGauge("gpu_memory_busy_ratio", "ratio",
             "Share of the time in which the GPU's memory was read or written.",
             "DCGM_FI_DEV_MEM_COPY_UTIL", kExportPercent);
inline constexpr core::Metric kGpuMemoryUsed =
    GpuGauge("gpu_memory_used_bytes", "bytes",
             "GPU memory that is allocated now, without what the driver reserves.",
             "DCGM_FI_DEV_FB_USED", kExportMebibytes);
inline constexpr core::Metric kGpuMemoryTotal =
    GpuGauge("gpu_memory_total_bytes", "bytes", "GPU memory that is there.", "DCGM_FI_DEV_FB_TOTAL",
             kExportMebibytes);
inline constexpr core::Metric kGpuMemoryReserved =
    GpuGauge("gpu_memory_reserved_bytes", "bytes",
             "GPU memory that driver and firmware keep for themselves.", "DCGM_FI_DEV_FB_RESERVED",
             kExportMebibytes);
inline constexpr core::Metric kGpuPower =
    GpuGauge("gpu_power_watts", "watts",
             "Power of the whole board, averaged by the GPU over about a second.",
             "DCGM_FI_DEV_POWER_USAGE");
inline constexpr core::Metric kGpuEnergy = GpuCounter(
    "gpu_energy_joules", "joules",
    "Energy of the whole board; between readings of the GPU's counter carried on by its power.",
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 1000);
inline constexpr core::Metric kGpuSmClock =
    GpuGauge("gpu_sm_clock_hertz", "hertz", "Clock of the SMs now.", "DCGM_FI_DEV_SM_CLOCK", 1e-6);
inline constexpr core::Metric kGpuMemoryClock =
    GpuGauge("gpu_memory_clock_hertz", "hertz", "Clock of the GPU's memory now.",
             "DCGM_FI_DEV_MEM_CLOCK", 1e-6);
inline constexpr core::Metric kGpuTemperature =
    GpuGauge("gpu_temperature_celsius", "celsius", "Temperature of the GPU's die now.",
             "DCGM_FI_DEV_GPU_TEMP");
inline constexpr core::Metric kGpuMemoryTemperature =
    GpuGauge("gpu_memory_temperature_celsius", "celsius", "Temperature of the GPU's memory now.",
             "DCGM_FI_DEV_MEMORY_TEMP");
inline constexpr core::Metric kGpuPcieReceived =
    GpuGauge("gpu_pcie_received_bytes_per_second", "bytes_per_second",
             "PCIe traffic from host to GPU over 20 ms before the reading; only where neither GPM "
             "nor DCGM counts it.",
             "DCGM_FI_DEV_PCIE_RX_THROUGHPUT", 1.0 / 1024);
inline constexpr core::Metric kGpuPcieSent =
    GpuGauge("gpu_pcie_sent_bytes_per_second", "bytes_per_second",
             "PCIe traffic from GPU to host over 20 ms before the reading; only where neither GPM "
             "nor DCGM counts it.",
             "DCGM_FI_DEV_PCIE_TX_THROUGHPUT", 1.0 / 1024);
inline constexpr core::Metric kGpuPcieReplays =
    GpuCounter("gpu_pcie_replays", "1", "PCIe packets that had to be sent again.",
               "DCGM_FI_DEV_PCIE_REPLAY_COUNTER");
inline constexpr core::Metric kGpuThrottleReasons = GpuGauge(
    "gpu_throttle_reasons", "1",
    "Why the clocks are below their highest now, NVML's bits: 1 idle, 2 set so, 4 power cap, 8 "
    "hardware slowdown, 16 sync boost, 32 heat (software), 64 heat (hardware), 128 power brake.",
    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS");
inline constexpr core::Metric kGpuThrottledPower = GpuCounter(
    "gpu_throttled_power_seconds", "seconds", "Time in which the power limit held the clocks back.",
    "DCGM_FI_DEV_POWER_VIOLATION", 1e9);
inline constexpr core::Metric kGpuThrottledThermal =
    GpuCounter("gpu_throttled_thermal_seconds", "seconds",
               "Time in which heat held the clocks back.", "DCGM_FI_DEV_THERMAL_VIOLATION", 1e9);
inline constexpr core::Metric kGpuThrottledSync =
    GpuCounter("gpu_throttled_sync_seconds", "seconds",
               "Time in which another GPU of the sync boost group held the clocks back.",
               "DCGM_FI_DEV_SYNC_BOOST_VIOLATION", 1e9);
inline constexpr core::Metric kGpuThrottledBoard =
    GpuCounter("gpu_throttled_board_seconds", "seconds",
               "Time in which a limit of the board held the clocks back.",
               "DCGM_FI_DEV_BOARD_LIMIT_VIOLATION", 1e9);
inline constexpr core::Metric kGpuThrottledReliability =
    GpuCounter("gpu_throttled_reliability_seconds", "seconds",
               "Time in which the reliability limit held the clocks back.",
               "DCGM_FI_DEV_RELIABILITY_VIOLATION", 1e9);
inline constexpr core::Metric kGpuEccCorrected =
    GpuCounter("gpu_ecc_corrected_errors", "1", "Memory errors that ECC corrected.",
               "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL");
inline constexpr core::Metric kGpuEccUncorrected = GpuCounter(
    "gpu_ecc_uncorrected_errors", "1", "Memory errors that ECC found and could not correct.",
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL");
inline constexpr core::Metric kGpuRemappedRowsCorrected =
    GpuCounter("gpu_remapped_rows_corrected", "1",
               "Memory rows replaced because of correctable errors, over the GPU's life.",
               "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS");
inline constexpr core::Metric kGpuRemappedRows =
    GpuCounter("gpu_remapped_rows", "1",
               "Memory rows replaced because of uncorrectable errors, over the GPU's life.",
               "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS");
inline constexpr core::Metric kGpuRowRemapFailed =
    GpuGauge("gpu_row_remap_failed", "1",
             "1 once a bad memory row could not be replaced: the GPU should be exchanged.",
             "DCGM_FI_DEV_ROW_REMAP_FAILURE");
inline constexpr core::Metric kGpuLastXid = GpuGauge(
    "gpu_last_xid", "1", "Number of the last XID error since the watch began; absent: none.",
    "DCGM_FI_DEV_XID_ERRORS");
inline constexpr core::Metric kGpuEncoder =
    GpuGauge("gpu_encoder_ratio", "ratio",
             "Share of the last second or so in which the video encoder worked.",
             "DCGM_FI_DEV_ENC_UTIL", kExportPercent);
inline constexpr core::Metric kGpuDecoder =
    GpuGauge("gpu_decoder_ratio", "ratio",
             "Share of the last second or so in which the video decoder worked.",
             "DCGM_FI_DEV_DEC_UTIL", kExportPercent);
inline constexpr core::Metric kGpuProcesses =
    GpuGauge("gpu_processes", "1", "Processes with a compute context on the GPU now.");

// GPM, the whole GPU or a MIG instance of it; where the GPU has none, DCGM, the whole GPU: means
// since the reading before.
inline constexpr double kActivityByGpm = 1, kActivityByDcgm = 2;
inline constexpr core::Metric kGpuActivitySource =
    GpuGauge("gpu_activity_source", "1",
             "Who counted the figures from gpu_graphics_ratio to the PCIe traffic with headers: 1 "
             "GPM, 2 DCGM; absent: nobody.");
inline constexpr core::Metric kGpuGraphics =
    GpuGauge("gpu_graphics_ratio", "ratio",
             "Share of the time in which the compute or graphics engine was active.",
             "DCGM_FI_PROF_GR_ENGINE_ACTIVE");
inline constexpr core::Metric kGpuSm =
    GpuGauge("gpu_sm_ratio", "ratio", "Share of the SMs that had at least one warp.",
             "DCGM_FI_PROF_SM_ACTIVE");
inline constexpr core::Metric kGpuOccupancy =
    GpuGauge("gpu_occupancy_ratio", "ratio", "Warps on the SMs over those they can hold.",
             "DCGM_FI_PROF_SM_OCCUPANCY");
inline constexpr core::Metric kGpuTensor =
    GpuGauge("gpu_tensor_ratio", "ratio", "Share of cycles in which the tensor pipes worked.",
             "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE");
inline constexpr core::Metric kGpuDram =
    GpuGauge("gpu_dram_ratio", "ratio", "Memory traffic over the memory's peak.",
             "DCGM_FI_PROF_DRAM_ACTIVE");
inline constexpr core::Metric kGpuFp64 =
    GpuGauge("gpu_fp64_ratio", "ratio", "Share of cycles in which the FP64 pipes worked.",
             "DCGM_FI_PROF_PIPE_FP64_ACTIVE");
inline constexpr core::Metric kGpuFp32 =
    GpuGauge("gpu_fp32_ratio", "ratio", "Share of cycles in which the FP32 pipes worked.",
             "DCGM_FI_PROF_PIPE_FP32_ACTIVE");
inline constexpr core::Metric kGpuFp16 = GpuGauge(
    "gpu_fp16_ratio", "ratio", "Share of cycles in which the FP16 pipes (without tensor) worked.",
    "DCGM_FI_PROF_PIPE_FP16_ACTIVE");
inline constexpr core::Metric kGpuInteger =
    GpuGauge("gpu_integer_ratio", "ratio", "Share of cycles in which the integer pipes worked.",
             "DCGM_FI_PROF_PIPE_INT_ACTIVE");
inline constexpr core::Metric kGpuNvlinkReceived =
    GpuGauge("gpu_nvlink_received_bytes_per_second", "bytes_per_second",
             "NVLink traffic into the GPU over all links.", "DCGM_FI_PROF_NVLINK_RX_BYTES");
inline constexpr core::Metric kGpuNvlinkSent =
    GpuGauge("gpu_nvlink_sent_bytes_per_second", "bytes_per_second",
             "NVLink traffic out of the GPU over all links.", "DCGM_FI_PROF_NVLINK_TX_BYTES");
inline constexpr core::Metric kGpuGpmPcieReceived =
    GpuGauge("gpu_gpm_pcie_received_bytes_per_second", "bytes_per_second",
             "PCIe traffic from host to GPU, headers included.", "DCGM_FI_PROF_PCIE_RX_BYTES");
inline constexpr core::Metric kGpuGpmPcieSent =
    GpuGauge("gpu_gpm_pcie_sent_bytes_per_second", "bytes_per_second",
             "PCIe traffic from GPU to host, headers included.", "DCGM_FI_PROF_PCIE_TX_BYTES");

// Per job. A process that no known job owns is a job of its own: "pid 4711".
inline constexpr core::Metric kJobGpuMemory =
    GpuGauge("job_gpu_memory_bytes", "bytes",
             "GPU memory that the job's processes hold now, as NVML counts it for each process.");
inline constexpr core::Metric kJobGpuSm =
    GpuGauge("job_gpu_sm_ratio", "ratio",
             "Share of the time in which kernels of the job's processes ran, as NVML samples it "
             "for each process.");
inline constexpr core::Metric kJobGpuSmApportioned{
    .name = "job_gpu_sm_apportioned_ratio",
    .unit = "ratio",
    .instance = "gpu",
    .help =
        "Under MPS, where NVML samples the server alone: the server's share of the time, split "
        "evenly among the jobs that are its clients.",
    .exported = "sharewell_job_gpu_sm_ratio",
    .basis = core::Basis::kApportioned};
inline constexpr core::Metric kJobGpuEnergyApportioned{
    .name = "job_gpu_energy_joules",
    .unit = "joules",
    .kind = core::MetricKind::kCounter,
    .instance = "gpu",
    .help =
        "The job's part of the GPU's energy since the watch of it began: by its share of the "
        "processes' SM samples; while nobody computes, evenly among those that hold the GPU.",
    .basis = core::Basis::kApportioned};

inline constexpr std::array kGpuMetrics{&kGpuBusy,
                                        &kGpuMemoryBusy,
                                        &kGpuMemoryUsed,
                                        &kGpuMemoryTotal,
                                        &kGpuMemoryReserved,
                                        &kGpuPower,
                                        &kGpuEnergy,
                                        &kGpuSmClock,
                                        &kGpuMemoryClock,
                                        &kGpuTemperature,
                                        &kGpuMemoryTemperature,
                                        &kGpuPcieReceived,
                                        &kGpuPcieSent,
                                        &kGpuPcieReplays,
                                        &kGpuThrottleReasons,
                                        &kGpuThrottledPower,
                                        &kGpuThrottledThermal,
                                        &kGpuThrottledSync,
                                        &kGpuThrottledBoard,
                                        &kGpuThrottledReliability,
                                        &kGpuEccCorrected,
                                        &kGpuEccUncorrected,
                                        &kGpuRemappedRowsCorrected,
                                        &kGpuRemappedRows,
                                        &kGpuRowRemapFailed,
                                        &kGpuLastXid,
                                        &kGpuEncoder,
                                        &kGpuDecoder,
                                        &kGpuProcesses,
                                        &kGpuActivitySource,
                                        &kGpuGraphics,
                                        &kGpuSm,
                                        &kGpuOccupancy,
                                        &kGpuTensor,
                                        &kGpuDram,
                                        &kGpuFp64,
                                        &kGpuFp32,
                                        &kGpuFp16,
                                        &kGpuInteger,
                                        &kGpuNvlinkReceived,
                                        &kGpuNvlinkSent,
                                        &kGpuGpmPcieReceived,
                                        &kGpuGpmPcieSent,
                                        &kJobGpuMemory,
                                        &kJobGpuSm,
                                        &kJobGpuSmApportioned,
                                        &kJobGpuEnergyApportioned};

}  // namespace sharewell::collect
