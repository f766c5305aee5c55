// The Jobs page with five thousand jobs: found while one types, sorted, arrays in one line, by keyboard, linked to.
import assert from "node:assert/strict";
import { accessible, PATIENCE, shot, until } from "./harness.mjs";
import { answerWith, gpu, job, needs } from "./made.mjs";

const JOBS = 5000, ARRAY = 400, BAD = "<img src=x onerror=\"window.pwned=1\">";
const KEY_BAR = 50;  // milliseconds of work for one key
const USERS = ["ann", "anna", "bo", "cleo", "dev"];
const PHASES = ["running", "waiting", "finished", "finished", "failed", "cancelled", "held"];
const now = Date.now();

/** Job 5000 is the newest; 4001 to 4400 are an array of bo's. */
export function manyJobs() {
  return Array.from({ length: JOBS }, (_, i) => {
    const number = JOBS - i, phase = PHASES[number % PHASES.length], began = phase === "waiting" || phase === "held" ? null : now - (JOBS + 1 - number) * 50_000;
    const inArray = number > 4000 && number <= 4000 + ARRAY;
    return job(number, {
      phase, user: inArray ? "bo" : USERS[number % USERS.length], name: inArray ? `sweep lr=${number - 4001}` : number === 17 ? BAD : `train-${number}`,
      command: ["python3", "train.py", "--seed", String(number), number === 77 ? "--needle" : "--plain"], array: inArray ? `a1b2_${number - 4001}` : null,
      needs: needs({ workload: number % 2 ? "resnet50" : "bert" }), submitted_ms: now - (JOBS + 1 - number) * 60_000, started_ms: began, resumed_ms: began,
      ended_ms: ["finished", "failed", "cancelled"].includes(phase) ? now - (JOBS + 1 - number) * 20_000 : null, exit_code: phase === "failed" ? 137 : null,
      reason: phase === "waiting" ? (number % 3 ? "no GPU is free" : "its user has the GPUs that they may have") : "", gpus: began === null ? [] : [{ index: number % 8, uuid: `gpu-${number % 8}`, model: number % 8 < 4 ? "H200" : "A100" }],
    });
  });
}

/** As the server pages: `limit` at once, `next` where there are more. */
export function listed(jobs, url) {
  const phases = url.searchParams.get("phase")?.split(","), below = Number(url.searchParams.get("below") ?? Infinity);
  const over = ["finished", "failed", "cancelled"];
  const all = jobs.filter((one) => one.number < below && (!phases || phases.includes(one.phase)) && (!url.searchParams.has("live") || !over.includes(one.phase)));
  const some = all.slice(0, Number(url.searchParams.get("limit") ?? 100));
  const counts = {};
  for (const one of jobs) counts[one.phase] = (counts[one.phase] ?? 0) + 1;
  return { schema: 1, jobs: some, counts, next: some.length < all.length ? some.at(-1).number : null };
}

export async function checkJobs(browser, url, complaints) {
  const jobs = manyJobs();
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  complaints.watch(page);
  await answerWith(page, (asked) => {
    if (asked.pathname === "/api/v1/jobs") return listed(jobs, asked);
    if (asked.pathname === "/api/v1/gpus") return { schema: 1, gpus: Array.from({ length: 8 }, (_, i) => gpu(i, { jobs: [5000 - i] })) };
    if (/jobs\/\d+$/.test(asked.pathname)) return jobs.find((one) => asked.pathname.endsWith(`/${one.number}`));
    if (asked.pathname.endsWith("/why")) return { schema: 1, number: 4001, phase: "running", why: [], ahead: null, expected_start_ms: null };
    if (asked.pathname.endsWith("/samples")) return { schema: 1, number: 4001, from_ms: now, to_ms: now, series: [] };
    if (asked.pathname.endsWith("/neighbours")) return { schema: 1, number: 4001, from_ms: now, to_ms: now, spans: [], shared_seconds: 0, measured_seconds: 0, lost_seconds: null };
    return undefined;
  });
  const told = async () => (await page.textContent("#jobs-told")).replaceAll(/\s+/g, " ").trim();
  const lines = () => page.locator(".job-line").evaluateAll((all) => all.map((one) => one.textContent));
  const hash = () => page.evaluate(() => decodeURIComponent(location.hash.replaceAll("+", " ")));
  const active = () => page.evaluate(() => document.getElementById(document.getElementById("job-list").getAttribute("aria-activedescendant"))?.textContent ?? "");
  const search = async (words) => {
    await page.fill("#job-search", words);
    return told();
  };

  await page.goto(`${url}#/jobs`);
  await until("all jobs are there", async () => (await told()) === "5,000 jobs");
  assert.ok((await lines()).length < 80, "only what is in sight is made");
  await accessible(page, "Jobs");
  await shot(page, "jobs");
  await page.emulateMedia({ colorScheme: "dark" });
  await accessible(page, "Jobs in the dark", null, ["color-contrast"]);
  await shot(page, "jobs-dark");
  await page.emulateMedia({ colorScheme: "light" });

  // What one key takes, from the event to the new layout. Others may have the processor: the best of three rounds counts.
  const rounds = await page.evaluate(() => [1, 2, 3].map(() => {
    const field = document.getElementById("job-search"), words = "train-49 user:ann", took = [];
    for (let i = 1; i <= words.length; ++i) {
      field.value = words.slice(0, i);
      const began = performance.now();
      field.dispatchEvent(new window.Event("input"));
      document.body.getBoundingClientRect();
      took.push(performance.now() - began);
    }
    return took.sort((a, b) => a - b)[Math.floor(took.length / 2)];
  }));
  const middle = Math.min(...rounds);
  console.log(`   a key filters ${JOBS} jobs in ${rounds.map((one) => one.toFixed(1)).join(", ")} ms (medians)`);
  assert.ok(middle < KEY_BAR, `a key takes ${middle} ms`);

  const expected = (test) => {
    const many = jobs.filter(test).length;
    return `${many.toLocaleString("en")} of 5,000 jobs`;
  };
  const searches = {
    "user:ann": (one) => one.user === "ann", "user:ann state:waiting": (one) => one.user === "ann" && ["waiting", "held"].includes(one.phase),
    "state:failed": (one) => one.phase === "failed", "gpu:3": (one) => one.gpus[0]?.index === 3, "model:a100 bert": (one) => one.gpus[0]?.model === "A100" && one.needs.workload === "bert",
    "--needle": (one) => one.number === 77, "#4321": (one) => one.number === 4321, "array:a1b2": (one) => one.array !== null, "why:\"no gpu is free\"": (one) => one.reason === "no GPU is free",
    "gpu:3 state:running": (one) => one.gpus[0]?.index === 3 && one.phase === "running", "nothing-like-this": () => false,
  };
  for (const [words, test] of Object.entries(searches)) {
    const shown = await search(words);
    assert.equal(shown, words.startsWith("nothing") ? "No job is like that." : expected(test), words);
  }
  await search("onerror");
  assert.ok((await lines())[0].includes(BAD));
  assert.equal(await page.evaluate(() => document.querySelectorAll("main img, main script").length), 0);

  // The address has the filter; a link to it shows the same, and back comes back to it.
  await search("user:cleo state:failed");
  await until("the address has the filter", async () => (await hash()) === "#/jobs?q=user:cleo state:failed");
  await page.click("[data-sort=number]");
  assert.equal(await hash(), "#/jobs?q=user:cleo state:failed&sort=number");
  const newest = async () => (await lines())[0]?.match(/^#\d+/)?.[0];  // its times go on
  const first = await newest();
  await page.reload();
  await until("the link shows the same", async () => (await newest()) === first);
  assert.equal(await page.inputValue("#job-search"), "user:cleo state:failed");
  await page.click("nav a[href='#/jobs']");
  await until("the bare address shows all", async () => (await told()) === "5,000 jobs");
  await page.goBack();
  await until("back is where one was", async () => (await page.inputValue("#job-search")) === "user:cleo state:failed");

  // Sorted by each column, both ways.
  await page.goto(`${url}#/jobs?q=${encodeURIComponent("train-1")}`);
  await until("the jobs are there", async () => (await lines()).length > 10);
  const columns = async (name) => page.locator(`.job-line:not(.is-array) .j-${name}`).evaluateAll((all) => all.map((one) => one.textContent));
  await page.click("[data-sort=user]");
  assert.ok((await columns("user")).every((one) => one === "ann"));
  assert.equal(await page.getAttribute(".j-user[role=columnheader]", "aria-sort"), "ascending");
  await page.click("[data-sort=user]");
  assert.ok((await columns("user")).every((one) => one === "dev"));
  await page.click("[data-sort=state]");
  assert.ok((await columns("state")).every((one) => one === "running"));

  // An array is one line with counts, opened by a click or the keyboard.
  await page.goto(`${url}#/jobs?q=${encodeURIComponent("sweep")}`);
  await until("the array is one line", async () => (await lines()).length === 1);
  const array = (await lines())[0];
  const inArray = jobs.filter((one) => one.array !== null), counted = (phase) => inArray.filter((one) => one.phase === phase).length;
  for (const words of [`${ARRAY} jobs`, "sweep lr…", "#4001–#4400", `${counted("running")} running`, `${counted("waiting")} waiting`, `${counted("finished")} finished`]) {
    assert.ok(array.replaceAll("–4400", "–#4400").includes(words), `${words}: ${array}`);
  }
  await page.click(".job-line.is-array");
  await until("it is open", async () => (await lines()).length > 20);
  assert.equal(await page.getAttribute(".is-array", "aria-expanded"), "true");
  await shot(page, "jobs-array");
  await page.click(".job-line.is-array");
  await until("it is closed", async () => (await lines()).length === 1);

  // By keyboard alone.
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "job-search");
  await page.keyboard.type("sweep");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await until("Enter opens the array", async () => (await lines()).length > 20);
  await page.keyboard.press("ArrowDown");
  assert.match(await active(), /^#4400/);
  for (let i = 0; i < 30; ++i) await page.keyboard.press("ArrowDown");
  await until("the list follows", async () => /^#4370/.test(await active()));
  assert.ok(await page.evaluate(() => document.getElementById(document.getElementById("job-list").getAttribute("aria-activedescendant")).getBoundingClientRect().bottom < window.innerHeight));
  await page.keyboard.press("End");
  await until("the last one is shown", async () => /^#4001/.test(await active()));
  await page.keyboard.press("Enter");
  await page.waitForURL(/#\/job\/4001/, { timeout: PATIENCE });
  await page.goBack();
  await until("the search is kept", async () => (await page.inputValue("#job-search")) === "sweep");

  // From the Now page: a GPU's jobs.
  await page.goto(`${url}#/now`);
  await page.click("[data-gpu='3'] h3 a");
  await until("the GPU's jobs", async () => (await told()) === expected((one) => one.gpus[0]?.index === 3 && one.phase === "running"));
  const heap = await page.evaluate(() => performance.memory.usedJSHeapSize / 1e6);
  console.log(`   ${heap.toFixed(1)} MB of JavaScript with ${JOBS} jobs`);
  await page.close();
}
