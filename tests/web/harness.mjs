// A server on simulated GPUs, and a page in a real headless Chromium that notices every error.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createRequire } from "node:module";
import assert from "node:assert/strict";

export const ROOT = resolve(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "../..");
const require = createRequire(join(ROOT, "web/package.json"));
export const { chromium } = require("playwright-core");
export const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
export const PATIENCE = 60000;
const PROGRAM = process.env.SHAREWELL ?? join(ROOT, "build/release/sharewell");
export const SHOTS = process.env.SHAREWELL_SHOTS ?? join(ROOT, "build/web-screenshots");

export async function until(what, ready) {
  const end = Date.now() + PATIENCE;
  let last;
  for (;;) {
    try {
      const value = await ready();
      if (value) return value;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`${what}: waited for ${PATIENCE / 1000} s${last ? `: ${last.message}` : ""}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

export class Server {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "sharewell-web-"));
    this.socket = join(this.folder, "s.sock");
    this.port = 0;
  }

  async start(...flags) {
    const machine = flags.includes("--gpus") ? [] : ["--gpus", "1xH200", "--max-slowdown", "3"];
    this.process = spawn(PROGRAM, ["serve", ...machine, "--store", join(this.folder, "s.db"),
      "--socket", this.socket, "--listen", `127.0.0.1:${this.port}`, ...flags], { cwd: this.folder, stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    this.process.stderr.on("data", (bytes) => (said += bytes));
    this.exited = new Promise((done) => this.process.on("exit", done));
    const found = await until("the server starts", () => /http:\/\/127\.0\.0\.1:(\d+)\/api/.exec(said));
    this.port = Number(found[1]);
  }

  async stop() {
    this.process.kill("SIGTERM");
    await this.exited;
  }

  get url() {
    return `http://127.0.0.1:${this.port}/`;
  }

  /** Through the socket: as the user of this test, an admin. */
  ask(method, path, body) {
    return new Promise((done, failed) => {
      const request = http.request({ socketPath: this.socket, path, method, headers: { Host: "localhost" } }, (response) => {
        let text = "";
        response.on("data", (bytes) => (text += bytes));
        response.on("end", () => {
          if (response.statusCode >= 300) failed(new Error(`${method} ${path}: ${response.statusCode} ${text}`));
          else done(JSON.parse(text));
        });
      });
      request.on("error", failed);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  remove() {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Whatever a browser can complain about. While `expecting` is true the server is away on purpose. */
export class Complaints {
  all = [];
  expecting = false;

  watch(page) {
    const note = (words) => {
      if (!this.expecting) this.all.push(words);
    };
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") note(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => note(`error: ${error.message}`));
    page.on("dialog", (dialog) => {
      note(`a script opened a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
  }
}

export async function openBrowser() {
  mkdirSync(SHOTS, { recursive: true });
  try {
    return await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
  } catch (error) {
    throw new Error(`Chromium does not start; tools/setup installs Debian's: ${error.message}`);
  }
}

export async function shot(page, name) {
  await page.screenshot({ path: join(SHOTS, `${name}.png`) });
}

/** axe-core finds nothing serious on the page as it is. `only`: of these rules alone. */
export async function accessible(page, what, rules = null, only = null) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  const given = { resultTypes: ["violations"], ...(only ? { runOnly: { type: "rule", values: only } } : {}), ...(rules ? { rules } : {}) };
  const found = await page.evaluate(async (options) => (await window.axe.run(document, options)).violations, given);
  const serious = found.filter((one) => one.impact === "serious" || one.impact === "critical");
  const words = serious.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary}`).join("; ")}`);
  assert.deepEqual(words, [], `axe on ${what}`);
}
