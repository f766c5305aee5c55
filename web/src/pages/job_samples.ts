// Which series of a job stand in which chart, and what was predicted of it.
import type { Job, Samples } from "../lib/api_types";
import type { Band, ChartData, Line } from "../lib/charts";

interface Kind {
  title: string;
  unit: string;
  times: number;
  metrics: [string, string][];
  band?: (job: Job) => Band | null;
}

const GB = 1e-9, MB = 1e-6, GIB = 2 ** -30;

function believed(job: Job, value: number | null, upper: number | null, times: number): Band | null {
  if (value === null) return null;
  return { name: job.needs.source, value: value * times, upper: upper === null ? null : upper * times };
}

const KINDS: Kind[] = [
  { title: "Speed against alone", unit: "%", times: 100, metrics: [["job_speed_ratio", "this job"]] },
  { title: "GPU busy", unit: "%", times: 100,
    metrics: [["gpu_busy_ratio", "GPU"], ["job_gpu_sm_ratio", "this job"], ["job_gpu_sm_apportioned_ratio", "this job (apportioned)"]],
    band: (job) => believed(job, job.needs.busy, null, 100) },
  { title: "SMs active", unit: "%", times: 100, metrics: [["gpu_sm_ratio", "GPU"]], band: (job) => believed(job, job.needs.sm, null, 100) },
  { title: "Tensor cores active", unit: "%", times: 100, metrics: [["gpu_tensor_ratio", "GPU"]] },
  { title: "GPU memory bandwidth", unit: "%", times: 100, metrics: [["gpu_dram_ratio", "DRAM of GPU"]],
    band: (job) => believed(job, job.needs.dram, null, 100) },
  { title: "GPU memory", unit: "GiB", times: GIB,
    metrics: [["job_gpu_memory_bytes", "this job"], ["gpu_memory_used_bytes", "whole GPU"]],
    band: (job) => believed(job, job.needs.gpu_memory_bytes, job.needs.gpu_memory_upper_bytes, GIB) },
  { title: "CPU cores in use", unit: "cores", times: 1, metrics: [["job_cores", "this job"]],
    band: (job) => believed(job, job.needs.cpu_cores, job.needs.cores_upper, 1) },
  { title: "Host memory", unit: "GiB", times: GIB, metrics: [["job_resident_bytes", "this job"]],
    band: (job) => believed(job, job.needs.host_memory_bytes, null, GIB) },
  { title: "Disk", unit: "MB/s", times: MB, metrics: [["job_read_bytes", "read by this job"], ["job_written_bytes", "written by this job"]] },
  { title: "PCIe", unit: "GB/s", times: GB,
    metrics: [["gpu_gpm_pcie_received_bytes_per_second", "to the GPU"], ["gpu_gpm_pcie_sent_bytes_per_second", "from the GPU"],
              ["gpu_pcie_received_bytes_per_second", "to the GPU"], ["gpu_pcie_sent_bytes_per_second", "from the GPU"]],
    band: (job) => believed(job, job.needs.pcie_bytes_per_second, null, GB) },
  { title: "Power", unit: "W", times: 1, metrics: [["gpu_power_watts", "GPU"], ["rapl_package_joules", "CPU package"], ["machine_power_watts", "machine"]],
    band: (job) => believed(job, job.needs.power_watts, null, 1) },
  { title: "Temperature", unit: "°C", times: 1,
    metrics: [["gpu_temperature_celsius", "GPU"], ["gpu_memory_temperature_celsius", "GPU memory"], ["cpu_temperature_celsius", "CPU"]] },
  { title: "GPU clocks", unit: "MHz", times: 1e-6, metrics: [["gpu_sm_clock_hertz", "SM"], ["gpu_memory_clock_hertz", "memory"]] },
  { title: "All CPUs of the machine", unit: "%", times: 100, metrics: [["cpu_busy_ratio", "busy"]] },
];

export interface Drawn {
  charts: ChartData[];
  missing: string[];
}

export function chartsOf(job: Job, samples: Samples): Drawn {
  const drawn: Drawn = { charts: [], missing: [] };
  for (const kind of KINDS) {
    const lines: Line[] = [];
    for (const [metric, called] of kind.metrics) {
      for (const series of samples.series.filter((one) => one.metric === metric)) {
        const points = series.points.map(([time, value]): [number, number | null] =>
          [time ?? 0, value === null || value === undefined ? null : value * kind.times]);
        lines.push({ name: series.instance ? `${called} ${series.instance}` : called, points });
      }
    }
    if (lines.length === 0) {
      drawn.missing.push(kind.title);
      continue;
    }
    drawn.charts.push({ title: kind.title, unit: kind.unit, lines, band: kind.band?.(job) ?? null, from: samples.from_ms, to: samples.to_ms });
  }
  return drawn;
}
