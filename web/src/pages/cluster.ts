// The cluster over hours and days: who had which GPU, how much of it was given and shared, and who had how much.
// Everything here is counted from the jobs of GET /jobs.
import { get, wordsOf } from "../lib/api";
import type { Job, Jobs } from "../lib/api_types";
import { Chart, type Line } from "../lib/charts";
import { h, show } from "../lib/dom";
import { count, duration, number, percent, times, UNKNOWN } from "../lib/format";
import { live } from "../lib/live";
import { Until, type MakePage } from "../lib/page";
import { bar, card, note, problem, table } from "../lib/parts";
import { beganAt, gantt, MOST_ROWS, ranOn } from "./cluster_gantt";

const RANGES: [string, number][] = [["15 min", 900e3], ["1 h", 3600e3], ["6 h", 6 * 3600e3], ["24 h", 86400e3], ["7 days", 7 * 86400e3]];
const MOST_JOBS = 2000;
const BUCKETS = 120;

interface UserRow {
  user: string;
  jobs: number;
  gpuSeconds: number;
  waited: number;
  started: number;
  idle: number | null;  // GPU seconds given and not busy, of jobs whose busyness was seen
}

function overlap(job: Job, from: number, to: number): number {
  const began = beganAt(job);
  if (began === null) return 0;
  return Math.max(0, Math.min(job.ended_ms ?? to, to) - Math.max(began, from)) / 1000;
}

export function usersOf(jobs: Job[], from: number, to: number): UserRow[] {
  const rows = new Map<string, UserRow>();
  for (const job of jobs) {
    const seconds = overlap(job, from, to) * job.gpus.length;
    if (seconds === 0 && job.submitted_ms < from && job.ended_ms !== null) continue;
    const row = rows.get(job.user) ?? { user: job.user, jobs: 0, gpuSeconds: 0, waited: 0, started: 0, idle: null };
    rows.set(job.user, row);
    ++row.jobs;
    row.gpuSeconds += seconds;
    if (job.started_ms !== null) {
      row.waited += (job.started_ms - job.submitted_ms) / 1000;
      ++row.started;
    }
    if (job.seen?.busy != null) row.idle = (row.idle ?? 0) + seconds * (1 - job.seen.busy);
  }
  return [...rows.values()].sort((a, b) => b.gpuSeconds - a.gpuSeconds);
}

function shareLines(jobs: Job[], gpus: string[], from: number, to: number): Line[] {
  const given: [number, number | null][] = [], shared: [number, number | null][] = [];
  for (let i = 0; i <= BUCKETS; ++i) {
    const time = from + ((to - from) * i) / BUCKETS;
    const running = jobs.filter((job) => (beganAt(job) ?? Infinity) <= time && (job.ended_ms ?? Infinity) > time);
    const many = gpus.map((gpu) => running.filter((job) => ranOn(job, gpu)).length);
    const all = Math.max(1, gpus.length);
    given.push([time, (many.filter((n) => n > 0).length / all) * 100]);
    shared.push([time, (many.filter((n) => n > 1).length / all) * 100]);
  }
  return [{ name: "given to a job", points: given }, { name: "shared by several", points: shared }];
}

/** Of the jobs that ended in the time and were measured beside others: their time alone over the time they took. */
function sharing(jobs: Job[]): { alone: number; took: number; jobs: number } {
  const measured = jobs.filter((job) => job.ended_ms !== null && job.slowdown !== null && job.alone_time_seconds > 0);
  return { alone: measured.reduce((all, job) => all + job.alone_time_seconds, 0),
           took: measured.reduce((all, job) => all + job.run_time_seconds, 0), jobs: measured.length };
}

export const clusterPage: MakePage = (at, argument) => {
  const until = new Until();
  let range = RANGES.find(([, length]) => String(length / 1000) === argument)?.[1] ?? 86400e3;
  let chosen = argument !== "";
  const body = h("div");
  const chartAt = h("div");
  let chart: Chart | null = null;
  let jobs: Job[] = [], cut = false, said = "", asked = false;

  const ask = async () => {
    try {
      const all: Job[] = [];
      let below: number | undefined;
      const since = Date.now() - range;
      cut = false;
      for (;;) {
        const page = await get<Jobs>("/api/v1/jobs", { limit: 1000, below }, until.abort.signal);
        all.push(...page.jobs);
        const last = page.jobs[page.jobs.length - 1];
        if (page.next === null || !last || (last.ended_ms !== null && last.submitted_ms < since - 7 * 86400e3)) break;
        if (all.length >= MOST_JOBS) {
          cut = true;
          break;
        }
        below = page.next;
      }
      jobs = all;
      said = "";
      if (!chosen) {
        // The shortest that has all of them; a day where there is more.
        const first = Math.min(Date.now(), ...all.map((job) => job.submitted_ms));
        range = RANGES.slice(0, 4).find(([, length]) => Date.now() - first < length)?.[1] ?? 86400e3;
        chosen = true;
      }
    } catch (error) {
      if (until.over) return;
      said = wordsOf(error);
    }
    asked = true;
    draw();
  };

  const draw = () => {
    const gpus = live.now?.gpus ?? [];
    const to = Date.now(), from = to - range;
    const users = usersOf(jobs, from, to);
    const total = users.reduce((all, row) => all + row.gpuSeconds, 0);
    const worked = sharing(jobs.filter((job) => (job.ended_ms ?? 0) > from));
    show(body,
      h("div", { class: "title" }, h("h1", {}, "Cluster"), h("div", { class: "segmented", role: "group", "aria-label": "How far back" },
        ...RANGES.map(([words, length]) => h("button", { type: "button", "aria-pressed": String(length === range), onclick: () => {
          range = length;
          chosen = true;
          void ask();
        } }, words)))),
      said ? problem(said) : null,
      card("Who had which GPU", {}, !asked ? note("Asking the server …") : gantt(gpus, jobs, from, to),
        note("Of each job its last attempt; earlier ones are not told apart."),
        gpus.length > MOST_ROWS ? note(`The first ${MOST_ROWS} of ${count(gpus.length, "GPU")} are shown.`) : null,
        cut ? note(`Only the newest ${number(jobs.length, 0)} jobs are counted.`) : null),
      h("div", { class: "half" },
        card("GPU hours by user", {}, users.length === 0 ? note("No job in this time.") :
          table("GPU hours by user", ["user", "jobs", "GPU time", "share", "waited, mean", "given and idle"], users.slice(0, 30).map((row) => [
            row.user, number(row.jobs, 0), duration(row.gpuSeconds),
            h("div", { class: "share" }, bar(total > 0 ? row.gpuSeconds / total : 0, percent(total > 0 ? row.gpuSeconds / total : null))),
            row.started > 0 ? duration(row.waited / row.started) : UNKNOWN,
            row.idle === null ? "unknown" : duration(row.idle)]), [1, 2, 4, 5])),
        card("What sharing gave", {}, worked.jobs === 0
          ? note("Unknown: no job that ended in this time was measured beside others.")
          : h("p", {}, `${count(worked.jobs, "job")} measured beside others took ${duration(worked.took)} in all, and would have taken ${duration(worked.alone)} alone: `,
              h("b", {}, `${times(worked.took / worked.alone)} as long each`), ", side by side."),
          note("GPU hours and energy saved against exclusive slots are found by playing these jobs again: ",
               h("a", { href: "#/simulate" }, "Simulate"), ", policies slot and sharewell."))));
    const data = { title: "GPUs in use", unit: "%", lines: shareLines(jobs, gpus.map((gpu) => gpu.uuid), from, to), band: null, from, to };
    if (chart) {
      chart.update(data);
    } else if (asked && gpus.length > 0) {
      chart = new Chart(data, "cluster");
      chartAt.append(chart.element);
      chart.make();
    }
  };
  at.append(body, card(null, {}, chartAt));
  until.add(live.stream.onEvent(() => void ask()));
  until.every(5000, draw);
  const recolour = () => chart?.make();
  window.addEventListener("themechange", recolour);
  until.add(() => window.removeEventListener("themechange", recolour));
  until.add(() => chart?.destroy());
  until.add(live.onChange(() => {
    if (!chart) draw();
  }));
  void ask();
  return { title: "Cluster", stop: () => until.stop() };
};
