// The pictures of the README and docs/dashboard.md: node tests/web/pictures.mjs [FOLDER]
//
// Simulated GPUs, and jobs whose needs are really predicted from the graphs of data/h200. In the place of training, each process reports steps
// at the rate that was predicted for it alone, so nobody is slowed by anybody.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { openBrowser, ROOT, Server, until } from "./harness.mjs";

const PROGRAM = process.env.SHAREWELL ?? join(ROOT, "build/release/sharewell");
const FOLDER = process.argv[2] ?? join(ROOT, "docs/images");
const JOBS = [["resnet50", "tv_resnet50_224", 64, "bf16", 4], ["bert", "hf_bert_128", 16, "bf16", 1], ["mobilenet", "tv_mobilenet_v2_224", 64, "bf16", 4],
  ["alexnet", "tv_alexnet_224", 64, "bf16", 4], ["vgg16", "tv_vgg16_224", 64, "bf16", 4], ["gpt2", "hf_gpt2_128", 16, "bf16", 1],
  ["distilbert", "hf_distilbert_128", 16, "bf16", 1], ["vit", "tv_vit_b_16_224", 32, "bf16", 4], ["googlenet", "tv_googlenet_224", 64, "bf16", 4],
  ["resnet18", "tv_resnet18_224", 64, "bf16", 4]];
const STEPS = `import sys, time
sys.path.insert(0, "python")
import sharewell
began, rate = time.monotonic(), float(sys.argv[1])
for step in range(1, int(rate * 900)):
    time.sleep(max(0.0, began + step / rate - time.monotonic()))
    sharewell.report_step(step)`;

const server = new Server();
const run = (...words) => execFileSync(PROGRAM, words, { cwd: ROOT, encoding: "utf8", env: { ...process.env, SHAREWELL_SERVER: server.socket } });
await server.start("--gpus", "4xH200");
const browser = await openBrowser();
try {
  for (const [name, graph, batch, precision, workers] of JOBS) {
    const asked = [`data/h200/onnx/${graph}.onnx`, "--batch", String(batch), "--precision", precision, "--workers", String(workers)];
    const rate = JSON.parse(run("predict", ...asked, "--gpu", "H200", "--json")).predictions[0].steps_per_second_p50;
    run("submit", "--name", name, "--time", "20m", "--model", ...asked, "--", "python3", "-c", STEPS, String(rate));
  }
  run("submit", "--name", "whole machine", "--gpus", "4", "--time", "1h", "--", "sleep", "60");
  run("submit", "--name", "for tonight", "--hold", "--", "sleep", "60");
  await until("all jobs that run have told a rate", async () => {
    const { jobs } = await server.ask("GET", "/api/v1/jobs?live=1");
    return jobs.filter((job) => job.phase === "running").every((job) => job.steps_per_second > 0);
  }).catch(() => undefined);
  await new Promise((done) => setTimeout(done, 45000));
  for (const [file, hash, colorScheme, height] of [["dashboard-now", "#/now", "light", 770], ["dashboard-job", "#/job/2", "dark", 660]]) {
    const page = await browser.newPage({ viewport: { width: 1280, height }, colorScheme });
    await page.goto(server.url + hash);
    await new Promise((done) => setTimeout(done, 4000));
    await page.screenshot({ path: join(FOLDER, `${file}.png`) });
    await page.close();
  }
} finally {
  await browser.close();
  for (const job of (await server.ask("GET", "/api/v1/jobs?live=1")).jobs) run("cancel", String(job.number));
  await server.stop();
  server.remove();
}
