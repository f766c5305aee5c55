// What NVML, GPM and DCGM say of GPUs, and what of it belongs to which job.
//
// Instance "gpu" is NVML's index as text ("0"); a MIG instance is the GPU's index and the id of its
// GPU instance ("0:3"): the whole GPU's figures include it, so the two kinds are never added.
// The names and scales on export are dcgm-exporter's; what it calls received (RX) goes from the
// host to the GPU.
#pragma once

#include <array>

#include "core/metric.h"

namespace sharewell::collect {

inline constexpr double kExportPercent = 100;
inline constexpr double kExportMebibytes = 1.0 / (1024 * 1024);

// NVML, the whole GPU.
inline constexpr core::Metric kGpuBusy{.name = "gpu_busy_ratio",
                                       .unit = "ratio",
                                       .instance = "gpu",
                                       .help =
                                           "Share of the time in which at least one kernel ran on "
                                           "the GPU, looked at ten times a second.",
                                       .exported = "DCGM_FI_DEV_GPU_UTIL",
                                       .export_scale = kExportPercent};
inline constexpr core::Metric kGpuMemoryBusy{
    .name = "gpu_memory_busy_ratio",
    .unit = "ratio",
    .instance = "gpu",
    .help = "Share of the time in which the GPU's memory was read or written.",
    .exported = "DCGM_FI_DEV_MEM_COPY_UTIL",
    .export_scale = kExportPercent};
inline constexpr core::Metric kGpuMemoryUsed{
    .name = "gpu_memory_used_bytes",
    .unit = "bytes",
    .instance = "gpu",
    .help = "GPU memory that is allocated now, without what the driver reserves.",
    .exported = "DCGM_FI_DEV_FB_USED",
    .export_scale = kExportMebibytes};
inline constexpr core::Metric kGpuMemoryTotal{.name = "gpu_memory_total_bytes",
                                              .unit = "bytes",
                                              .instance = "gpu",
                                              .help = "GPU memory that is there.",
                                              .exported = "DCGM_FI_DEV_FB_TOTAL",
                                              .export_scale = kExportMebibytes};
inline constexpr core::Metric kGpuMemoryReserved{
    .name = "gpu_memory_reserved_bytes",
    .unit = "bytes",
    .instance = "gpu",
    .help = "GPU memory that driver and firmware keep for themselves.",
    .exported = "DCGM_FI_DEV_FB_RESERVED",
    .export_scale = kExportMebibytes};
inline constexpr core::Metric kGpuPower{
    .name = "gpu_power_watts",
    .unit = "watts",
    .instance = "gpu",
    .help = "Power of the whole board, averaged by the GPU over about a second.",
    .exported = "DCGM_FI_DEV_POWER_USAGE"};
inline constexpr core::Metric kGpuEnergy{
    .name = "gpu_energy_joules",
    .unit = "joules",
    .kind = core::MetricKind::kCounter,
    .instance = "gpu",
    .help =
        "Energy of the whole board; between readings of the GPU's counter carried on by its power.",
    .exported = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
    .export_scale = 1000};
inline constexpr core::Metric kGpuSmClock{.name = "gpu_sm_clock_hertz",
                                          .unit = "hertz",
                                          .instance = "gpu",
                                          .help = "Clock of the SMs now.",
                                          .exported = "DCGM_FI_DEV_SM_CLOCK",
                                          .export_scale = 1e-6};
inline constexpr core::Metric kGpuMemoryClock{.name = "gpu_memory_clock_hertz",
                                              .unit = "hertz",
                                              .instance = "gpu",
                                              .help = "Clock of the GPU's memory now.",
                                              .exported = "DCGM_FI_DEV_MEM_CLOCK",
                                              .export_scale = 1e-6};
inline constexpr core::Metric kGpuTemperature{.name = "gpu_temperature_celsius",
                                              .unit = "celsius",
                                              .instance = "gpu",
                                              .help = "Temperature of the GPU's die now.",
                                              .exported = "DCGM_FI_DEV_GPU_TEMP"};
inline constexpr core::Metric kGpuMemoryTemperature{.name = "gpu_memory_temperature_celsius",
                                                    .unit = "celsius",
                                                    .instance = "gpu",
                                                    .help = "Temperature of the GPU's memory now.",
                                                    .exported = "DCGM_FI_DEV_MEMORY_TEMP"};
inline constexpr core::Metric kGpuPcieReceived{
    .name = "gpu_pcie_received_bytes_per_second",
    .unit = "bytes_per_second",
    .instance = "gpu",
    .help =
        "PCIe traffic from host to GPU over 20 ms before the reading; only where neither GPM nor "
        "DCGM counts it.",
    .exported = "DCGM_FI_DEV_PCIE_RX_THROUGHPUT",
    .export_scale = 1.0 / 1024};
inline constexpr core::Metric kGpuPcieSent{
    .name = "gpu_pcie_sent_bytes_per_second",
    .unit = "bytes_per_second",
    .instance = "gpu",
    .help =
        "PCIe traffic from GPU to host over 20 ms before the reading; only where neither GPM nor "
        "DCGM counts it.",
    .exported = "DCGM_FI_DEV_PCIE_TX_THROUGHPUT",
    .export_scale = 1.0 / 1024};
inline constexpr core::Metric kGpuPcieReplays{.name = "gpu_pcie_replays",
                                              .unit = "1",
                                              .kind = core::MetricKind::kCounter,
                                              .instance = "gpu",
                                              .help = "PCIe packets that had to be sent again.",
                                              .exported = "DCGM_FI_DEV_PCIE_REPLAY_COUNTER"};
inline constexpr core::Metric kGpuThrottleReasons{
    .name = "gpu_throttle_reasons",
    .unit = "1",
    .instance = "gpu",
    .help =
        "Why the clocks are below their highest now, NVML's bits: 1 idle, 2 set so, 4 power cap, 8 "
        "hardware slowdown, 16 sync boost, 32 heat (software), 64 heat (hardware), 128 power "
        "brake.",
    .exported = "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"};
inline constexpr core::Metric kGpuThrottledPower{
    .name = "gpu_throttled_power_seconds",
    .unit = "seconds",
    .kind = core::MetricKind::kCounter,
    .instance = "gpu",
    .help = "Time in which the power limit held the clocks back.",
    .exported = "DCGM_FI_DEV_POWER_VIOLATION",
    .export_scale = 1e9};
inline constexpr core::Metric kGpuThrottledThermal{
    .name = "gpu_throttled_thermal_seconds",
    .unit = "seconds",
    .kind = core::MetricKind::kCounter,
    .instance = "gpu",
    .help = "Time in which heat held the clocks back.",
    .exported = "DCGM_FI_DEV_THERMAL_VIOLATION",
    .export_scale = 1e9};
inline constexpr core::Metric kGpuThrottledSync{
    .name = "gpu_throttled_sync_seconds",
    .unit = "seconds",
    .kind = core::MetricKind::kCounter,
    .instance = "gpu",
    .help = "Time in which another GPU of the sync boost group held the clocks back.",
    .exported = "DCGM_FI_DEV_SYNC_BOOST_VIOLATION",
    .export_scale = 1e9};
inline constexpr core::Metric kGpuThrottledBoard{
    .name = "gpu_throttled_board_seconds",
    .unit = "seconds",
    .kind = core::MetricKind::kCounter,
    .instance = "gpu",
    .help = "Time in which a limit of the board held the clocks back.",
    .exported = "DCGM_FI_DEV_BOARD_LIMIT_VIOLATION",
    .export_scale = 1e9};
inline constexpr core::Metric kGpuThrottledReliability{
    .name = "gpu_throttled_reliability_seconds",
    .unit = "seconds",
    .kind = core::MetricKind::kCounter,
    .instance = "gpu",
    .help = "Time in which the reliability limit held the clocks back.",
    .exported = "DCGM_FI_DEV_RELIABILITY_VIOLATION",
    .export_scale = 1e9};
inline constexpr core::Metric kGpuEccCorrected{.name = "gpu_ecc_corrected_errors",
                                               .unit = "1",
                                               .kind = core::MetricKind::kCounter,
                                               .instance = "gpu",
                                               .help = "Memory errors that ECC corrected.",
                                               .exported = "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"};
inline constexpr core::Metric kGpuEccUncorrected{
    .name = "gpu_ecc_uncorrected_errors",
    .unit = "1",
    .kind = core::MetricKind::kCounter,
    .instance = "gpu",
    .help = "Memory errors that ECC found and could not correct.",
    .exported = "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"};
inline constexpr core::Metric kGpuRemappedRowsCorrected{
    .name = "gpu_remapped_rows_corrected",
    .unit = "1",
    .kind = core::MetricKind::kCounter,
    .instance = "gpu",
    .help = "Memory rows replaced because of correctable errors, over the GPU's life.",
    .exported = "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS"};
inline constexpr core::Metric kGpuRemappedRows{
    .name = "gpu_remapped_rows",
    .unit = "1",
    .kind = core::MetricKind::kCounter,
    .instance = "gpu",
    .help = "Memory rows replaced because of uncorrectable errors, over the GPU's life.",
    .exported = "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS"};
inline constexpr core::Metric kGpuRowRemapFailed{
    .name = "gpu_row_remap_failed",
    .unit = "1",
    .instance = "gpu",
    .help = "1 once a bad memory row could not be replaced: the GPU should be exchanged.",
    .exported = "DCGM_FI_DEV_ROW_REMAP_FAILURE"};
inline constexpr core::Metric kGpuLastXid{
    .name = "gpu_last_xid",
    .unit = "1",
    .instance = "gpu",
    .help = "Number of the last XID error since the watch began; absent: none.",
    .exported = "DCGM_FI_DEV_XID_ERRORS"};
inline constexpr core::Metric kGpuEncoder{
    .name = "gpu_encoder_ratio",
    .unit = "ratio",
    .instance = "gpu",
    .help = "Share of the last second or so in which the video encoder worked.",
    .exported = "DCGM_FI_DEV_ENC_UTIL",
    .export_scale = kExportPercent};
inline constexpr core::Metric kGpuDecoder{
    .name = "gpu_decoder_ratio",
    .unit = "ratio",
    .instance = "gpu",
    .help = "Share of the last second or so in which the video decoder worked.",
    .exported = "DCGM_FI_DEV_DEC_UTIL",
    .export_scale = kExportPercent};
inline constexpr core::Metric kGpuProcesses{
    .name = "gpu_processes",
    .unit = "1",
    .instance = "gpu",
    .help = "Processes with a compute context on the GPU now."};

// GPM, the whole GPU or a MIG instance of it; where the GPU has none, DCGM, the whole GPU: means
// since the reading before.
inline constexpr double kActivityByGpm = 1, kActivityByDcgm = 2;
inline constexpr core::Metric kGpuActivitySource{
    .name = "gpu_activity_source",
    .unit = "1",
    .instance = "gpu",
    .help =
        "Who counted the figures from gpu_graphics_ratio to the PCIe traffic with headers: 1 GPM, "
        "2 DCGM; absent: nobody."};
inline constexpr core::Metric kGpuGraphics{
    .name = "gpu_graphics_ratio",
    .unit = "ratio",
    .instance = "gpu",
    .help = "Share of the time in which the compute or graphics engine was active.",
    .exported = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"};
inline constexpr core::Metric kGpuSm{.name = "gpu_sm_ratio",
                                     .unit = "ratio",
                                     .instance = "gpu",
                                     .help = "Share of the SMs that had at least one warp.",
                                     .exported = "DCGM_FI_PROF_SM_ACTIVE"};
inline constexpr core::Metric kGpuOccupancy{.name = "gpu_occupancy_ratio",
                                            .unit = "ratio",
                                            .instance = "gpu",
                                            .help = "Warps on the SMs over those they can hold.",
                                            .exported = "DCGM_FI_PROF_SM_OCCUPANCY"};
inline constexpr core::Metric kGpuTensor{
    .name = "gpu_tensor_ratio",
    .unit = "ratio",
    .instance = "gpu",
    .help = "Share of cycles in which the tensor pipes worked.",
    .exported = "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"};
inline constexpr core::Metric kGpuDram{.name = "gpu_dram_ratio",
                                       .unit = "ratio",
                                       .instance = "gpu",
                                       .help = "Memory traffic over the memory's peak.",
                                       .exported = "DCGM_FI_PROF_DRAM_ACTIVE"};
inline constexpr core::Metric kGpuFp64{.name = "gpu_fp64_ratio",
                                       .unit = "ratio",
                                       .instance = "gpu",
                                       .help = "Share of cycles in which the FP64 pipes worked.",
                                       .exported = "DCGM_FI_PROF_PIPE_FP64_ACTIVE"};
inline constexpr core::Metric kGpuFp32{.name = "gpu_fp32_ratio",
                                       .unit = "ratio",
                                       .instance = "gpu",
                                       .help = "Share of cycles in which the FP32 pipes worked.",
                                       .exported = "DCGM_FI_PROF_PIPE_FP32_ACTIVE"};
inline constexpr core::Metric kGpuFp16{
    .name = "gpu_fp16_ratio",
    .unit = "ratio",
    .instance = "gpu",
    .help = "Share of cycles in which the FP16 pipes (without tensor) worked.",
    .exported = "DCGM_FI_PROF_PIPE_FP16_ACTIVE"};
inline constexpr core::Metric kGpuInteger{
    .name = "gpu_integer_ratio",
    .unit = "ratio",
    .instance = "gpu",
    .help = "Share of cycles in which the integer pipes worked.",
    .exported = "DCGM_FI_PROF_PIPE_INT_ACTIVE"};
inline constexpr core::Metric kGpuNvlinkReceived{
    .name = "gpu_nvlink_received_bytes_per_second",
    .unit = "bytes_per_second",
    .instance = "gpu",
    .help = "NVLink traffic into the GPU over all links.",
    .exported = "DCGM_FI_PROF_NVLINK_RX_BYTES"};
inline constexpr core::Metric kGpuNvlinkSent{
    .name = "gpu_nvlink_sent_bytes_per_second",
    .unit = "bytes_per_second",
    .instance = "gpu",
    .help = "NVLink traffic out of the GPU over all links.",
    .exported = "DCGM_FI_PROF_NVLINK_TX_BYTES"};
inline constexpr core::Metric kGpuGpmPcieReceived{
    .name = "gpu_gpm_pcie_received_bytes_per_second",
    .unit = "bytes_per_second",
    .instance = "gpu",
    .help = "PCIe traffic from host to GPU, headers included.",
    .exported = "DCGM_FI_PROF_PCIE_RX_BYTES"};
inline constexpr core::Metric kGpuGpmPcieSent{
    .name = "gpu_gpm_pcie_sent_bytes_per_second",
    .unit = "bytes_per_second",
    .instance = "gpu",
    .help = "PCIe traffic from GPU to host, headers included.",
    .exported = "DCGM_FI_PROF_PCIE_TX_BYTES"};

// Per job. A process that no known job owns is a job of its own: "pid 4711".
inline constexpr core::Metric kJobGpuMemory{
    .name = "job_gpu_memory_bytes",
    .unit = "bytes",
    .instance = "gpu",
    .help = "GPU memory that the job's processes hold now, as NVML counts it for each process."};
inline constexpr core::Metric kJobGpuSm{.name = "job_gpu_sm_ratio",
                                        .unit = "ratio",
                                        .instance = "gpu",
                                        .help =
                                            "Share of the time in which kernels of the job's "
                                            "processes ran, as NVML samples it for each process."};
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
