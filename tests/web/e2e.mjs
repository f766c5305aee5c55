// The dashboard from end to end: a real server, a real browser. Screenshots are kept in build/web-screenshots.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { accessible, Complaints, openBrowser, PATIENCE, ROOT, Server, shot, until } from "./harness.mjs";
import { checkFigures } from "./figures.mjs";
import { checkPages } from "./figures_pages.mjs";
import { checkJobs } from "./jobs.mjs";
import { checkMany } from "./many.mjs";
import { checkScreens } from "./screens.mjs";
import { checkCluster, checkSimulate } from "./cluster_figures.mjs";

const MODEL = join(ROOT, "fuzz/corpus/onnx/tv_alexnet_224.onnx");
const PAYLOADS = [
  "<script>window.pwned=1</script>", "<img src=x onerror=\"window.pwned=1\">", "\"><svg onload=window.pwned=1>",
  "javascript:window.pwned=1", "</textarea></title><script>window.pwned=1</script>", "{{constructor.constructor('window.pwned=1')()}}",
  "${window.pwned=1}", "<a href=\"javascript:window.pwned=1\">x</a>", "<style>*{display:none}</style>", "&lt;b&gt;&#60;script&#62;",
];

const server = new Server();
const complaints = new Complaints();
let page;

async function step(name, work) {
  const began = Date.now();
  try {
    await work();
  } catch (error) {
    if (page) await shot(page, "failed").catch(() => undefined);
    throw new Error(`${name}: ${error.stack}`);
  }
  assert.deepEqual(complaints.all, [], `${name}: the browser complains`);
  console.log(`ok ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
}

const phaseIs = (phase) => page.waitForSelector(`.title .pill[data-phase="${phase}"]`, { timeout: PATIENCE });
const textOf = (selector) => page.textContent(selector, { timeout: PATIENCE });
const go = (route) => page.goto(`${server.url}#/${route}`);

function program(...args) {
  const path = process.env.SHAREWELL ?? join(ROOT, "build/release/sharewell");
  const done = spawnSync(path, [...args, "--server", server.socket], { encoding: "utf8" });
  assert.equal(done.status, 0, done.stderr);
  return done.stdout.trim();
}

const makeToken = () => program("token", "create", "--label", "dashboard");

async function signIn(token) {
  await page.click("#token");
  await page.fill("#token-field", token);
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog", { state: "detached", timeout: PATIENCE });
}

/** A job that goes on until the test lets it end. Submitted from the Predict page, with what was predicted. */
async function submitPredicted(name) {
  await page.click("#prediction button.primary");
  await page.fill("#submit-name", name);
  await page.fill("#submit-folder", server.folder);
  await page.fill("#submit-command", `sh -c "echo started ${name}; cat payloads; while [ ! -e stop-${name} ]; do sleep 0.1; done; echo bye"`);
  await page.click("dialog button[type=submit]");
  await page.waitForURL(/#\/job\/\d+/, { timeout: PATIENCE });
  return Number(/#\/job\/(\d+)/.exec(page.url())[1]);
}

async function run() {
  await server.start();
  writeFileSync(join(server.folder, "payloads"), PAYLOADS.map((words) => `${words}\n`).join(""));
  const token = makeToken();
  const browser = await openBrowser();
  try {
    page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: "light" });
    complaints.watch(page);
    let first, second, third;

    await step("the page comes from the program alone, under a strict policy", async () => {
      const asked = new Set();
      page.on("request", (request) => asked.add(new URL(request.url()).host));
      const answer = await page.goto(server.url);
      assert.match(answer.headers()["content-security-policy"], /default-src 'none'; script-src 'self'/);
      assert.equal(answer.headers()["content-encoding"], "gzip");
      await page.waitForSelector("[data-gpu='0']", { timeout: PATIENCE });
      await page.waitForSelector("#connection[data-state=live]", { timeout: PATIENCE });
      assert.deepEqual([...asked], [`127.0.0.1:${server.port}`]);
      assert.equal(await page.evaluate(() => document.cookie + localStorage.length + sessionStorage.length), "00");
    });
    await step("without a token it is read-only", async () => {
      await page.click("#submit");
      await page.waitForSelector("#token-field");
      await accessible(page, "the token dialog");
      await page.keyboard.press("Escape");
    });
    await step("every number on the Now page is the API's", async () => checkFigures(page, server.url));
    await step("every number on the Cluster page is the API's", async () => checkCluster(page, server.url));
    await step("a link signs its user in once, and a reload does not forget it", async () => {
      const link = program("dashboard");
      await page.goto(link);
      const name = () => until("the header names the user", async () => !/sign in|signed in/.test(await textOf("#token")));
      await name();
      assert.ok(!page.url().includes("code"), page.url());
      await page.reload();
      await name();
      assert.equal(await page.evaluate(() => document.cookie + localStorage.length), "0");
      const other = await browser.newPage();
      await other.goto(link);
      await other.waitForSelector("dialog .problem", { timeout: PATIENCE });
      assert.match(await other.textContent("dialog .problem"), /sharewell dashboard/);
      await other.close();
      await page.click("#token");
      assert.equal(await page.evaluate(() => sessionStorage.length), 0, "signed out");
      complaints.all.length = 0;  // the browser complains of the refusal that was asked for
    });
    await step("a token lives in this tab alone", async () => {
      await go("now");
      await signIn(token);
      assert.equal(await page.evaluate(() => localStorage.length), 0);
      assert.ok(!(await page.content()).includes(token));
    });
    await step("every number on the Job, Workloads and Predict pages is the API's", async () => checkPages(page, server.url));
    await step("a dropped model is predicted", async () => {
      await go("predict");
      await page.selectOption("#predict-precision", "bf16");
      const dropped = await page.evaluateHandle((bytes) => {
        const data = new DataTransfer();
        data.items.add(new File([Uint8Array.from(atob(bytes), (one) => one.charCodeAt(0))], "alexnet.onnx"));
        return data;
      }, readFileSync(MODEL).toString("base64"));
      await page.dispatchEvent(".drop", "drop", { dataTransfer: dropped });
      await page.waitForSelector("#prediction", { timeout: PATIENCE });
      assert.match(await textOf("#prediction"), /What alexnet\.onnx needs/);
      await page.waitForSelector("#placement", { timeout: PATIENCE });
      assert.match(await textOf("#prediction"), /GPU memory[\d.]+ GiB/);
      await shot(page, "predict");
      await accessible(page, "Predict");
    });
    await step("a job is submitted from the page and is seen to start", async () => {
      first = await submitPredicted("first");
      await phaseIs("running");
      const why = await server.ask("GET", `/api/v1/jobs/${first}/why`);
      await until("the why is shown", async () => (await textOf("#why")).includes(why.why[0]));
    });
    await step("its log is live, and what is in it stays text", async () => {
      await until("the log is shown", async () => (await textOf("#log")).includes(PAYLOADS.at(-1)));
      const log = await textOf("#log");
      for (const words of PAYLOADS) assert.ok(log.includes(words), words);
      assert.equal(await page.evaluate(() => document.querySelectorAll("#log *").length), 0);
    });
    await step("a second job shares its GPU", async () => {
      await go("predict");
      await page.setInputFiles("#predict-file", MODEL);
      await page.waitForSelector("#prediction", { timeout: PATIENCE });
      second = await submitPredicted("second");
      await phaseIs("running");
      await go("now");
      await until("both are on one card", async () => {
        const card = await textOf("[data-gpu='0'] .residents");
        return card.includes(`#${first}`) && card.includes(`#${second}`);
      });
    });
    await step("a job that waits says why and when", async () => {
      await page.click("#submit");
      await page.fill("#submit-command", "true");
      await page.fill("#submit-name", "third");
      await page.check("#submit-exclusive");
      await page.click("dialog button[type=submit]");
      await phaseIs("waiting");
      third = Number(/#\/job\/(\d+)/.exec(page.url())[1]);
      const job = await server.ask("GET", `/api/v1/jobs/${third}`);
      await until("the reason is shown", async () => (await textOf("#why")).includes(job.reason));
      await page.click("#act-hold");
      await phaseIs("held");
      await page.click("#act-release");
      await phaseIs("waiting");
      await go("now");
      await until("the queue has it", async () => (await textOf("#queue")).includes(job.reason));
      await shot(page, "now");
      await accessible(page, "Now");
    });
    await step("scripts in names stay text on every page", async () => {
      for (const name of PAYLOADS) {
        await server.ask("POST", "/api/v1/jobs", { name, command: ["echo", name], folder: server.folder, gpus: 0, held: true });
      }
      await until("the queue shows the first of them", async () => (await textOf("#queue")).includes(PAYLOADS[0]));
      await page.click("#queue a.more");
      await until("the Jobs page shows them", async () => {
        const list = await textOf("#job-list");
        return PAYLOADS.every((words) => list.includes(words));
      });
      await shot(page, "jobs-real");
      const { jobs } = await server.ask("GET", "/api/v1/jobs?phase=held");
      for (const job of jobs.slice(0, 3)) {
        await go(`job/${job.number}`);
        await until("the title is the name", async () => (await textOf(".title h1")).includes(job.name));
      }
      await go("cluster");
      await page.waitForSelector(`svg a[href="#/job/${first}"]`, { timeout: PATIENCE });
      await shot(page, "cluster");
      await accessible(page, "Cluster");
      assert.equal(await page.evaluate(() => window.pwned), undefined);
      assert.equal(await page.evaluate(() => document.querySelectorAll("main script, main img, main style, main iframe, [onerror]").length), 0);
    });
    await step("samples are drawn", async () => {
      await go(`job/${first}`);
      await page.waitForSelector("#samples canvas", { timeout: PATIENCE });
      const gib = (value) => `${(value / 2 ** 30).toFixed(1)} GiB`;
      const { needs, cores } = await server.ask("GET", `/api/v1/jobs/${first}`);
      const told = (await textOf("main")).replaceAll(/\s+/g, " ");
      assert.ok(told.includes(`GPU memory${gib(needs.gpu_memory_bytes)} (at most ${gib(needs.gpu_memory_upper_bytes)})`), told);
      assert.ok(told.includes(`GPU busy${(needs.busy * 100).toFixed(0)} %`), told);
      assert.ok(told.includes(`cores${cores}`), told);
      await until("its cores are sampled", async () => (await textOf("#samples")).includes("CPU cores in use"));
      await page.evaluate(() => window.scrollTo(0, 0));
      await shot(page, "job");
      await accessible(page, "Job");
    });
    await step("who was beside it is told, as the API has it", async () => {
      await until("the neighbour is shown", async () => (await textOf("#neighbours")).includes(`#${second}`));
      const { spans } = await server.ask("GET", `/api/v1/jobs/${first}/neighbours`);
      assert.ok(spans.some((span) => span.jobs.includes(second)), JSON.stringify(spans));
    });
    await step("dark colours: as the system says, and by the button", async () => {
      const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const light = await background();
      await page.emulateMedia({ colorScheme: "dark" });
      const dark = await background();
      assert.notEqual(dark, light);
      await shot(page, "job-dark");
      await accessible(page, "Job in the dark");
      await page.click("#theme");
      assert.equal(await background(), light);
      await page.click("#theme");
      assert.equal(await background(), dark);
      await go("now");
      await page.waitForSelector("[data-gpu='0']");
      await shot(page, "now-dark");
      await accessible(page, "Now in the dark");
    });
    await step("the measured pairs and the predictor", async () => {
      await go("workloads");
      await page.waitForSelector("#matrix rect.h8, #matrix rect.h7, #matrix rect.h6", { timeout: PATIENCE });
      await page.waitForSelector("#predictor", { timeout: PATIENCE });
      await shot(page, "workloads-dark");
      await accessible(page, "Workloads in the dark");
      await page.emulateMedia({ colorScheme: "light" });
      await page.click("#theme");
      await accessible(page, "Workloads");
    });
    await step("jobs end while the page looks on", async () => {
      await go(`job/${second}`);
      await phaseIs("running");
      writeFileSync(join(server.folder, "stop-second"), "");
      await phaseIs("finished");
      await until("the log ends", async () => (await textOf("#log")).endsWith("bye\n"));
      await go(`job/${first}`);
      writeFileSync(join(server.folder, "stop-first"), "");
      await phaseIs("finished");
      await go(`job/${third}`);
      await phaseIs("finished");
    });
    await step("a running job is cancelled", async () => {
      const made = await server.ask("POST", "/api/v1/jobs", { name: "long", command: ["sleep", "600"], gpus: 1, folder: server.folder });
      await go(`job/${made.jobs[0].number}`);
      await phaseIs("running");
      await page.click("#act-cancel");
      await page.click("dialog button.primary");
      await phaseIs("cancelled");
    });
    await step("a simulation of this server's own jobs", async () => {
      await go("simulate");
      await page.click("#simulate-run");
      await page.waitForSelector("#results", { timeout: PATIENCE });
      const results = await textOf("#results");
      assert.match(results, /slot/);
      assert.match(results, /sharewell/);
      const whatif = await server.ask("POST", "/api/v1/whatif", { policies: ["slot", "sharewell"], days: 7 });
      assert.match(results, new RegExp(`^${whatif.jobs} jobs, policies side by side`));
      await page.waitForSelector("#completion-time svg", { timeout: PATIENCE });
      await shot(page, "simulate");
      await accessible(page, "Simulate");
    });
    await step("every number on the Simulate page is the API's", async () => checkSimulate(page));
    await step("a trace of one's own on this server's machines", async () => {
      const trace = join(ROOT, "examples/batch.csv");
      await page.setInputFiles("#simulate-trace", trace);
      await page.click("#simulate-run");
      // The same trace gives the same figures.
      const asked = await fetch(`${server.url}api/v1/simulate?policies=slot,sharewell`, { method: "POST", body: readFileSync(trace), headers: { Authorization: `Bearer ${token}` } });
      assert.equal(asked.status, 200);
      const answer = await asked.json();
      assert.equal(answer.jobs, 100);
      await until("the trace's results are shown", async () => (await textOf("#results")).startsWith("100 jobs, policies side by side"));
      const shown = await textOf("#gains li[data-policy=sharewell]");
      assert.ok(shown.includes(`${answer.changes[0].jobs_sooner} jobs sooner, ${answer.changes[0].jobs_later} later`), shown);
      assert.equal(await page.locator("#gains a").count(), 0, "jobs of a trace have no page");
      await page.evaluate(() => document.querySelector("#distributions").scrollIntoView());
      await shot(page, "simulate-trace");
      await accessible(page, "Simulate with a trace");
    });
    await step("what sharing saved, of the jobs that shared a GPU here", async () => {
      await page.evaluate(() => { location.hash = "#/cluster/3600"; });
      const { savings } = await server.ask("GET", "/api/v1/usage?seconds=3600");
      assert.ok(savings.shared >= 2 && savings.saved.gpu_hours > 0, JSON.stringify(savings));
      assert.ok(Math.abs(savings.exclusive.gpu_hours - savings.really.gpu_hours - savings.saved.gpu_hours) < 1e-9);
      const number = (value) => value.toLocaleString("en", { maximumFractionDigits: value < 1 ? 3 : 2 });
      await until("the savings are shown", async () => (await textOf("#savings")).includes(`${number(savings.saved.gpu_hours)} GPU hours`));
      await page.evaluate(() => document.querySelector("#use").scrollIntoView());
      await shot(page, "cluster-savings");
    });
    await step("a server that restarts is found again, and nothing is missed", async () => {
      await go("now");
      complaints.expecting = true;
      await server.stop();
      await page.waitForSelector("#connection[data-state=lost]", { timeout: PATIENCE });
      await shot(page, "lost");
      await server.start();
      await page.waitForSelector("#connection[data-state=live]", { timeout: PATIENCE });
      await server.ask("POST", "/api/v1/jobs", { name: "after the restart", command: ["true"], folder: server.folder, gpus: 0, held: true });
      await until("the new job is shown", async () => (await textOf("#queue")).includes(`and ${PAYLOADS.length} more`));
      complaints.expecting = false;
    });
    await step("a change shows within a second", async () => {
      const began = Date.now();
      await server.ask("POST", "/api/v1/jobs", { name: "a change", command: ["true"], folder: server.folder, gpus: 0, held: true });
      await until("the change is shown", async () => (await textOf("#queue")).includes(`and ${PAYLOADS.length + 1} more`));
      console.log(`   shown after ${Date.now() - began} ms`);
      await go("jobs");
      await until("the Jobs page has it", async () => (await textOf("#job-list")).includes("a change"));
      const again = Date.now();
      await server.ask("POST", "/api/v1/jobs", { name: "another change", command: ["true"], folder: server.folder, gpus: 0, held: true });
      await until("it is shown there too", async () => (await textOf("#job-list")).includes("another change"));
      console.log(`   on the Jobs page after ${Date.now() - again} ms`);
    });
    await step("readable on a tablet, by keyboard too", async () => {
      await page.setViewportSize({ width: 820, height: 1100 });
      await go("now");
      await page.waitForSelector("[data-gpu='0']");
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "the page is wider than the screen");
      await shot(page, "now-tablet");
      await page.evaluate(() => document.activeElement?.blur());
      await page.keyboard.press("2");
      await page.waitForURL(/#\/jobs/);
      await page.keyboard.press("3");
      await page.waitForURL(/#\/cluster/);
      await page.keyboard.press("1");
      await page.waitForURL(/#\/now/);
    });
    await step("five thousand jobs are searched, sorted and folded", async () => checkJobs(browser, server.url, complaints));
    await step("every page on a phone, a tablet and a desk, light and dark", async () => checkScreens(browser, server.url, complaints, token));
    await step("a thousand GPUs fold into a heat map", async () => checkMany(browser, server.url, complaints));
  } finally {
    await browser.close();
  }
}

mkdirSync(join(ROOT, "build"), { recursive: true });
let failed = false;
try {
  await run();
} catch (error) {
  failed = true;
  console.error(error.message);
}
if (server.process?.exitCode === null) await server.stop();
server.remove();
process.exit(failed ? 1 : 0);
