// A thousand GPUs and five thousand jobs: they fold, and the page stays quick.
import assert from "node:assert/strict";
import { accessible, PATIENCE, shot, until } from "./harness.mjs";
import { answerWith, gpu, job } from "./made.mjs";

const MANY = 1000;

export async function checkMany(browser, url, complaints) {
  let round = 0;
  const gpus = () => Array.from({ length: MANY }, (_, i) => {
    if (i % 97 === 5) return gpu(i, { problem: "it does not answer" });
    if (i % 5 === 0) return gpu(i);
    const jobs = i % 3 === 0 ? [i, i + MANY] : [i];
    return gpu(i, { jobs, busy: i % 11 === 3 ? 0.01 : ((i * 37 + round * 13) % 100) / 100, memory_used_bytes: 5e10, power_watts: 400 });
  });
  const jobs = Array.from({ length: 200 }, (_, i) => job(6000 - i, { phase: i < 150 ? "waiting" : "running", reason: "no GPU is free" }));
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  complaints.watch(page);
  await answerWith(page, (asked) => {
    if (asked.pathname === "/api/v1/gpus") return { schema: 1, gpus: gpus() };
    if (asked.pathname === "/api/v1/jobs") return { schema: 1, jobs: asked.searchParams.has("live") ? jobs : [], counts: { running: 1100, waiting: 3900 }, next: 5801 };
    return undefined;
  });
  const began = Date.now();
  await page.goto(url);
  await page.waitForSelector(".heat .cell", { timeout: PATIENCE });
  const first = Date.now() - began;
  assert.equal(await page.locator(".heat .cell").count(), MANY);
  await page.keyboard.press("Tab");
  await page.focus(".heat");
  await page.keyboard.press("ArrowRight");
  await until("the next GPU is told", async () => (await page.textContent(".heat-card .note")).startsWith("GPU 1 "));
  // A click on a GPU goes to its job, or to its jobs; back to the map.
  await page.click(".heat rect[data-i='4']");
  await page.waitForURL(/#\/job\/4$/, { timeout: PATIENCE });
  await page.goBack();
  await page.click(".heat rect[data-i='3']", { timeout: PATIENCE });
  await page.waitForURL(/#\/jobs\?q=state:running\+gpu:3$/, { timeout: PATIENCE });
  await page.goBack();
  await page.waitForSelector(".heat .cell", { timeout: PATIENCE });
  // How long the page works on new figures of every GPU.
  round = 1;
  const took = await page.evaluate(() => new Promise((done) => {
    let longest = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) longest = Math.max(longest, entry.duration);
    }).observe({ entryTypes: ["longtask"] });
    setTimeout(() => done(longest), 6000);
  }));
  const heap = await page.evaluate(() => performance.memory.usedJSHeapSize / 1e6);
  console.log(`   first picture after ${first} ms, longest piece of work in 6 s ${took} ms, ${heap.toFixed(1)} MB of JavaScript`);
  await shot(page, "heat-map");
  // Contrast is looked at on the other pages: here it would be measured of two thousand elements.
  await accessible(page, "the heat map", { "color-contrast": { enabled: false } });
  await page.close();
}
