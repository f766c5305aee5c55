// The Now page against answers that are known: each figure stands where it belongs, as the API gave it, and unknown is
// a dash.
import assert from "node:assert/strict";
import { PATIENCE } from "./harness.mjs";
import { answerWith, gpu, job, needs } from "./made.mjs";

const now = Date.now();
const JOBS = [
  job(71, { phase: "waiting", cores: 0, reason: "needs 6 CPU cores; 5 are free", submitted_ms: now - 754_000, started_ms: null, expected_start_ms: now + 3_725_000 }),
  job(70, { phase: "held", cores: 0, reason: "held by ann", submitted_ms: now - 30_000, started_ms: null }),
  job(43, { slowdown: 1.25, memory_asked_bytes: 31e9, cores: 3, gpus: [{ index: 0, uuid: "gpu-0", model: "H200" }], beside: [42],
            needs: needs({ sm: 0.511, dram: 0.408, gpu_memory_bytes: 22.6e9 }), seen: { cores: 2.2, busy: null, sm: null, gpu_memory_bytes: 24.1e9, host_memory_bytes: 3.3e9, power_watts: null } }),
  job(42, { gpus: [{ index: 0, uuid: "gpu-0", model: "H200" }], beside: [43] }),
  job(41, { needs: needs({ source: "assumed", sm: null, dram: null, gpu_memory_bytes: null }), slower_than_predicted: 1.35, gpus: [{ index: 1, uuid: "gpu-1", model: "H200" }] }),
];
const GPUS = [
  gpu(0, { jobs: [42, 43], busy: 0.873, memory_used_bytes: 38.4e9, power_watts: 512.3 }),
  gpu(1, { jobs: [41], busy: 0.012, memory_used_bytes: 61.8e9, power_watts: 118 }),
  gpu(2, { problem: "XID 79: the GPU has fallen off the bus" }),
  gpu(3),
];
const ENDED = [job(39, { phase: "failed", exit_code: 137, ended_ms: now, started_ms: now - 61_500, slowdown: 1.17 })];

function answers(url) {
  if (url.pathname === "/api/v1") return { schema: 1, version: "9.9", node: "made-up", policy: "sharewell", since_ms: now };
  if (url.pathname === "/api/v1/gpus") return { schema: 1, gpus: GPUS };
  if (url.pathname === "/api/v1/nodes") {
    return { schema: 1, nodes: [{ name: "made-up", cores: 96, cores_given: 17, simulated_cores: false, memory_bytes: 503e9, gpus: 4, policy: "sharewell", store_up: true, store_problem: "",
                                  machine: { cpu_busy: 0.374, memory_bytes: 540e9, memory_used_bytes: 87.4e9 } }] };
  }
  if (url.pathname === "/api/v1/jobs") {
    const over = (url.searchParams.get("phase") ?? "").includes("failed");
    return { schema: 1, jobs: over ? ENDED : JOBS, counts: { running: 3, waiting: 1, held: 1 }, next: null };
  }
  return undefined;
}

export async function checkFigures(page, url) {
  await answerWith(page, answers);
  await page.reload();
  await page.goto(`${url}#/now`);
  await page.waitForSelector("[data-gpu='3']", { timeout: PATIENCE });
  const text = async (selector) => (await page.textContent(selector)).replaceAll(/\s+/g, " ").trim();
  const tiles = { gpus: "2 of 4", shared: "1", running: "3", waiting: "2", wasted: "1", sick: "1" };
  for (const [tile, value] of Object.entries(tiles)) assert.equal(await text(`[data-tile=${tile}] b`), value, tile);

  const figures = { 0: ["at work", "87 %", "35.8 GiB of 140 GiB", "512 W"], 1: ["wasted: given and idle", "1 %", "57.6 GiB of 140 GiB", "118 W"],
                    2: ["sick", "–", "– of 140 GiB", "–"], 3: ["idle", "–", "– of 140 GiB", "–"] };
  for (const [index, [state, busy, memory, power]] of Object.entries(figures)) {
    const card = `[data-gpu='${index}']`;
    assert.equal(await text(`${card} .state`), state);
    assert.equal(await text(`${card} [data-figure=busy]`), busy);
    assert.equal(await text(`${card} [data-figure=memory]`), memory);
    assert.equal(await text(`${card} [data-figure=power]`), power);
  }
  assert.match(await text("[data-gpu='2']"), /XID 79: the GPU has fallen off the bus/);
  // 0.372 + 0.511; (13.7 + 24.1, which was seen) / 150.7; 0.237 + 0.408.
  assert.deepEqual(await page.locator("[data-gpu='0'] .stack-sum").allTextContents(), ["88 %", "25 %", "65 %"]);
  assert.deepEqual(await page.locator("[data-gpu='1'] .stack-sum").allTextContents(), ["–", "–", "–"]);
  const widths = await page.locator("[data-gpu='0'] .stack-bar").first().locator(".seg").evaluateAll((all) => all.map((one) => one.style.width));
  assert.deepEqual(widths, ["37.2%", "51.1%"]);
  const residents = (await page.locator("[data-gpu='0'] .residents li").allTextContents()).map((one) => one.replaceAll(/\s+/g, " "));
  assert.match(residents[0], /#42 job-42.*speed –.*ann · 7 cores/);
  assert.match(residents[1], /#43 job-43.*80 % of alone.*ann · 3 cores/);
  assert.match(await text("[data-gpu='1'] .residents"), /26 % slower than predicted/);
  assert.equal(await text(".node [data-figure=cores]"), "17 of 96");
  assert.equal(await text(".node [data-figure=host-memory]"), "28.9 GiB of 468 GiB");
  assert.match(await text(".node"), /3\.1 GiB seen in use/);
  assert.equal(await text(".node [data-figure=cpu]"), "37 %");
  assert.equal(await text(".node [data-figure=memory-used]"), "81.4 GiB of 503 GiB");
  const queue = await text("#queue");
  assert.match(queue, /#70 job-70.*held by ann/);
  assert.match(queue, /#71 job-71ann1[2-9]m \d\dsin about (1h 0[0-2]m|5\dm \d\ds)needs 6 CPU cores; 5 are free/);
  assert.match(await text("main"), /#39 job-39annfailed exit 1371m 01s1\.17×/);
  await page.unroute(/\/api\/v1/);
  await page.reload();
  await page.waitForSelector("[data-gpu='0']", { timeout: PATIENCE });
}
