// The Job, Workloads and Predict pages against answers that are known: each figure stands where it belongs, as the API gave
// it, unknown is a dash, and words that look like markup stay words.
import assert from "node:assert/strict";
import { accessible, PATIENCE, shot, SHOTS, until } from "./harness.mjs";
import { answerWith, gpu, job, needs } from "./made.mjs";

const now = Date.now();
const BAD = "<img src=x onerror=\"window.pwned=1\">";
const TOLD = {
  fingerprint: "0".repeat(32), model_fingerprint: "1".repeat(32), framework: "pytorch 2.11.0", python: "3.12.3", device: "cuda", modules: BAD, batch: 64, accumulation: 1,
  optimizer: "SGD", optimizers: 1, optimizer_style: "foreach", precision: "fp32", autocast: "bf16", grad_scaler: false, workers: 4, compiled: true, channels_last: false,
  checkpointing: false, cuda_graphs: false, world_size: 1, parallel: null, parameters: 25557032, trainable: 25557032, peak_bytes: 5.8e9, predicted: null, not_predicted: null };
const JOB = job(42, {
  name: `train ${BAD}`, user: "ann", cores: 7, cores_asked: 12, sm_share: 0.6, beside: [43], gpus: [{ index: 3, uuid: "gpu-3", model: "H200" }], folder: `/home/${BAD}`,
  command: ["python3", BAD], reason: BAD, note: "", steps: 4321, steps_by: "watcher", told: TOLD, steps_per_second: 13.84, steps_per_second_alone: 17.1, seen_alone_seconds: 90, slowdown: 1.25, time_limit_seconds: 7200, attempt: 2, ooms: 1,
  run_time_seconds: 500, alone_time_seconds: 400, submitted_ms: now - 900_000, started_ms: now - 600_000, resumed_ms: now - 600_000, ended_ms: now - 100_000, phase: "finished", exit_code: 0,
  needs: needs({ cpu_curve: [[1, 0.41], [2, 0.77], [4, 0.97], [8, 1]] }),
  seen: { cores: 2.2, busy: 0.571, sm: 0.345, gpu_memory_bytes: 14.2e9, host_memory_bytes: 3.3e9, power_watts: 398 },
});
const NEIGHBOURS = {
  schema: 1, number: 42, from_ms: now - 900_000, to_ms: now - 100_000,
  spans: [
    { from_ms: now - 600_000, to_ms: now - 480_000, jobs: [], speed: 1.003, measured_seconds: 110, lost_seconds: null },
    { from_ms: now - 480_000, to_ms: now - 240_000, jobs: [43], speed: 0.75, measured_seconds: 228, lost_seconds: 57 },
    { from_ms: now - 240_000, to_ms: now - 100_000, jobs: [43, 44], speed: null, measured_seconds: 0, lost_seconds: null },
  ],
  shared_seconds: 380, measured_seconds: 228, lost_seconds: 57,
};
const SPEED = {
  schema: 1, number: 42, steps_per_second: 13.84, steps_per_second_alone: 17.1, prediction: { low: 14.1, middle: 17.3, high: 21.7, gpu: "H200" },
  points: Array.from({ length: 50 }, (_, i) => ({ from_ms: now - 600_000 + i * 10_000, to_ms: now - 590_000 + i * 10_000, steps_per_second: i < 12 ? 17.1 : 12.83 })),
  neighbours: [{ from_ms: now - 600_000, to_ms: now - 480_000, jobs: [] }, { from_ms: now - 480_000, to_ms: now - 240_000, jobs: [43] }, { from_ms: now - 240_000, to_ms: now - 100_000, jobs: [43, 44] }],
  metrics: [
    { name: "loss", value: 0.412, step: 1200, time_ms: now - 100_000,
      points: Array.from({ length: 50 }, (_, i) => ({ from_ms: now - 600_000 + i * 10_000, to_ms: now - 590_000 + i * 10_000, value: 0.4 + 2.6 * Math.exp(-i / 12) })) },
    { name: "eval/acc", value: 1e16, step: null, time_ms: now - 100_000, points: [{ from_ms: now - 100_000, to_ms: now - 100_000, value: 1e16 }] }],
};
const NO_SPEED = { schema: 1, number: 45, points: [], neighbours: [], steps_per_second: null, steps_per_second_alone: null, prediction: null, metrics: [] };
const line = (metric, value, instance = "", of_job = false) =>
  ({ metric, instance, of_job, unit: "1", points: Array.from({ length: 30 }, (_, i) => [now - 600_000 + i * 16_000, value * (1 + i / 100)]) });
const SAMPLES = { schema: 1, number: 42, from_ms: now - 900_000, to_ms: now - 100_000, series: [
  line("job_speed_ratio", 0.75, "", true), line("gpu_busy_ratio", 0.57, "3"), line("gpu_sm_ratio", 0.34, "3"), line("gpu_tensor_ratio", 0.2, "3"), line("gpu_dram_ratio", 0.25, "3"),
  line("gpu_memory_used_bytes", 3e10, "3"), line("job_gpu_memory_bytes", 1.4e10, "3", true), line("job_cores", 2.2, "", true), line("job_resident_bytes", 3e9, "", true),
  line("job_read_bytes", 2e6, "", true), line("gpu_pcie_received_bytes_per_second", 4e9, "3"), line("gpu_power_watts", 398, "3"), line("gpu_temperature_celsius", 61, "3"),
  line("gpu_sm_clock_hertz", 1.98e9, "3"), line("cpu_busy_ratio", 0.3)] };
const training = (days, retrained, outcome = "taken") => ({
  id: days, time_ms: now - days * 86400e3, outcome, why: `because of ${days}`, runs: 40 * days, workloads: 6, held_out: 3, given: "shipped",
  figures: [{ figure: "memory", workloads: 5, shipped_error: 0.213, in_use_error: 0.151, retrained_error: retrained, verdict: "taken", why: "better" }] });
const PREDICTOR = { schema: 1, in_use: "retrained", given: "shipped", pinned: false, trained: training(1, 0.087), runs_kept: 171, graphs_kept: 13, new_runs: 29, trains_at: 40, drift: null,
                    history: [training(1, 0.087), training(2, 0.117), training(3, 0.131)] };
const PAIRS = { schema: 1, pairs: [
  { source: "here", gpu: "H200", a: BAD, b: "bert b16", speed_a: 0.912, speed_b: 0.634, fits: true, time_ms: now },
  { source: "here", gpu: "H200", a: BAD, b: "vgg b64", speed_a: 0.523, speed_b: 0.881, fits: true, time_ms: now },
  { source: "shipped", gpu: "H200", a: "x", b: "y", speed_a: 0.9, speed_b: 0.8, fits: true, time_ms: null }] };
const PROFILES = { schema: 1, profiles: [{ id: 1, name: BAD, created_unix_ms: now, source: "sweep", workload: "a", batch: 64, precision: "bf16", workers: 4, gpu: "H200", steps_per_second: 17.34,
  gpu_busy_ratio: 0.613, gpu_sm_ratio: 0.372, gpu_dram_ratio: null, gpu_memory_bytes: 13.7e9, cpu_cores: 5.3, host_memory_bytes: 4.7e9, power_watts: 417, settled: true,
  cpu_curve: [[1, 0.31], [4, 0.83], [8, 1]] }] };
const PREDICTION = { schema: 1, needs: needs(), core_curve: [[1, 0.42], [2, 0.81], [4, 1]] };

export function answers(url) {
  switch (url.pathname) {
    case "/api/v1/jobs/42": return JOB;
    case "/api/v1/jobs/42/why": return { schema: 1, number: 42, phase: "finished", why: [BAD, "shares well with job 43"], expected_start_ms: null };
    case "/api/v1/jobs/42/neighbours": return NEIGHBOURS;
    case "/api/v1/jobs/42/samples": return SAMPLES;
    case "/api/v1/jobs/42/speed": return SPEED;
    case "/api/v1/jobs/45": return job(45);
    case "/api/v1/jobs/45/why": return { schema: 1, number: 45, phase: "running", why: [], expected_start_ms: null };
    case "/api/v1/jobs/45/neighbours": return { ...NEIGHBOURS, number: 45, spans: [] };
    case "/api/v1/jobs/45/samples": return { ...SAMPLES, number: 45, series: [] };
    case "/api/v1/jobs/45/speed": return NO_SPEED;
    case "/api/v1/jobs/45/logs": return { raw: "", headers: { "X-Next-Offset": "0", "X-Ended": "0" } };
    case "/api/v1/jobs/42/logs": return { raw: `${BAD}\n`, headers: { "X-Next-Offset": "9", "X-Ended": "1" } };
    case "/api/v1/predictor": return PREDICTOR;
    case "/api/v1/pairs": return PAIRS;
    case "/api/v1/profiles": return PROFILES;
    case "/api/v1/predictions": return PREDICTION;
    case "/api/v1/gpus": return { schema: 1, gpus: [gpu(3, { jobs: [43] })] };
    case "/api/v1/jobs":
      if (url.searchParams.has("dry_run")) return { schema: 1, jobs: [JOB], forecast: { start_ms: null, gpus: [{ index: 3, uuid: "gpu-3", model: "H200" }], why: BAD } };
      return { schema: 1, jobs: url.searchParams.get("phase") === "finished" ? [JOB] : [], counts: {}, next: null };
    default: return undefined;
  }
}

const rowsOf = (page, caption) => page.locator(`[aria-label="${caption}"] tbody tr`).evaluateAll((all) =>
  all.map((row) => [...row.children].map((cell) => cell.textContent.replaceAll(/\s+/g, " ").trim())));
const factsOf = (page, selector) => page.locator(`${selector} dl`).first().evaluate((list) =>
  Object.fromEntries([...list.querySelectorAll("dt")].map((name) => [name.textContent, name.nextElementSibling.textContent.replaceAll(/\s+/g, " ")])));

async function checkJob(page, url) {
  await page.goto(`${url}#/job/42`);
  await page.waitForSelector("#neighbours table", { timeout: PATIENCE });
  await page.waitForSelector("#samples canvas", { timeout: PATIENCE });
  assert.deepEqual(await rowsOf(page, "What was believed of the job and what was seen"), [
    ["GPU busy", "61 %", "57 %"], ["SMs", "37 %", "35 %"], ["GPU bandwidth", "24 %", "–"], ["GPU memory", "12.8 GiB (at most 14.8 GiB)", "13.2 GiB"],
    ["CPU cores", "5.3 (at most 6.1)", "2.2"], ["host memory", "4.4 GiB", "3.1 GiB"], ["power", "417 W", "398 W"], ["steps a second", "17.3", "13.84"], ["steps a second, alone", "–", "17.1"], ["time alone", "15m 13s", "6m 40s"]]);
  const neighbours = await factsOf(page, "#neighbours");
  assert.deepEqual(neighbours, { "shared its GPUs for": "6m 20s", "of that, its speed was measured for": "3m 48s", "lost to neighbours in that time": "57 s" });
  const spans = (await rowsOf(page, "Neighbours over time")).map((row) => row.slice(1));
  assert.deepEqual(spans, [["2m 20s", "#43 job 43, #44 job 44", "–", "–", "–"], ["4m 00s", "#43 job 43", "75 %", "3m 48s", "57 s"], ["2m 00s", "nobody", "100 %", "1m 50s", "–"]]);
  assert.equal(await page.locator("#neighbours svg rect.c3").count() + await page.locator("#neighbours svg rect.c4").count(), 3, "each neighbour's times are drawn");
  const all = (await page.textContent("main")).replaceAll(/\s+/g, " ");
  for (const words of ["GPUs, last3 (H200)", "cores7", "SMs it may use60 %", "what they cost it1.25× its time alone", "steps4,321, counted by the watcher inside of it", "batch 64, SGD, bf16 autocast, 4 loader workers, compiled, pytorch 2.11.0", "time limit2h 00m", "starts2, out of GPU memory 1 times", "exit code0",
                       "4 cores would do: with them it has 95 % of its speed, and it has 7.", "20 % slower than alone: 1m 40s so far", "waited 5m 00s", "ran 8m 20s"]) {
    assert.ok(all.includes(words), `${words}: ${all}`);
  }
  const titles = (await page.locator("#samples .chart h3").allTextContents()).map((title) => title.replaceAll(/\s+/g, " "));
  assert.deepEqual(titles, ["Speed against alone %", "GPU busy %", "SMs active %", "Tensor cores active %", "GPU memory bandwidth %", "GPU memory GiB", "CPU cores in use cores", "Host memory GiB",
                            "Disk MB/s", "PCIe GB/s", "Power W", "Temperature °C", "GPU clocks MHz", "All CPUs of the machine %"]);
  // One cursor for all charts: each legend tells its value at the same time.
  await page.locator("#samples .u-over").nth(1).hover({ position: { x: 120, y: 40 } });
  await until("every chart follows the cursor", async () => {
    const times = await page.locator("#samples .u-legend .u-series:first-child .u-value").allTextContents();
    return times.length === titles.length && times.every((time) => time !== "" && time !== "--" && time === times[0]);
  });
  // What is drawn at a time is what the API told for it, in the unit of the chart.
  const drawn = {
    "Speed against alone": [["this job", "job_speed_ratio", 100, "%"]], "GPU busy": [["GPU 3", "gpu_busy_ratio", 100, "%"]], "SMs active": [["GPU 3", "gpu_sm_ratio", 100, "%"]],
    "Tensor cores active": [["GPU 3", "gpu_tensor_ratio", 100, "%"]], "GPU memory bandwidth": [["DRAM of GPU 3", "gpu_dram_ratio", 100, "%"]],
    "GPU memory": [["this job 3", "job_gpu_memory_bytes", 2 ** -30, "GiB"], ["whole GPU 3", "gpu_memory_used_bytes", 2 ** -30, "GiB"]], "CPU cores in use": [["this job", "job_cores", 1, "cores"]],
    "Host memory": [["this job", "job_resident_bytes", 2 ** -30, "GiB"]], Disk: [["read by this job", "job_read_bytes", 1e-6, "MB/s"]],
    PCIe: [["to the GPU 3", "gpu_pcie_received_bytes_per_second", 1e-9, "GB/s"]], Power: [["GPU 3", "gpu_power_watts", 1, "W"]], Temperature: [["GPU 3", "gpu_temperature_celsius", 1, "°C"]],
    "GPU clocks": [["SM 3", "gpu_sm_clock_hertz", 1e-6, "MHz"]], "All CPUs of the machine": [["busy", "cpu_busy_ratio", 100, "%"]] };
  const charts = await page.locator("#samples .chart").evaluateAll((all) => all.map((chart) => ({
    title: chart.querySelector("h3").firstChild.textContent,
    rows: [...chart.querySelectorAll(".u-series")].map((row) => [row.querySelector(".u-label").textContent, row.querySelector(".u-value").textContent]) })));
  const clock = charts[0].rows[0][1];
  const at = await page.evaluate(([points, told]) => points.findIndex(([time]) => new Date(time).toLocaleTimeString("en-GB") === told), [SAMPLES.series[0].points, clock]);
  assert.ok(at >= 0, `no sample is of ${clock}`);
  for (const chart of charts) {
    const expected = drawn[chart.title].map(([label, metric, times, unit]) => {
      const value = SAMPLES.series.find((one) => one.metric === metric).points[at][1] * times;
      return [label, `${Number(value.toPrecision(4))} ${unit}`];
    });
    assert.deepEqual(chart.rows.slice(1), expected, chart.title);
  }
  await page.evaluate(() => window.scrollTo(0, document.querySelector("#neighbours").offsetTop - 60));
  await shot(page, "job-neighbours");
  await accessible(page, "Job with neighbours");
}

/** The opacity of what is drawn at a part of the chart's width and height; 0: nothing. */
const inkAt = (page, x, y) => page.locator("#speed canvas").evaluate((canvas, [x, y]) => {
  const over = canvas.closest(".u-wrap").querySelector(".u-over").getBoundingClientRect(), whole = canvas.getBoundingClientRect();
  const ratio = canvas.width / whole.width;
  const copy = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
  const ink = copy.getContext("2d", { willReadFrequently: true });
  ink.drawImage(canvas, 0, 0);
  return ink.getImageData(Math.round((over.left - whole.left + over.width * x) * ratio), Math.round((over.top - whole.top + over.height * y) * ratio), 1, 1).data[3];
}, [x, y]);

async function checkSpeed(page, url) {
  await page.goto(`${url}#/job/42`);
  await page.waitForSelector("#speed canvas", { timeout: PATIENCE });
  assert.deepEqual(await factsOf(page, "#speed"), { "observed, over its life": "13.84 steps/s", "observed alone": "17.1 steps/s", predicted: "17.3 steps/s alone on H200, 95 %: 14.1 to 21.7" });
  const key = (await page.textContent("#speed .legend:not(.u-legend)")).replaceAll(/\s+/g, " ");
  for (const words of ["#43 job 43 for 6m 20s", "#44 job 44 for 2m 20s"]) assert.ok(key.includes(words), `${words}: ${key}`);
  // Alone for its first 12 of 50 stretches, then beside one, then beside two; the prediction is a band from 14.1 to 21.7 of 0 to 23.4.
  await until("the chart is drawn", async () => (await inkAt(page, 0.43, 0.93)) > 0);
  assert.equal(await inkAt(page, 0.11, 0.93), 0, "nobody was beside it");
  assert.ok(await inkAt(page, 0.11, 0.12) > 0, "what was predicted");
  assert.ok(await inkAt(page, 0.9, 0.93) > 0, "two were beside it");
  await page.locator("#speed .u-over").hover({ position: { x: 20, y: 40 } });
  await until("the legend tells the speed", async () => (await page.locator("#speed .u-legend .u-series").nth(1).textContent()).includes("17.1 steps/s"));
  assert.deepEqual(await page.locator("#metrics h3").allTextContents(), ["loss ", "eval/acc "]);
  assert.equal(await page.textContent("#metrics h2"), "Told by the job");
  await page.locator("#metrics .u-over").first().hover({ position: { x: 3, y: 40 } });
  await until("the legend tells the loss", async () => (await page.locator("#metrics .u-legend .u-series").nth(1).textContent()).includes("loss3"));
  await page.evaluate(() => window.scrollTo(0, document.querySelector("#speed").offsetTop - 60));
  await shot(page, "job-speed");
  await accessible(page, "Job with its speed");
  await page.goto(`${url}#/job/45`);
  await until("it says why there is none", async () => (await page.textContent("#speed")).includes("No steps were told or seen yet."));
  assert.equal(await page.locator("#speed canvas").count(), 0);
  assert.equal(await page.locator("#metrics").count(), 0);
}

async function checkWorkloads(page, url) {
  await page.goto(`${url}#/workloads`);
  await page.waitForSelector("#health canvas", { timeout: PATIENCE });
  assert.deepEqual(await factsOf(page, "#predictor"), { "in use": "retrained", "learns from": "171 runs and 13 graphs kept; trains again at 40 new runs, has 29", drift: "none seen" });
  assert.deepEqual(await rowsOf(page, "Errors of the predictor in use"), [["memory", "5", "21.3 %", "15.1 %", "8.7 %", "taken: better"]]);
  assert.deepEqual((await rowsOf(page, "Trainings")).map((row) => row.slice(1)), [["taken", "40", "because of 1"], ["taken", "80", "because of 2"], ["taken", "120", "because of 3"]]);
  await page.locator("#health .u-over").first().hover({ position: { x: 5, y: 40 } });
  await until("the oldest training is told", async () => (await page.locator("#health .u-value").allTextContents()).slice(1).join() === "13.1 %,21.3 %");
  assert.deepEqual((await rowsOf(page, "Sensitivity to neighbours")).map((row) => row.filter((_, i) => i !== 5)), [
    ["bert b16", "1", "63 %", "63 %", "63 %", "91 %"], ["vgg b64", "1", "88 %", "88 %", "88 %", "52 %"], [BAD, "2", "52 %", "91 %", "91 %", "76 %"]]);
  assert.deepEqual((await rowsOf(page, "Predicted against measured"))[0].slice(1), ["predicted", "12.8 GiB", "14.8 GiB", "13.2 GiB", "1.04×", "5.3", "2.2", "0.42×"]);
  const points = await page.locator("#measured .point title").allTextContents();
  assert.deepEqual(points, [`#42 train ${BAD}: predicted 12.8 GiB, at most 14.8 GiB, measured 13.2 GiB`, `#42 train ${BAD}: predicted 5.3, at most 6.1, measured 2.2`]);
  assert.match(await page.locator("#measured [data-figure=coverage]").first().textContent(), /^1 of 1 were measured within the 95 % bound/);
  const curves = await page.locator("#core-curves svg").evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
  assert.deepEqual(curves, [`${BAD} b64 on H200: profile, measured: 1 cores 31 %, 4 cores 83 %, 8 cores 100 %`, "a b64: predicted, predicted from a.onnx: 1 cores 41 %, 2 cores 77 %, 4 cores 97 %, 8 cores 100 %"]);
  assert.deepEqual((await rowsOf(page, "Profiles"))[0], [BAD, "H200", "64 bf16", "sweep", "17.34", "61 %", "37 %", "–", "12.8 GiB", "5.3", "4.4 GiB", "417 W"]);
  await page.screenshot({ path: `${SHOTS}/workloads-figures.png`, fullPage: true });
  await accessible(page, "Workloads with everything");
}

async function checkPredict(page, url) {
  await page.goto(`${url}#/predict`);
  await page.setInputFiles("#predict-file", { name: `${BAD}.onnx`, mimeType: "application/octet-stream", buffer: Buffer.from("x") });
  await page.waitForSelector("#placement", { timeout: PATIENCE });
  assert.deepEqual(await factsOf(page, "#prediction"), {
    "GPU memory": "12.8 GiB", "at most (95 %)": "14.8 GiB", "GPU busy": "61 %", SMs: "37 %", "GPU bandwidth": "24 %", "CPU cores": "5.3 (at most 6.1)", "host memory": "4.4 GiB",
    "steps a second": "17.3", power: "417 W", "one kernel": "30 µs", "kernels a step": "411", "time alone": "15m 13s" });
  assert.equal(await page.locator("#prediction .core-curve svg").getAttribute("aria-label"), "Share of its speed by cores: 1 cores 42 %, 2 cores 81 %, 4 cores 100 %");
  assert.deepEqual(await factsOf(page, "#placement"), { start: "unknown", GPU: "3 (H200)", "on it now": "#43", why: BAD });
  assert.ok((await page.textContent("#prediction h2")).includes(BAD));
}

/** The page must have a token already: predictions want one. */
export async function checkPages(page, url) {
  await answerWith(page, answers);
  await checkJob(page, url);
  await checkSpeed(page, url);
  await checkWorkloads(page, url);
  await checkPredict(page, url);
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  assert.equal(await page.evaluate(() => document.querySelectorAll("main img, main script").length), 0);
  await page.unroute(/\/api\/v1/);
}
