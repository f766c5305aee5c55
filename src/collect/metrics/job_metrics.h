// What can be said about a job on the host: Reading::job is always set. A job with a control group
// of its own is read from that, any other from its processes; each help text says which.
#pragma once

#include "collect/metrics/metric_makers.h"

namespace sharewell::collect {

inline constexpr core::Metric kJobCpuSeconds = Counter(
    "job_cpu_seconds", "seconds", "",
    "CPU time of the job, ended processes included; by its control group, else by its processes.");
inline constexpr core::Metric kJobCores =
    Gauge("job_cores", "1", "", "Cores that the job kept busy.");
inline constexpr core::Metric kJobResidentBytes =
    Gauge("job_resident_bytes", "bytes", "",
          "Sum of its processes' resident memory; a shared page counts once for each.");
inline constexpr core::Metric kJobProportionalBytes = Gauge(
    "job_proportional_bytes", "bytes", "",
    "Sum of its processes' resident memory, shared pages divided among them; read every 30 s.");
inline constexpr core::Metric kJobMemoryBytes =
    Gauge("job_memory_bytes", "bytes", "",
          "Memory charged to the job's control group, its page cache included.");
inline constexpr core::Metric kJobMemoryPeakBytes =
    Gauge("job_memory_peak_bytes", "bytes", "",
          "The most that was ever charged to the job's control group.");
inline constexpr core::Metric kJobMemoryTrafficBytes =
    Counter("job_memory_traffic_bytes", "bytes", "",
            "Bytes that memory moved for the job, read and written (resctrl's MBM).");
inline constexpr core::Metric kJobMemoryTrafficEstimatedBytes =
    Counter("job_memory_traffic_estimated_bytes", "bytes", "",
            "Estimated bytes that memory moved for the job: 64 for each last-level cache miss, "
            "without what is prefetched or written back.");
inline constexpr core::Metric kJobReadBytes =
    Counter("job_read_bytes", "bytes", "",
            "Bytes read from disks for the job (not from the page cache); by its control group, "
            "else by its processes.");
inline constexpr core::Metric kJobWrittenBytes =
    Counter("job_written_bytes", "bytes", "",
            "Bytes written to disks for the job; by its control group, else by its processes.");
inline constexpr core::Metric kJobMajorPageFaults =
    Counter("job_major_page_faults", "1", "",
            "Page faults of the job's processes that had to read a disk.");
inline constexpr core::Metric kJobThreads =
    Gauge("job_threads", "1", "", "Threads of the job's processes.");
inline constexpr core::Metric kJobProcesses =
    Gauge("job_processes", "1", "", "The job's processes.");
inline constexpr core::Metric kJobSteps =
    Counter("job_steps", "1", "",
            "Steps that a job of Slurm or a pod has told of in this run (docs/formats/steps.md).");
inline constexpr core::Metric kJobSpeed =
    Gauge("job_speed_ratio", "ratio", "",
          "Speed of a job of a server against its speed alone, where that was seen: by its steps, "
          "else by the SMs that are active.");
inline constexpr core::Metric kJobBeside =
    Gauge("job_beside", "1", "neighbour",
          "1 while the job of a server shares a GPU with the job of that number.");
inline constexpr core::Metric kJobPressureCpuWaitingSeconds =
    Counter("job_pressure_cpu_waiting_seconds", "seconds", "",
            "Time in which some task of the job's control group waited for a CPU (PSI).");
inline constexpr core::Metric kJobPressureMemoryWaitingSeconds =
    Counter("job_pressure_memory_waiting_seconds", "seconds", "",
            "Time in which some task of the job's control group waited for memory (PSI).");
inline constexpr core::Metric kJobPressureIoWaitingSeconds =
    Counter("job_pressure_io_waiting_seconds", "seconds", "",
            "Time in which some task of the job's control group waited for a disk (PSI).");

inline constexpr const core::Metric* kJobMetrics[] = {
    &kJobCpuSeconds,
    &kJobCores,
    &kJobResidentBytes,
    &kJobProportionalBytes,
    &kJobMemoryBytes,
    &kJobMemoryPeakBytes,
    &kJobMemoryTrafficBytes,
    &kJobMemoryTrafficEstimatedBytes,
    &kJobReadBytes,
    &kJobWrittenBytes,
    &kJobMajorPageFaults,
    &kJobThreads,
    &kJobProcesses,
    &kJobSteps,
    &kJobSpeed,
    &kJobBeside,
    &kJobPressureCpuWaitingSeconds,
    &kJobPressureMemoryWaitingSeconds,
    &kJobPressureIoWaitingSeconds,
};

}  // namespace sharewell::collect
