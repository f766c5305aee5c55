// What can be said about the machine: processors, memory, disks, network, pressure, NUMA. The other
// host metrics are in job_metrics.h, perf_metrics.h and power_metrics.h, which come with this one.
#pragma once

#include "collect/metrics/job_metrics.h"
#include "collect/metrics/metric_makers.h"
#include "collect/metrics/perf_metrics.h"
#include "collect/metrics/power_metrics.h"

namespace sharewell::collect {

inline constexpr core::Metric kCpuUserSeconds =
    Counter("cpu_user_seconds", "seconds", "cpu", "Time in user mode, without nice.",
            "node_cpu_seconds_total", "mode=\"user\"");
inline constexpr core::Metric kCpuSystemSeconds =
    Counter("cpu_system_seconds", "seconds", "cpu", "Time in the kernel.", "node_cpu_seconds_total",
            "mode=\"system\"");
inline constexpr core::Metric kCpuIdleSeconds =
    Counter("cpu_idle_seconds", "seconds", "cpu", "Time idle, nothing waited for.",
            "node_cpu_seconds_total", "mode=\"idle\"");
inline constexpr core::Metric kCpuIowaitSeconds =
    Counter("cpu_iowait_seconds", "seconds", "cpu", "Time idle while a disk was waited for.",
            "node_cpu_seconds_total", "mode=\"iowait\"");
inline constexpr core::Metric kCpuOtherSeconds =
    Counter("cpu_other_seconds", "seconds", "cpu", "Time in nice, irq, softirq and steal together.",
            "node_cpu_seconds_total", "mode=\"other\"");
inline constexpr core::Metric kCpuBusySeconds =
    Counter("cpu_busy_seconds", "seconds", "",
            "Time of all CPUs together in any mode but idle, iowait and steal.");
inline constexpr core::Metric kCpuStealSeconds =
    Counter("cpu_steal_seconds", "seconds", "",
            "Time of all CPUs together that the host gave to other machines.");
inline constexpr core::Metric kCpuBusyRatio =
    Gauge("cpu_busy_ratio", "ratio", "", "Share of all CPUs' time spent busy; 1 is all of them.");
inline constexpr core::Metric kCpuCount =
    Gauge("cpu_count", "1", "", "CPUs (hardware threads) that are online.");
inline constexpr core::Metric kCpuFrequencyHertz = Gauge(
    "cpu_frequency_hertz", "hertz", "cpu",
    "Clock frequency now, by cpufreq, else by /proc/cpuinfo.", "node_cpu_scaling_frequency_hertz");
inline constexpr core::Metric kLoad1 = Gauge(
    "load1", "1", "", "Tasks running or waiting for a CPU or disk, mean of 1 min.", "node_load1");
inline constexpr core::Metric kLoad5 = Gauge(
    "load5", "1", "", "Tasks running or waiting for a CPU or disk, mean of 5 min.", "node_load5");
inline constexpr core::Metric kLoad15 =
    Gauge("load15", "1", "", "Tasks running or waiting for a CPU or disk, mean of 15 min.",
          "node_load15");
inline constexpr core::Metric kContextSwitches =
    Counter("context_switches", "1", "", "Context switches.", "node_context_switches_total");
inline constexpr core::Metric kTasksRunning =
    Gauge("tasks_running", "1", "", "Tasks that are running or could.", "node_procs_running");
inline constexpr core::Metric kTasksBlocked =
    Gauge("tasks_blocked", "1", "", "Tasks that wait for a disk.", "node_procs_blocked");

inline constexpr core::Metric kMemoryTotalBytes =
    Gauge("memory_total_bytes", "bytes", "", "Memory that the kernel manages.",
          "node_memory_MemTotal_bytes");
inline constexpr core::Metric kMemoryAvailableBytes =
    Gauge("memory_available_bytes", "bytes", "",
          "Memory that new work can have without swapping, by the kernel.",
          "node_memory_MemAvailable_bytes");
inline constexpr core::Metric kMemoryUsedBytes =
    Gauge("memory_used_bytes", "bytes", "", "Memory that is not available: total less available.");
inline constexpr core::Metric kMemoryFreeBytes = Gauge(
    "memory_free_bytes", "bytes", "", "Memory that nothing uses.", "node_memory_MemFree_bytes");
inline constexpr core::Metric kMemoryCachedBytes =
    Gauge("memory_cached_bytes", "bytes", "", "Page cache, tmpfs and shared memory included.",
          "node_memory_Cached_bytes");
inline constexpr core::Metric kMemoryBuffersBytes =
    Gauge("memory_buffers_bytes", "bytes", "", "Cache of raw block devices.",
          "node_memory_Buffers_bytes");
inline constexpr core::Metric kMemoryDirtyBytes =
    Gauge("memory_dirty_bytes", "bytes", "", "Page cache that waits to be written to a disk.",
          "node_memory_Dirty_bytes");
inline constexpr core::Metric kMemoryWritebackBytes =
    Gauge("memory_writeback_bytes", "bytes", "", "Page cache that is being written to a disk.",
          "node_memory_Writeback_bytes");
inline constexpr core::Metric kMemorySharedBytes =
    Gauge("memory_shared_bytes", "bytes", "",
          "Shared memory and tmpfs: what data loaders hand over in.", "node_memory_Shmem_bytes");
inline constexpr core::Metric kMemoryTrafficBytes =
    Counter("memory_traffic_bytes", "bytes", "source",
            "Bytes that the machine's memory moved, read and written; by resctrl (MBM) or the "
            "memory controllers.");
inline constexpr core::Metric kSwapTotalBytes =
    Gauge("swap_total_bytes", "bytes", "", "Swap space.", "node_memory_SwapTotal_bytes");
inline constexpr core::Metric kSwapFreeBytes =
    Gauge("swap_free_bytes", "bytes", "", "Swap space not in use.", "node_memory_SwapFree_bytes");
inline constexpr core::Metric kPageFaults =
    Counter("page_faults", "1", "", "Page faults, minor and major.", "node_vmstat_pgfault");
inline constexpr core::Metric kMajorPageFaults = Counter(
    "major_page_faults", "1", "", "Page faults that had to read a disk.", "node_vmstat_pgmajfault");
inline constexpr core::Metric kOomKills =
    Counter("oom_kills", "1", "", "Processes killed for want of memory.", "node_vmstat_oom_kill");

inline constexpr core::Metric kDiskReadBytes =
    Counter("disk_read_bytes", "bytes", "device", "Bytes read from the device.",
            "node_disk_read_bytes_total");
inline constexpr core::Metric kDiskWrittenBytes =
    Counter("disk_written_bytes", "bytes", "device", "Bytes written to the device.",
            "node_disk_written_bytes_total");
inline constexpr core::Metric kDiskReads =
    Counter("disk_reads", "1", "device", "Reads that the device has ended.",
            "node_disk_reads_completed_total");
inline constexpr core::Metric kDiskWrites =
    Counter("disk_writes", "1", "device", "Writes that the device has ended.",
            "node_disk_writes_completed_total");
inline constexpr core::Metric kDiskReadSeconds =
    Counter("disk_read_seconds", "seconds", "device", "Time spent by all reads.",
            "node_disk_read_time_seconds_total");
inline constexpr core::Metric kDiskWriteSeconds =
    Counter("disk_write_seconds", "seconds", "device", "Time spent by all writes.",
            "node_disk_write_time_seconds_total");
inline constexpr core::Metric kDiskBusySeconds =
    Counter("disk_busy_seconds", "seconds", "device", "Time with at least one request in flight.",
            "node_disk_io_time_seconds_total");
inline constexpr core::Metric kDiskInFlight =
    Gauge("disk_in_flight", "1", "device", "Requests in flight now.", "node_disk_io_now");

inline constexpr core::Metric kNetworkReceiveBytes =
    Counter("network_receive_bytes", "bytes", "device", "Bytes received.",
            "node_network_receive_bytes_total");
inline constexpr core::Metric kNetworkTransmitBytes =
    Counter("network_transmit_bytes", "bytes", "device", "Bytes sent.",
            "node_network_transmit_bytes_total");
inline constexpr core::Metric kNetworkReceivePackets =
    Counter("network_receive_packets", "1", "device", "Packets received.",
            "node_network_receive_packets_total");
inline constexpr core::Metric kNetworkTransmitPackets =
    Counter("network_transmit_packets", "1", "device", "Packets sent.",
            "node_network_transmit_packets_total");
inline constexpr core::Metric kNetworkReceiveErrors =
    Counter("network_receive_errors", "1", "device", "Packets received broken.",
            "node_network_receive_errs_total");
inline constexpr core::Metric kNetworkTransmitErrors =
    Counter("network_transmit_errors", "1", "device", "Packets that could not be sent.",
            "node_network_transmit_errs_total");
inline constexpr core::Metric kNetworkReceiveDrops =
    Counter("network_receive_drops", "1", "device", "Packets received and dropped.",
            "node_network_receive_drop_total");
inline constexpr core::Metric kNetworkTransmitDrops =
    Counter("network_transmit_drops", "1", "device", "Packets dropped before they were sent.",
            "node_network_transmit_drop_total");

inline constexpr core::Metric kPressureCpuWaitingSeconds = Counter(
    "pressure_cpu_waiting_seconds", "seconds", "",
    "Time in which some task waited for a CPU (PSI).", "node_pressure_cpu_waiting_seconds_total");
inline constexpr core::Metric kPressureMemoryWaitingSeconds =
    Counter("pressure_memory_waiting_seconds", "seconds", "",
            "Time in which some task waited for memory (PSI).",
            "node_pressure_memory_waiting_seconds_total");
inline constexpr core::Metric kPressureMemoryStalledSeconds =
    Counter("pressure_memory_stalled_seconds", "seconds", "",
            "Time in which all tasks waited for memory (PSI).",
            "node_pressure_memory_stalled_seconds_total");
inline constexpr core::Metric kPressureIoWaitingSeconds = Counter(
    "pressure_io_waiting_seconds", "seconds", "",
    "Time in which some task waited for a disk (PSI).", "node_pressure_io_waiting_seconds_total");
inline constexpr core::Metric kPressureIoStalledSeconds = Counter(
    "pressure_io_stalled_seconds", "seconds", "",
    "Time in which all tasks waited for a disk (PSI).", "node_pressure_io_stalled_seconds_total");

inline constexpr core::Metric kNumaMemoryTotalBytes =
    Gauge("numa_memory_total_bytes", "bytes", "node", "Memory of the NUMA node.",
          "node_memory_numa_MemTotal");
inline constexpr core::Metric kNumaMemoryFreeBytes =
    Gauge("numa_memory_free_bytes", "bytes", "node", "Memory of the NUMA node that nothing uses.",
          "node_memory_numa_MemFree");
inline constexpr core::Metric kNumaFilePagesBytes =
    Gauge("numa_file_pages_bytes", "bytes", "node", "Page cache on the NUMA node.",
          "node_memory_numa_FilePages");
inline constexpr core::Metric kNumaHits =
    Counter("numa_hits", "1", "node", "Pages taken from this node as was wished.",
            "node_memory_numa_numa_hit_total");
inline constexpr core::Metric kNumaMisses = Counter(
    "numa_misses", "1", "node", "Pages taken from this node because the wished one was full.",
    "node_memory_numa_numa_miss_total");
inline constexpr core::Metric kNumaLocalPages =
    Counter("numa_local_pages", "1", "node", "Pages taken by tasks that ran on this node.",
            "node_memory_numa_local_node_total");
inline constexpr core::Metric kNumaRemotePages =
    Counter("numa_remote_pages", "1", "node", "Pages taken by tasks that ran on another node.",
            "node_memory_numa_other_node_total");

inline constexpr const core::Metric* kHostMetrics[] = {
    &kCpuUserSeconds,
    &kCpuSystemSeconds,
    &kCpuIdleSeconds,
    &kCpuIowaitSeconds,
    &kCpuOtherSeconds,
    &kCpuBusySeconds,
    &kCpuStealSeconds,
    &kCpuBusyRatio,
    &kCpuCount,
    &kCpuFrequencyHertz,
    &kLoad1,
    &kLoad5,
    &kLoad15,
    &kContextSwitches,
    &kTasksRunning,
    &kTasksBlocked,
    &kMemoryTotalBytes,
    &kMemoryAvailableBytes,
    &kMemoryUsedBytes,
    &kMemoryFreeBytes,
    &kMemoryCachedBytes,
    &kMemoryBuffersBytes,
    &kMemoryDirtyBytes,
    &kMemoryWritebackBytes,
    &kMemorySharedBytes,
    &kMemoryTrafficBytes,
    &kSwapTotalBytes,
    &kSwapFreeBytes,
    &kPageFaults,
    &kMajorPageFaults,
    &kOomKills,
    &kDiskReadBytes,
    &kDiskWrittenBytes,
    &kDiskReads,
    &kDiskWrites,
    &kDiskReadSeconds,
    &kDiskWriteSeconds,
    &kDiskBusySeconds,
    &kDiskInFlight,
    &kNetworkReceiveBytes,
    &kNetworkTransmitBytes,
    &kNetworkReceivePackets,
    &kNetworkTransmitPackets,
    &kNetworkReceiveErrors,
    &kNetworkTransmitErrors,
    &kNetworkReceiveDrops,
    &kNetworkTransmitDrops,
    &kPressureCpuWaitingSeconds,
    &kPressureMemoryWaitingSeconds,
    &kPressureMemoryStalledSeconds,
    &kPressureIoWaitingSeconds,
    &kPressureIoStalledSeconds,
    &kNumaMemoryTotalBytes,
    &kNumaMemoryFreeBytes,
    &kNumaFilePagesBytes,
    &kNumaHits,
    &kNumaMisses,
    &kNumaLocalPages,
    &kNumaRemotePages,
};

}  // namespace sharewell::collect
