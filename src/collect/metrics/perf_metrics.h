// What the processor's counters say, of the machine and of a job.
#pragma once

#include "collect/metrics/metric_makers.h"

namespace sharewell::collect {

inline constexpr core::Metric kPerfInstructions =
    Counter("perf_instructions", "1", "", "Instructions retired on all CPUs.",
            "node_perf_instructions_total");
inline constexpr core::Metric kPerfCycles =
    Counter("perf_cycles", "1", "", "Cycles of all CPUs, halted ones left out.",
            "node_perf_cpucycles_total");
inline constexpr core::Metric kPerfLlcReferences =
    Counter("perf_llc_references", "1", "", "Accesses that reached the last-level cache.",
            "node_perf_cache_refs_total");
inline constexpr core::Metric kPerfLlcMisses =
    Counter("perf_llc_misses", "1", "", "Accesses that missed the last-level cache.",
            "node_perf_cache_misses_total");
inline constexpr core::Metric kPerfDramLocal =
    Counter("perf_dram_local", "1", "",
            "Loads or fills served by the memory of the CPU's own NUMA node, or by any where the "
            "processor cannot tell (`sharewell doctor` names the event).");
inline constexpr core::Metric kPerfDramRemote =
    Counter("perf_dram_remote", "1", "",
            "Loads or fills served by the memory of another NUMA node; left out where the "
            "processor cannot tell.");
inline constexpr core::Metric kPerfCyclesPerInstruction =
    Gauge("cycles_per_instruction", "1", "", "CPI of all CPUs.");
inline constexpr core::Metric kMemoryIntensityIndex =
    Gauge("memory_intensity_index", "1", "events",
          "(local + remote DRAM) / instructions x 100; the instance is \"local+remote\", or "
          "\"remote unknown\" where local has both.");
inline constexpr core::Metric kPerfRunningRatio =
    Gauge("perf_running_ratio", "ratio", "",
          "Share of the time in which the event that waited most was counted; below 1 the counts "
          "are scaled up.");

inline constexpr core::Metric kJobInstructions =
    Counter("job_instructions", "1", "", "Instructions retired by the job.");
inline constexpr core::Metric kJobCycles = Counter("job_cycles", "1", "", "Cycles of the job.");
inline constexpr core::Metric kJobLlcReferences = Counter(
    "job_llc_references", "1", "", "Accesses of the job that reached the last-level cache.");
inline constexpr core::Metric kJobLlcMisses =
    Counter("job_llc_misses", "1", "", "Accesses of the job that missed the last-level cache.");
inline constexpr core::Metric kJobDramLocal =
    Counter("job_dram_local", "1", "",
            "Loads or fills of the job served by the memory of the CPU's own NUMA node.");
inline constexpr core::Metric kJobDramRemote =
    Counter("job_dram_remote", "1", "",
            "Loads or fills of the job served by the memory of another NUMA node.");
inline constexpr core::Metric kJobCyclesPerInstruction =
    Gauge("job_cycles_per_instruction", "1", "", "CPI of the job.");
inline constexpr core::Metric kJobMemoryIntensityIndex =
    Gauge("job_memory_intensity_index", "1", "events", "As memory_intensity_index, of the job.");
inline constexpr core::Metric kJobPerfRunningRatio = Gauge(
    "job_perf_running_ratio", "ratio", "", "As perf_running_ratio, for the counters of the job.");

inline constexpr const core::Metric* kPerfMetrics[] = {
    &kPerfInstructions,
    &kPerfCycles,
    &kPerfLlcReferences,
    &kPerfLlcMisses,
    &kPerfDramLocal,
    &kPerfDramRemote,
    &kPerfCyclesPerInstruction,
    &kMemoryIntensityIndex,
    &kPerfRunningRatio,
    &kJobInstructions,
    &kJobCycles,
    &kJobLlcReferences,
    &kJobLlcMisses,
    &kJobDramLocal,
    &kJobDramRemote,
    &kJobCyclesPerInstruction,
    &kJobMemoryIntensityIndex,
    &kJobPerfRunningRatio,
};

}  // namespace sharewell::collect
