// The pictures of the README and docs/dashboard.md: node tests/web/pictures.mjs [FOLDER [CAPTURE.json.gz]]
//
// The dashboard as it was over a run on a real H200: tools/lab/captured_serve.py kept what the server answered, in the middle of the run and at
// its end. A server of this machine gives the page itself; what the page asks is answered from the capture, on the clock of then.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { openBrowser, ROOT, Server } from "./harness.mjs";

const FOLDER = process.argv[2] ?? join(ROOT, "docs/images");
const CAPTURE = process.argv[3] ?? join(ROOT, "data/h200/mix/dashboard.json.gz");
const [during, atEnd] = JSON.parse(gunzipSync(readFileSync(CAPTURE)).toString()).moments;

/** What was kept for what the page asks: limits aside, the questions are the same. */
function answerTo(answers, url) {
  const asked = new URL(url);
  if (asked.pathname !== "/api/v1/jobs") return answers[asked.pathname];
  if (asked.searchParams.has("live")) return answers["/api/v1/jobs?live=1"];
  return answers[asked.searchParams.has("phase") ? "/api/v1/jobs?phase=finished,failed,cancelled&limit=8" : "/api/v1/jobs?limit=1000"];
}

const PICTURES = [
  { file: "dashboard-now", moment: during, hash: "#/now", colorScheme: "light", height: 770 },
  { file: "dashboard-job", moment: atEnd, hash: "#/job/14", from: "#speed", colorScheme: "dark", height: 760 },  // its speed doubles as a neighbour leaves
];

const server = new Server();
await server.start();
const browser = await openBrowser();
try {
  for (const { file, moment, hash, from, colorScheme, height } of PICTURES) {
    const page = await browser.newPage({ viewport: { width: 1280, height }, colorScheme });
    await page.clock.setFixedTime(moment.time_ms);
    await page.route(/\/api\/v1/, (route) => {
      if (route.request().url().includes("/api/v1/events")) return route.continue();
      const answer = answerTo(moment.answers, route.request().url());
      return answer ? route.fulfill({ json: answer }) : route.fulfill({ status: 404, json: { error: { message: "not kept" } } });
    });
    await page.goto(server.url + hash);
    await new Promise((done) => setTimeout(done, 4000));
    if (from) await page.evaluate((id) => scrollTo(0, document.querySelector(id).getBoundingClientRect().top - 64), from);
    await page.screenshot({ path: join(FOLDER, `${file}.png`) });
    await page.close();
  }
} finally {
  await browser.close();
  await server.stop();
  server.remove();
}
