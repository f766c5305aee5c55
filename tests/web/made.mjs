// Answers of the API with figures that nobody would make up twice, for pages that are to show exactly these.
const START = Date.now() - 3_000_000;

export function needs(over = {}) {
  return { source: "predicted", from: "predicted from a.onnx", workload: "a", batch: 64, precision: "bf16", workers: 4, gpu: "H200", busy: 0.613, sm: 0.372, dram: 0.237,
           gpu_memory_bytes: 13.7e9, gpu_memory_upper_bytes: 15.9e9, cpu_cores: 5.3, cores_upper: 6.1, host_memory_bytes: 4.7e9, pcie_bytes_per_second: null,
           host_bandwidth_bytes_per_second: null, power_watts: 417, kernel_seconds: 3e-5, kernels_per_step: 411, steps_per_second: 17.3, steps_per_second_low: 14.1, steps_per_second_high: 21.7, pace_source: "predicted", duration_seconds: 913, ...over };
}

export function job(number, over = {}) {
  return { number, name: `job-${number}`, user: "ann", uid: 1000, gid: 1000, admin: false, phase: "running", command: ["true"], folder: "/home/ann", environment: {},
           gpus_asked: 1, cores_asked: null, gpu_memory_asked_bytes: null, memory_asked_bytes: null, sm_share_asked: null, gpu_models: [], exclusive: false, max_slowdown: null,
           priority: 0, latency_sensitive: false, no_guests: false, time_limit_seconds: null, image: null, after: [], held: false, requeue: true, terminal: false, umask: null, profile: null,
           array: null, array_at_once: null, needs: needs(), needs_given: null, submitted_ms: START, started_ms: START + 1000, resumed_ms: START + 1000, ended_ms: null,
           expected_start_ms: null, attempt: 1, ooms: 0, evicted: 0, lost: 0, hold: null, cancelled: false, cancelled_by: null, paused: false, paused_ms: null, gpus: [], gpu_gone: false, cores: 7, sm_share: 1, guest_memory_bytes: null, guest_oom_bytes: null, broke_gpu: false, beside: [],
           reason: "", note: "", exit_code: null, steps: null, steps_by: null, told: null, steps_per_second: null, steps_per_second_alone: null, seen_alone_seconds: null, slowdown: null, slower_than_predicted: null, seen: null, run_time_seconds: 0, alone_time_seconds: null,
           time_limit_extended_seconds: 0, ...over };
}

export function gpu(index, over = {}) {
  return { index, uuid: `gpu-${index}`, model: "H200", memory_bytes: 150.7e9, simulated: false, drained: false, problem: "", jobs: [], strangers: [], busy: null,
           memory_used_bytes: null, power_watts: null, ...over };
}

export async function answerWith(page, answers) {
  await page.route(/\/api\/v1/, async (route) => {
    const url = new URL(route.request().url());
    const found = answers(url);
    if (found === undefined) await route.continue();
    else await route.fulfill(found.raw === undefined ? { json: found } : { body: found.raw, headers: found.headers });
  });
}
