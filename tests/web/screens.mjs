// Every page on a phone, a tablet and a desk: nothing is wider than the screen, and a finger can press what is to be pressed;
// on the phone axe finds nothing serious, light and dark. Answers are made up, and long on purpose.
import assert from "node:assert/strict";
import { accessible, PATIENCE, SHOTS, until } from "./harness.mjs";
import { USAGE, WHATIF } from "./cluster_figures.mjs";
import { answers as pageAnswers } from "./figures_pages.mjs";
import { listed } from "./jobs.mjs";
import { answerWith, gpu, job } from "./made.mjs";

const SCREENS = [["phone", 390, 844], ["tablet", 820, 1100], ["desk", 1440, 900]];
const FINGER = 44;  // CSS pixels
const NOW_MOST = 1400;  // the height of the Now page on a desk, with 21 jobs that wait for one reason
const now = Date.now();
const LONG = "a-name-that-somebody-made-by-gluing-many-hyperparameters-together_lr=0.0003_seed=17_warmup=500";

const on = (index) => [{ index, uuid: `gpu-${index}`, model: "H200" }];
const QUEUE = [
  ...Array.from({ length: 21 }, (_, i) => job(140 - i, { name: i ? `sweep lr=${i}` : LONG, phase: "waiting", started_ms: null, resumed_ms: null, cores: 0, expected_start_ms: now + 4e6,
                                                         array: i > 4 ? `f00_${i}` : null, reason: "no GPU is free: each has as much as its residents bear" })),
  job(119, { phase: "waiting", user: "bo", started_ms: null, resumed_ms: null, reason: "needs 6 CPU cores; 5 are free", expected_start_ms: now + 9e5 }),
  job(118, { phase: "held", started_ms: null, resumed_ms: null, reason: "held by ann" }),
  job(43, { slowdown: 1.25, gpus: on(0), name: LONG }), job(42, { gpus: on(0) }), job(41, { gpus: on(1) }),
];
const OVER = Array.from({ length: 14 }, (_, i) => job(39 - i, { phase: i % 4 ? "finished" : "failed", exit_code: i % 4 ? 0 : 137, gpus: on(i % 4), started_ms: now - 3e6 + i * 1e5,
                                                                resumed_ms: now - 3e6 + i * 1e5, ended_ms: now - 1e6 + i * 1e4, slowdown: 1.1 }));
const PAIRS = Array.from({ length: 20 }, (_, a) => Array.from({ length: a + 1 }, (_one, b) => ({
  source: "shipped", gpu: "H200", a: `workload-${a} batch 64`, b: `workload-${b} batch 64`, speed_a: 0.4 + ((a * 7 + b) % 6) / 10, speed_b: 0.9, fits: (a + b) % 9 > 0, time_ms: null }))).flat();

/** `nothing`: the cluster was not used. */
function answers(url, nothing) {
  switch (url.pathname) {
    case "/api/v1": return { schema: 1, version: "9.9", node: "gpu-node-17.cluster.example.org", policy: "sharewell", since_ms: now };
    case "/api/v1/limits": return { schema: 1, user: "ann", unknown: "guest", unknown_from: "default", limits: [] };
    case "/api/v1/gpus": return { schema: 1, gpus: [gpu(0, { jobs: [42, 43], busy: 0.87, memory_used_bytes: 38e9, power_watts: 512 }), gpu(1, { jobs: [41], busy: 0.012 }),
                                                    gpu(2, { problem: "XID 79: the GPU has fallen off the bus" }), gpu(3)] };
    case "/api/v1/nodes": return { schema: 1, nodes: [{ name: "made-up", cores: 96, cores_given: 17, simulated_cores: false, memory_bytes: 503e9, gpus: 4, policy: "sharewell", store_up: true,
                                                        store_problem: "", machine: { cpu_busy: 0.374, memory_bytes: 540e9, memory_used_bytes: 87e9 } }] };
    case "/api/v1/usage": return nothing ? { ...USAGE, bins: USAGE.bins.map((bin) => ({ ...bin, held: 0, shared: 0, busy: null })) } : USAGE;
    case "/api/v1/whatif": return WHATIF;
    case "/api/v1/pairs": return { schema: 1, pairs: PAIRS };
    case "/api/v1/jobs": return url.searchParams.has("dry_run") ? pageAnswers(url) : url.searchParams.get("phase") === "finished" ? pageAnswers(url) : listed([...QUEUE, ...OVER], url);
    default: return url.pathname.startsWith("/api/v1/whatif/") ? { schema: 1, state: "running", policy: 0, policies: 2, jobs_done: 1, jobs: 42 } : pageAnswers(url);
  }
}

/** What is wrong with the page as it stands: wider than the screen, or too small for a finger. Links within sentences may be small. */
function faults(page, fingers) {
  return page.evaluate(([finger, small]) => {
    const found = [];
    if (document.documentElement.scrollWidth > window.innerWidth) {
      const wide = [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > window.innerWidth + 1 && !one.closest(".scroll, .matrix, pre, .visually-hidden"));
      found.push(`wider than the screen: ${document.documentElement.scrollWidth} px, ${wide.slice(0, 3).map((one) => `${one.tagName}.${one.getAttribute("class")}`).join(", ")}`);
    }
    for (const one of document.querySelectorAll("a, button, select, input, summary, [tabindex='0'][role=row], .job-line")) {
      const { width, height, left, right } = one.getBoundingClientRect();
      if (width === 0 || height === 0 || one.matches(".skip, .visually-hidden")) continue;
      const words = `${one.tagName}.${one.getAttribute("class") ?? ""} "${(one.textContent ?? "").trim().slice(0, 24)}"`;
      if (left < -1 || right > window.innerWidth + 1) if (!one.closest(".scroll, .matrix, pre")) found.push(`outside: ${words} ${Math.round(left)} to ${Math.round(right)}`);
      const within = one.closest("label") ?? one.closest(".job-line") ?? one;
      const room = within.getBoundingClientRect();
      const inSentence = one.tagName.toUpperCase() === "A" && one.closest("p, li.plain, dd, svg") && !one.matches(".more, .joblink");
      if (small && !inSentence && (room.height < finger - 0.5 || room.width < finger - 0.5)) found.push(`too small: ${words} ${Math.round(room.width)} x ${Math.round(room.height)}`);
    }
    return [...new Set(found)];
  }, [FINGER, fingers]);
}

const ROUTES = {
  now: async (page) => page.waitForSelector("[data-gpu='3']", { timeout: PATIENCE }),
  jobs: async (page) => page.waitForSelector(".job-line", { timeout: PATIENCE }),
  "job/42": async (page) => {
    await page.waitForSelector("#neighbours table, #neighbours .facts", { timeout: PATIENCE });
    await page.waitForSelector("#samples canvas", { timeout: PATIENCE });
  },
  "cluster/86400": async (page) => page.waitForSelector("#users table", { timeout: PATIENCE }),
  workloads: async (page) => page.waitForSelector("#measured", { timeout: PATIENCE }),
  predict: async (page) => {
    await page.setInputFiles("#predict-file", { name: "model.onnx", mimeType: "application/octet-stream", buffer: Buffer.from("x") });
    await page.waitForSelector("#placement", { timeout: PATIENCE });
  },
  simulate: async (page) => {
    await page.click("#simulate-run");
    await page.waitForSelector("#gains table", { timeout: PATIENCE });
  },
};

async function checkNow(page, width, height) {
  const queue = await page.locator("#queue tbody tr").evaluateAll((all) => all.map((one) => one.textContent));
  assert.equal(queue.length, 3, "jobs of one reason are one row");
  assert.match(queue[2] ?? "", /#120.*and 20 more/);
  assert.ok(queue.every((one) => one.trim().length > 20), "no row is blank");
  if (width > 1000) assert.ok(height < NOW_MOST, `the Now page is ${height} px high`);
  assert.equal(await page.locator("#queue a.more").getAttribute("href"), "#/jobs?q=state:waiting+why:%22no+GPU+is+free:+each+has+as+much+as+its+residents+bear%22");
}

/** The header keeps its height whatever the connection says. */
async function checkLost(page, name) {
  const height = () => page.evaluate(() => document.getElementById("header").getBoundingClientRect().height);
  const before = await height();
  await page.evaluate(() => {
    const shown = document.getElementById("connection");
    shown.className = "connection is-lost";
    shown.querySelector(".told").textContent = "no connection for 12m\u00a034s";
  });
  assert.equal(await height(), before, `${name}: the header's height when the server is gone`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  await page.screenshot({ path: `${SHOTS}/lost-${name}.png` });
  assert.ok(wide <= 0, `${name}: the header is ${wide} px too wide when the server is gone`);
}

/** `token`: the event stream is the real one. */
export async function checkScreens(browser, url, complaints, token) {
  for (const [name, width, height] of SCREENS) {
    const page = await browser.newPage({ viewport: { width, height }, colorScheme: "light", hasTouch: width < 1000 });
    complaints.watch(page);
    await answerWith(page, (asked) => answers(asked, name === "tablet"));
    // What is written on charts, which are canvases.
    await page.addInitScript(() => {
      window.written = [];
      const write = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function (words, ...rest) {
        window.written.push(String(words));
        write.call(this, words, ...rest);
      };
    });
    await page.goto(url);
    await checkLost(page, `${name}-read-only`);
    await page.click("#token");
    await page.fill("#token-field", token);
    const wrong = [];
    const look = async (what) => wrong.push(...(await faults(page, width < 1000)).map((fault) => `${what}: ${fault}`));
    await look(`the token dialog, ${name}`);
    await page.keyboard.press("Enter");
    await page.waitForSelector("dialog", { state: "detached", timeout: PATIENCE });
    await page.click("#submit");
    await page.waitForSelector("#submit-command", { timeout: PATIENCE });
    await look(`the dialog of a new job, ${name}`);
    await page.keyboard.press("Escape");
    for (const [route, ready] of Object.entries(ROUTES)) {
      await page.evaluate((hash) => { location.hash = hash; }, `#/${route}`);
      await ready(page);
      const what = `${route}, ${name}`, file = route.split("/")[0];
      await until(`${what}: it is laid out`, async () => (await page.evaluate(() => document.querySelectorAll("main *").length)) > 20);
      await look(what);
      if (route === "now") await checkNow(page, width, await page.evaluate(() => document.documentElement.scrollHeight));
      if (route === "cluster/86400") assert.equal(await page.locator(".gantt-list").count(), width < 640 ? 1 : 0, "a list on the phone");
      if (route === "cluster/86400") assert.deepEqual(await page.evaluate(() => window.written.filter((one) => /\de-\d/.test(one))), [], "an axis of nothing");
      if (route === "predict") assert.ok(await page.evaluate(() => document.querySelector("#prediction svg text").getBoundingClientRect().height) < 24, "the chart's type is as large as the page's");
      if (route === "workloads") assert.equal(await page.locator("#pair-choice").count(), width < 640 ? 1 : 0, "a list on the phone");
      const picture = (ending) => page.screenshot({ path: `${SHOTS}/${file}-${name}${ending}.png`, fullPage: route !== "jobs" });
      await picture("");
      if (name !== "phone") continue;  // wide pages are looked at where they are tested
      await accessible(page, what).catch((error) => wrong.push(error.message));
      await page.emulateMedia({ colorScheme: "dark" });
      await picture("-dark");
      // All but colours is as it was.
      await accessible(page, `${what}, dark`, null, ["color-contrast"]).catch((error) => wrong.push(error.message));
      await page.emulateMedia({ colorScheme: "light" });
    }
    assert.deepEqual(wrong, []);
    await checkLost(page, name);
    await page.close();
  }
}
