// The cluster over hours and days: who had which GPU, how much of it was held, shared and busy, who used and wasted how
// much, and what sharing saved. The jobs are those of GET /jobs, all figures those of GET /usage.
import { get, wordsOf } from "../lib/api";
import type { Job, Jobs, Projects, Usage } from "../lib/api_types";
import { Chart, type ChartData } from "../lib/charts";
import { csvButton, type Cell } from "../lib/csv";
import { h, show } from "../lib/dom";
import { count, number } from "../lib/format";
import { live } from "../lib/live";
import { Until, type MakePage } from "../lib/page";
import { card, note, problem } from "../lib/parts";
import { onPhone, onTurn } from "../lib/phone";
import { beganAt, gantt, MOST_ROWS } from "./cluster_gantt";
import { ganttList } from "./cluster_list";
import { projectsCard } from "./cluster_projects";
import { savingsCard, useTiles, usersCard } from "./cluster_use";

const RANGES: [string, number][] = [["15 min", 900e3], ["1 h", 3600e3], ["6 h", 6 * 3600e3], ["24 h", 86400e3], ["7 days", 7 * 86400e3], ["30 days", 30 * 86400e3]];
const MOST_JOBS = 2000;
// Events may come by the hundred.
const ASK_EVERY = 2000;

function useChart(usage: Usage): ChartData {
  const last = usage.bins[usage.bins.length - 1];
  const line = (name: string, pick: (bin: Usage["bins"][number]) => number | null) => {
    const points = usage.bins.map((bin): [number, number | null] => [bin.from_ms, asPercent(pick(bin))]);
    if (last) points.push([usage.to_ms, asPercent(pick(last))]);
    return { name, points };
  };
  const lines = [line("held by a job", (bin) => bin.held), line("shared by several", (bin) => bin.shared)];
  if (usage.bins.some((bin) => bin.busy !== null)) lines.push(line("busy", (bin) => bin.busy));
  return { title: "GPUs in use", unit: "% of their time", lines, band: null, from: usage.from_ms, to: usage.to_ms };
}

function asPercent(share: number | null): number | null {
  return share === null ? null : share * 100;
}

export const clusterPage: MakePage = (at, argument) => {
  const until = new Until();
  let range = RANGES.find(([, length]) => String(length / 1000) === argument)?.[1] ?? 86400e3;
  let chosen = argument !== "";
  const body = h("div"), below = h("div"), chartAt = h("div");
  const chartCard = card(null, { id: "use" }, chartAt, csvButton("gpus-in-use", ["from", "held", "shared", "busy"],
    () => (usage?.bins ?? []).map((bin): Cell[] => [new Date(bin.from_ms).toISOString(), bin.held, bin.shared, bin.busy])));
  let chart: Chart | null = null;
  let jobs: Job[] = [], cut = false, said = "", asked = false;
  let usage: Usage | null = null;
  let projects: Projects | null = null;
  let asking = false, again = false, asks = 0;

  const readJobs = async (): Promise<void> => {
    const all: Job[] = [];
    let from: number | undefined;
    const since = Date.now() - range;
    cut = false;
    for (;;) {
      const page = await get<Jobs>("/api/v1/jobs", { limit: 1000, below: from }, until.abort.signal);
      all.push(...page.jobs);
      const last = page.jobs[page.jobs.length - 1];
      if (page.next === null || !last || (last.ended_ms !== null && last.submitted_ms < since - 7 * 86400e3)) break;
      if (all.length >= MOST_JOBS) {
        cut = true;
        break;
      }
      from = page.next;
    }
    jobs = all;
    if (chosen) return;
    // The shortest that has all of them; a day where there is more.
    const first = Math.min(Date.now(), ...all.map((job) => job.submitted_ms));
    range = RANGES.slice(0, 4).find(([, length]) => Date.now() - first < length)?.[1] ?? 86400e3;
    chosen = true;
  };
  /** `anew`: for another time; what is under way is of no use any more. */
  const ask = async (anew = false): Promise<void> => {
    if (asking && !anew) {
      again = true;
      return;
    }
    const mine = ++asks;
    asking = true;
    again = false;
    try {
      await readJobs();
      if (mine !== asks) return;
      draw();
      const [answer, shares] = await Promise.all([get<Usage>("/api/v1/usage", { seconds: range / 1000 }, until.abort.signal),
                                                  get<Projects>("/api/v1/projects", {}, until.abort.signal)]);
      if (mine !== asks) return;
      usage = answer;
      projects = shares;
      said = "";
    } catch (error) {
      if (until.over || mine !== asks) return;
      said = wordsOf(error);
    }
    asked = true;
    draw();
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY));
    if (mine !== asks) return;
    asking = false;
    if (again && !until.over) void ask();
  };
  const draw = () => {
    if (until.over) return;
    const gpus = live.now?.gpus ?? [];
    const to = Date.now(), from = to - range;
    show(body,
      h("div", { class: "title" }, h("h1", {}, "Cluster"), h("div", { class: "segmented", role: "group", "aria-label": "How far back" },
        ...RANGES.map(([words, length]) => h("button", { type: "button", "aria-pressed": String(length === range), onclick: () => {
          range = length;
          chosen = true;
          usage = null;
          void ask(true);
          draw();
        } }, words)))),
      said ? problem(said) : null,
      usage ? useTiles(usage) : null,
      card("Who had which GPU", {}, !asked && jobs.length === 0 ? note("Asking the server …") : (onPhone() ? ganttList : gantt)(gpus, jobs, from, to),
        note("Of each job its last attempt; earlier ones are not told apart."),
        gpus.length > MOST_ROWS ? note(`The first ${MOST_ROWS} of ${count(gpus.length, "GPU")} are shown.`) : null,
        cut ? note(`Only the newest ${number(jobs.length, 0)} jobs are drawn.`) : null,
        csvButton("gpus", ["job", "user", "gpu", "from", "to"], () => jobs.filter((job) => beganAt(job) !== null).flatMap((job) => job.gpus.map((gpu): Cell[] =>
          [job.number, job.user, gpu.uuid, new Date(beganAt(job) ?? 0).toISOString(), job.ended_ms === null ? null : new Date(job.ended_ms).toISOString()])))));
    show(below, projects ? projectsCard(projects) : null, ...(usage ? [savingsCard(usage), usersCard(usage)] : said ? [] : [note("Asking the server …")]));
    if (!usage) return;
    const data = useChart(usage);
    if (chart) {
      chart.update(data);
    } else {
      chart = new Chart(data, "cluster");
      chartAt.append(chart.element);
      chart.make();
    }
  };
  at.append(body, chartCard, below);
  until.add(live.stream.onEvent(() => void ask()));
  until.every(5000, draw);
  until.add(onTurn(draw));
  until.every(30_000, () => void ask());
  const recolour = () => chart?.make();
  window.addEventListener("themechange", recolour);
  until.add(() => window.removeEventListener("themechange", recolour));
  until.add(() => chart?.destroy());
  let gpusShown = 0;
  until.add(live.onChange(() => {
    if (gpusShown === (live.now?.gpus.length ?? 0)) return;
    gpusShown = live.now?.gpus.length ?? 0;
    draw();
  }));
  void ask();
  return { title: "Cluster", stop: () => until.stop() };
};
