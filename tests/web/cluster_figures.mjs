// The Cluster and Simulate pages against answers that are known: each number stands where it belongs, as the API gave it;
// unknown is said; names stay text; the CSV of each chart has the same numbers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { accessible, PATIENCE, shot, until } from "./harness.mjs";
import { answerWith, gpu, job } from "./made.mjs";

const BAD = "<img src=x onerror=\"window.pwned=1\">", FORMULA = "=cmd|' /C calc'!A0";
const now = Date.now();
const HOUR = 3_600_000;
const used = (user, over = {}) => ({ user, jobs: 3, failed: 1, gpu_hours: 7.25, known_gpu_hours: 4.5, idle_gpu_hours: 1.75, failed_gpu_hours: 0.66, wait_mean_seconds: 754,
                                     wait_median_seconds: 61.5, speed_mean: 0.437, ...over });
const { user: _none, ...ALL } = used("", { jobs: 8, gpu_hours: 14.5, idle_gpu_hours: 2.25, failed_gpu_hours: 1.11 });
export const USAGE = {
  schema: 1, from_ms: now - 24 * HOUR, to_ms: now, gpus: 2, cut: true, all: ALL,
  users: [used(BAD), used("bo", { jobs: 5, gpu_hours: 5.8, known_gpu_hours: 0, idle_gpu_hours: null, failed_gpu_hours: 12.34, wait_mean_seconds: null, wait_median_seconds: null, speed_mean: null }),
          used(FORMULA, { gpu_hours: 1.45 })],
  fairness_jain: 0.8765, held: 0.613, shared: 0.247, busy: null,
  bins: Array.from({ length: 24 }, (_one, i) => ({ from_ms: now - (24 - i) * HOUR, held: i / 24, shared: i / 48, busy: i < 12 ? null : 0.5 })),
  savings: { jobs: 41, shared: 17,
             really: { gpu_hours: 14.5, energy_kwh: null, makespan_seconds: 7290, jct_mean_seconds: 3725, wait_mean_seconds: 59 },
             exclusive: { gpu_hours: 23.25, energy_kwh: null, makespan_seconds: 10980, jct_mean_seconds: 3605, wait_mean_seconds: 330 },
             saved: { gpu_hours: 8.75, energy_kwh: null, makespan_seconds: 3690, jct_mean_seconds: -120, wait_mean_seconds: 271 },
             how: "Found by playing them again.", remarks: ["energy is unknown: of 2 of 41 jobs nobody knows"] } };
const JOBS = [job(5, { name: BAD, user: BAD, phase: "finished", submitted_ms: now - 5 * HOUR, started_ms: now - 4 * HOUR, resumed_ms: now - 4 * HOUR, ended_ms: now - HOUR,
                       gpus: [{ index: 0, uuid: "gpu-0", model: "H200" }] })];

const PROJECTS = { schema: 1, projects: [
  { name: "default", share: 0.5, gpus_of_share: 1, gpus_in_use: 0, running: 0, waiting: 12, yours: false },
  { name: BAD, share: 0.5, gpus_of_share: 1, gpus_in_use: 1.3333333, running: 3, waiting: 0, yours: true }] };

const row = (name, over = {}) => ({ name, jobs: 42, finished: 41, makespan_seconds: 7290, jct_mean_seconds: 3725, queueing_mean_seconds: 754, slowdown_mean: 1.234, busy: 0.613, moves: 2, ooms: 3,
                                    curves: { jct_seconds: [60, 120, 600, 7200], queueing_seconds: [0, 30, 90, 300], slowdown: [1, 1.1, 1.25, 1.5] }, ...over });
const changed = (number, over = {}) => ({ number, name: BAD, user: "bo", before_seconds: 1000, after_seconds: 250, ...over });
export const WHATIF = {
  schema: 1, jobs: 42, remarks: ["left out: 1 job of unknown length"],
  policies: [row("slot", { jct_mean_seconds: 7450 }), row("sharewell", { makespan_seconds: 3690, busy: null, ooms: 0 })],
  really: row("really", { jobs: 40, jct_mean_seconds: 3000, slowdown_mean: null, curves: { jct_seconds: [100], queueing_seconds: [], slowdown: [] } }),
  changes: [{ policy: "sharewell", jobs_sooner: 31, jobs_later: 4, jobs_same: 6, jct_mean_change: -0.5, worst_job: 1.77, gains: [changed(17)], losses: [changed(18, { before_seconds: 100, after_seconds: 177 })] }],
  users: [{ user: BAD, jobs: 30, gpu_hours: 12.345, jct_mean_seconds: [1000, 600], really_jct_mean_seconds: 930 },
          { user: FORMULA, jobs: 12, gpu_hours: 1, jct_mean_seconds: [100, null], really_jct_mean_seconds: null }] };

let progressAsked = 0;
function answers(url) {
  if (url.pathname === "/api/v1/gpus") return { schema: 1, gpus: [gpu(0), gpu(1)] };
  if (url.pathname === "/api/v1/jobs") return { schema: 1, jobs: JOBS, counts: {}, next: null };
  if (url.pathname === "/api/v1/usage") return USAGE;
  if (url.pathname === "/api/v1/projects") return PROJECTS;
  if (url.pathname.startsWith("/api/v1/whatif/")) {
    ++progressAsked;
    return { schema: 1, state: "running", policy: 1, policies: 2, jobs_done: 21, jobs: 42 };
  }
  return undefined;
}

const NBSP = "\u00a0";
async function cells(page, selector) {
  return page.locator(`${selector} tbody tr`).evaluateAll((rows) => rows.map((one) => [...one.querySelectorAll("td")].map((cell) => cell.textContent.trim())));
}

async function csv(page, name) {
  const [download] = await Promise.all([page.waitForEvent("download", { timeout: PATIENCE }), page.click(`[data-csv="${name}"]`)]);
  assert.equal(download.suggestedFilename(), `${name}.csv`);
  return readFileSync(await download.path(), "utf8");
}

async function staysText(page) {
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  assert.equal(await page.evaluate(() => document.querySelectorAll("main script, main img, main style, main iframe, [onerror]").length), 0);
}

export async function checkCluster(page, url) {
  await answerWith(page, answers);
  await page.reload();
  await page.goto(`${url}#/cluster/86400`);
  await page.waitForSelector("#savings table", { timeout: PATIENCE });
  const text = async (selector) => (await page.textContent(selector)).replaceAll(/\s+/g, " ").trim();
  const tiles = { held: "61 %", shared: "25 %", busy: "–", idle: "2.25 h", failed: "1.11 h", saved: "8.75 h" };
  for (const [tile, value] of Object.entries(tiles)) assert.equal(await text(`#tile-${tile} b`), value, tile);
  assert.deepEqual(await cells(page, "#savings"), [
    ["GPU hours held", "14.5", "23.3", "8.75"], ["energy of held GPUs", "unknown", "unknown", "unknown"],
    ["makespan", `2h${NBSP}01m`, `3h${NBSP}03m`, `1h${NBSP}01m`], ["completion time, mean", `1h${NBSP}02m`, `1h${NBSP}00m`, `−2m${NBSP}00s`],
    ["waiting, mean", "59 s", `5m${NBSP}30s`, `4m${NBSP}31s`]]);
  const savings = await text("#savings");
  assert.match(savings, /8\.75 GPU hours of the 23\.3 that exclusive slots would have held \(38 %\); energy: unknown\. 41 jobs held GPUs, and 17 of them shared one\./);
  assert.ok(savings.includes(USAGE.savings.how) && savings.includes(USAGE.savings.remarks[0]));
  assert.deepEqual(await cells(page, "#users"), [
    [BAD, "3", "7.25", "50 %", "1.75 of 4.5", "0.66", `12m${NBSP}34s`, `1m${NBSP}01s`, "44 %"],
    ["bo", "5", "5.8", "40 %", "unknown", "12.3", "–", "–", "–"],
    [FORMULA, "3", "1.45", "10 %", "1.75 of 4.5", "0.66", `12m${NBSP}34s`, `1m${NBSP}01s`, "44 %"]]);
  assert.deepEqual(await cells(page, "#projects"), [["default", "50 %", "1", "0", "0", "12"], [BAD, "50 %", "1", "1.3", "3", "0"]]);
  assert.match(await csv(page, "projects"), /\ndefault,0\.5,1,0,0,12\n/);
  assert.equal(await text("#jain"), "0.877");
  assert.match(await text("#users"), /the oldest jobs are missing/);
  await page.waitForSelector("#use canvas", { timeout: PATIENCE });
  const users = await csv(page, "users");
  assert.match(users, /^user,jobs,failed,gpu_hours,/);
  assert.ok(users.includes(`"${BAD.replaceAll('"', '""')}",3,1,7.25,4.5,1.75,0.66,754,61.5,0.437\n`), users);
  assert.ok(users.includes(`'${FORMULA},3`), "a formula is marked as text");
  assert.match(await csv(page, "savings"), /gpu_hours,14\.5,23\.25,8\.75\nenergy_kwh,,,\n/);
  const bins = (await csv(page, "gpus-in-use")).trim().split("\n");
  assert.equal(bins.length, 25);
  assert.equal(bins[7], `${new Date(USAGE.bins[6].from_ms).toISOString()},0.25,0.125,`);
  assert.match(await csv(page, "gpus"), /\n5,"<img src=x/);
  await staysText(page);
  await shot(page, "cluster-figures");
  await accessible(page, "Cluster");
  await page.emulateMedia({ colorScheme: "dark" });
  await accessible(page, "Cluster in the dark");
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  await shot(page, "cluster-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await page.unroute(/\/api\/v1/);
}

/** REQUIRES: a token was given, and the page is not loaded anew. */
export async function checkSimulate(page) {
  await answerWith(page, answers);
  let done;
  await page.route(/\/api\/v1\/whatif$/, async (route) => {
    const asked = route.request().postDataJSON();
    assert.deepEqual([asked.policies, asked.days], [["slot", "sharewell"], 7]);
    await new Promise((resolve) => (done = resolve));
    await route.fulfill({ json: WHATIF });
  });
  await page.evaluate(() => { location.hash = "#/simulate"; });
  await page.focus("#simulate-run");
  await page.keyboard.press("Enter");
  await until("progress is shown", async () => (await page.textContent("#simulate-said")).includes("sharewell, policy 2 of 2: 21 of 42 jobs played"));
  assert.equal(await page.getAttribute("#simulate-said .bar", "aria-label"), "75 % done");
  assert.ok(progressAsked > 0);
  done();
  await until("the results are shown", async () => (await page.textContent("#results")).startsWith("42 jobs, policies side by side"));
  const text = async (selector) => (await page.textContent(selector)).replaceAll(/\s+/g, " ").trim();
  assert.deepEqual(await cells(page, "#results"), [
    ["really", "40", `2h${NBSP}01m`, `50m${NBSP}00s`, `12m${NBSP}34s`, "–", "61 %", "3"],
    ["slot", "42", `2h${NBSP}01m`, `2h${NBSP}04m`, `12m${NBSP}34s`, "1.23×", "61 %", "3"],
    ["sharewell", "42", `1h${NBSP}01m`, `1h${NBSP}02m`, `12m${NBSP}34s`, "1.23×", "–", "0"]]);
  const results = await text("#results");
  assert.match(results, /In reality jobs were done 2\.48× as fast as under slot, in the mean\.Under sharewell jobs are done 2\.00× as fast as under slot/);
  assert.ok(results.includes(WHATIF.remarks[0]));
  assert.match(await text("#gains li[data-policy=sharewell]"), /31 jobs sooner, 4 later, 6 about the same \(within 5 %\); mean completion time −50 %; the job that loses most takes 1\.77×\./);
  const [ann, other, gain, loss] = await cells(page, "#gains");
  assert.deepEqual(ann, [BAD, "30", "12.35", `15m${NBSP}30s`, `16m${NBSP}40s`, `10m${NBSP}00s`, "−40 %"]);
  assert.deepEqual(other, [FORMULA, "12", "1", "–", `1m${NBSP}40s`, "–", "–"]);
  assert.deepEqual(gain, [`#17 ${BAD}`, "bo", `16m${NBSP}40s`, `4m${NBSP}10s`, "−75 %"]);
  assert.deepEqual(loss.slice(2), [`1m${NBSP}40s`, `2m${NBSP}57s`, "+77 %"]);
  // Medians: of four, what two do not exceed.
  assert.match(await page.getAttribute("#completion-time svg[role=img]", "aria-label"), /Median in minutes: really 1\.67, slot 2, sharewell 2$/);
  assert.match(await page.getAttribute("#slowdown svg[role=img]", "aria-label"), /Median in times alone: slot 1\.1, sharewell 1\.1$/);
  assert.match(await text("#slowdown figcaption"), /really: unknown/);
  assert.match(await csv(page, "completion-time"), /^policy,share of jobs,minutes\nreally,1,1\.66\d*\nslot,0\.25,1\nslot,0\.5,2\nslot,0\.75,10\nslot,1,120\n/);
  assert.match(await csv(page, "policies"), /\nsharewell,42,3690,3725,754,1\.234,,0\n$/);
  assert.ok((await csv(page, "users")).includes(`,30,12.345,930,1000,600\n'${FORMULA},12,1,,100,\n`));
  await staysText(page);
  await page.evaluate(() => window.scrollTo(0, 0));
  await shot(page, "simulate-figures");
  await accessible(page, "Simulate");
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.click("#theme");
  assert.notEqual(await background(), light);
  await accessible(page, "Simulate in the dark");
  await page.evaluate(() => document.querySelector("#distributions").scrollIntoView());
  await shot(page, "simulate-dark");
  await page.click("#theme");
  await page.unroute(/\/api\/v1\/whatif$/);
  await page.unroute(/\/api\/v1/);
}
