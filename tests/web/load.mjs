// The dashboard at the size of a large cluster, on a real server and in a real browser: 1,000 simulated GPUs, 5,000 jobs (of
// which a thousand run as real processes) and a day of samples. Bars: first paint under 1 s, an update under 100 ms, the
// page's process under 200 MB, the server under 5 % of a core for 50 open pages. Part of `make soak`.
//   node tests/web/load.mjs [--running N] [--pages N] [--seconds N]
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import http from "node:http";
import { hostname, loadavg } from "node:os";
import { join } from "node:path";
import { Complaints, openBrowser, PATIENCE, ROOT, Server, shot } from "./harness.mjs";

const GPUS = 1000, PAST_JOBS = 3800, JOBS = 5000;
const BAR = { paint: 1000, update: 100, megabytes: 200, core: 0.05 };
const FILL = process.env.WEB_STORE ?? join(ROOT, "build/release/web_store");

function flag(name, usual) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? usual : Number(process.argv[at + 1]);
}
const RUNNING = flag("running", GPUS), PAGES = flag("pages", 50), SECONDS = flag("seconds", 60);

const rows = [];
const broken = [];
function judge(what, value, bar, words) {
  const ok = value < bar;
  rows.push(`| ${what} | ${words} | ${ok ? "ok" : "MISSED"} |`);
  console.log(`${ok ? "ok" : "MISSED"} ${what}: ${words}`);
  if (!ok) broken.push(what);
}
const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** Seconds of CPU that the process has taken, its threads included. */
function cpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function kilobytes(pid, key) {
  const found = new RegExp(`^${key}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"));
  return Number(found?.[1] ?? NaN);
}

async function coresOver(pid, seconds) {
  const [cpu, began] = [cpuSeconds(pid), Date.now()];
  await sleep(seconds * 1000);
  return (cpuSeconds(pid) - cpu) / ((Date.now() - began) / 1000);
}

async function fill(server) {
  const began = Date.now();
  const filled = spawnSync(FILL, [join(server.folder, "s.db"), server.folder, hostname()], { encoding: "utf8" });
  assert.equal(filled.status, 0, filled.error?.message ?? filled.stderr);
  const size = readdirSync(server.folder).length;
  console.log(`   the store was filled in ${((Date.now() - began) / 1000).toFixed(0)} s (${size} files)`);
}

async function submitLive(server) {
  const needs = { source: "predicted", from: "a.onnx at batch 64", gpu: "H200", busy: 0.3, sm: 0.2, dram: 0.1, gpu_memory_bytes: 1e10, gpu_memory_upper_bytes: 1.2e10,
                  cpu_cores: 0.5, cores_upper: 0.6, host_memory_bytes: 1e9, power_watts: 200, kernel_seconds: 1e-5, kernels_per_step: 400, steps_per_second: 10 };
  const make = (i) => ({ name: `live-${i}`, command: ["sleep", "86400"], folder: "/", gpus: 1, cores: 0.5, held: i >= RUNNING,
                         ...(i % 4 === 0 ? { needs } : { exclusive: i % 2 === 0 }) });
  const all = Array.from({ length: JOBS - PAST_JOBS }, (_, i) => make(i));
  for (let at = 0; at < all.length; at += 200) await server.ask("POST", "/api/v1/jobs", { jobs: all.slice(at, at + 200) });
  const end = Date.now() + 15 * 60_000;
  for (let last = -1; Date.now() < end;) {
    const { counts } = await server.ask("GET", "/api/v1/jobs?live=1&limit=1");
    if ((counts.running ?? 0) !== last) console.log(`   ${last = counts.running ?? 0} jobs run`);
    if ((counts.starting ?? 0) === 0 && last > 0 && last + (counts.waiting ?? 0) >= RUNNING) return counts;
    await sleep(2000);
  }
  throw new Error("the jobs did not start within 15 minutes");
}

/** Opens one page in a browser of its own, as somebody would who just clicked; what it took and holds. */
async function onePage(url, route, shown, name, complaints) {
  const browser = await openBrowser();
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    complaints.watch(page);
    const began = Date.now();
    await page.goto(`${url}#/${route}`);
    await page.waitForSelector(shown, { timeout: PATIENCE });
    const data = Date.now() - began;
    const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity);
    await sleep(8000);  // charts, and two more rounds of figures
    const session = await browser.newBrowserCDPSession();
    const { processInfo } = await session.send("SystemInfo.getProcessInfo");
    const renderers = processInfo.filter((one) => one.type === "renderer").map((one) => kilobytes(one.id, "Pss") / 1000);
    const heap = await page.evaluate(() => performance.memory.usedJSHeapSize / 1e6);
    await shot(page, `load-${name}`);
    const held = Math.max(...renderers);
    judge(`${name}: first paint`, paint, BAR.paint, `${paint.toFixed(0)} ms, its data after ${data} ms`);
    judge(`${name}: memory`, held, BAR.megabytes, `${held.toFixed(0)} MB of the page's process, ${heap.toFixed(1)} MB of JavaScript in it`);
    return { browser, page };
  } catch (error) {
    await browser.close();
    throw new Error(`${name}: ${error.message}`);
  }
}

/** Real events: jobs are submitted, and the page works on each. Both what it works and when it shows. */
async function updates(server, page) {
  await page.evaluate(() => {
    window.longest = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration);
    }).observe({ entryTypes: ["longtask"] });
  });
  const shown = [];
  const { counts } = await server.ask("GET", "/api/v1/jobs?live=1&limit=1");
  const waiting = (counts.waiting ?? 0) + (counts.held ?? 0);
  for (let i = 0; i < 20; ++i) {
    const began = Date.now();
    await server.ask("POST", "/api/v1/jobs", { name: `event-${i}`, command: ["true"], folder: "/", gpus: 0, held: true });
    const words = (waiting + i + 1).toLocaleString("en");
    // Not waitForFunction: it evaluates text, which the page's Content-Security-Policy refuses.
    while (await page.evaluate(() => document.querySelector("[data-tile=waiting] b")?.textContent) !== words) {
      assert(Date.now() - began < PATIENCE, `the page never showed that ${words} jobs wait`);
      await sleep(10);
    }
    shown.push(Date.now() - began);
    await sleep(300);
  }
  const longest = await page.evaluate(() => window.longest);
  shown.sort((a, b) => a - b);
  judge("an update", longest, BAR.update, `the page works ${longest ? `${longest.toFixed(0)} ms` : "less than 50 ms"} at a time; it shows ${shown[10]} ms after the submission (median of 20)`);
}

/** What one page asks in a minute without events, to be asked by the others. */
async function pattern(page) {
  const asked = [];
  const note = (request) => {
    const url = new URL(request.url());
    if (url.pathname.startsWith("/api/") && !url.pathname.endsWith("/events")) asked.push(url.pathname + url.search);
  };
  page.on("request", note);
  await sleep(20_000);
  page.off("request", note);
  return asked;
}

/** Asks as a page does: its event stream, and what the page asked in 20 s, spread over 20 s. */
class Reader {
  constructor(port, paths, agent) {
    Object.assign(this, { port, paths, agent, bytes: 0, answers: 0, over: false });
    this.stream = http.get({ port, path: "/api/v1/events", agent: false }, (answer) => answer.resume());
    this.stream.on("error", () => undefined);
    void this.run();
  }

  async run() {
    await sleep(Math.random() * 20_000);
    for (let i = 0; !this.over; ++i) {
      await new Promise((done) => http.get({ port: this.port, path: this.paths[i % this.paths.length], agent: this.agent }, (answer) => {
        answer.on("data", (part) => (this.bytes += part.length));
        answer.on("end", done);
      }).on("error", done));
      ++this.answers;
      await sleep(20_000 / this.paths.length);
    }
  }

  stop() {
    this.over = true;
    this.stream.destroy();
  }
}

async function manyPages(server, page) {
  const paths = await pattern(page);
  assert.ok(paths.length > 5, "the page asks nothing");
  await page.goto("about:blank");
  const quiet = await coresOver(server.process.pid, SECONDS / 2);
  const agent = new http.Agent({ keepAlive: true, maxSockets: PAGES });
  const readers = Array.from({ length: PAGES }, () => new Reader(server.port, paths, agent));
  await sleep(21_000);
  const cores = await coresOver(server.process.pid, SECONDS);
  const bytes = readers.reduce((all, reader) => all + reader.bytes, 0);
  const answers = readers.reduce((all, reader) => all + reader.answers, 0);
  readers.forEach((reader) => reader.stop());
  agent.destroy();
  const more = cores - quiet;
  judge(`the server, ${PAGES} pages`, more, BAR.core,
        `${(more * 100).toFixed(1)} % of a core more than the ${(quiet * 100).toFixed(1)} % that it takes for ${RUNNING} running jobs alone; ${answers} answers, ${(bytes / 1e6).toFixed(0)} MB`);
}

const server = new Server();
const complaints = new Complaints();
let opened = null;
try {
  console.log(`   load of the machine before: ${loadavg().map((one) => one.toFixed(1)).join(" ")}`);
  await fill(server);
  await server.start("--gpus", `${GPUS}xH200`);
  await submitLive(server);
  opened = await onePage(server.url, "now", ".heat .cell", "now", complaints);
  await updates(server, opened.page);
  await manyPages(server, opened.page);
  await opened.browser.close();
  for (const [route, shown, name] of [["jobs", ".job-line", "jobs"], ["job/2000", "#samples canvas", "job"], ["workloads", "#predictor", "workloads"], ["cluster", "svg .span, svg a", "cluster"]]) {
    opened = await onePage(server.url, route, shown, name, complaints);
    await opened.browser.close();
  }
  assert.deepEqual(complaints.all, [], "the browser complains");
} catch (error) {
  broken.push("it ran to its end");
  console.error(error.stack);
} finally {
  await opened?.browser.close().catch(() => undefined);
  if (server.process?.exitCode === null) {
    // Jobs run on when a server ends: these are nobody's.
    for (let below;;) {
      const page = await server.ask("GET", `/api/v1/jobs?phase=waiting,starting,running&limit=1000${below ? `&below=${below}` : ""}`).catch(() => ({ jobs: [] }));
      for (const job of page.jobs) await server.ask("POST", `/api/v1/jobs/${job.number}/cancel`).catch(() => undefined);
      if (!page.next || page.jobs.length === 0) break;
      below = page.next;
    }
    for (let i = 0; i < 120; ++i) {
      const { counts } = await server.ask("GET", "/api/v1/jobs?live=1&limit=1").catch(() => ({ counts: {} }));
      if (!counts.running && !counts.stopping && !counts.starting) break;
      await sleep(1000);
    }
    await server.stop();
  }
  server.remove();
}
console.log(["", "| figure | measured | |", "|---|---|---|", ...rows, ""].join("\n"));
console.log(`   load of the machine after: ${loadavg().map((one) => one.toFixed(1)).join(" ")}`);
process.exit(broken.length > 0 ? 1 : 0);
