// Workloads: what was measured of each alone, what pairs do to each other, and how good the predictions were.
import { get, wordsOf } from "../lib/api";
import type { Job, Jobs, Pairs, Predictor, Profiles } from "../lib/api_types";
import { Chart } from "../lib/charts";
import { h, show } from "../lib/dom";
import { bytes, clock, nameOf, number, percent, times, UNKNOWN } from "../lib/format";
import { Until, type MakePage } from "../lib/page";
import { card, facts, jobLink, note, problem, table } from "../lib/parts";
import { onTurn } from "../lib/phone";
import { predictedAgainstMeasured, type Against } from "../lib/plots";
import { curvesCard, curvesOf, sensitivityCard } from "./workloads_curves";
import { healthCharts } from "./workloads_health";
import { matrix } from "./workloads_matrix";
import type { Pair } from "./workloads_pairs";

/** A row of `sharewell profiles --json`. */
interface Profile {
  id: number;
  name: string;
  source: string;
  batch: number | null;
  precision: string | null;
  gpu: string;
  steps_per_second: number | null;
  gpu_busy_ratio: number | null;
  gpu_sm_ratio: number | null;
  gpu_dram_ratio: number | null;
  gpu_memory_bytes: number | null;
  cpu_cores: number | null;
  host_memory_bytes: number | null;
  power_watts: number | null;
  cpu_curve?: number[][];
}

const MOST_ROWS = 100;

function profilesCard(profiles: Profile[]): HTMLElement {
  if (profiles.length === 0) {
    return card("Profiles", {}, note("None yet. Every job that ends leaves one, and ", h("code", {}, "sharewell profile -- COMMAND"), " measures one at once."));
  }
  return card("Profiles", {}, table("Profiles", ["name", "GPU", "batch", "from", "steps/s", "busy", "SM", "DRAM", "GPU memory", "cores", "host memory", "power"],
    profiles.slice(0, MOST_ROWS).map((one) => [one.name, one.gpu || UNKNOWN, one.batch ? `${one.batch} ${one.precision ?? ""}` : UNKNOWN, one.source, number(one.steps_per_second, 2),
      percent(one.gpu_busy_ratio), percent(one.gpu_sm_ratio), percent(one.gpu_dram_ratio), bytes(one.gpu_memory_bytes), number(one.cpu_cores, 1), bytes(one.host_memory_bytes),
      one.power_watts === null ? UNKNOWN : `${number(one.power_watts, 0)} W`]), [4, 5, 6, 7, 8, 9, 10, 11]),
    profiles.length > MOST_ROWS ? note(`The first ${MOST_ROWS} of ${profiles.length}.`) : null);
}

function predictorCard(predictor: Predictor): HTMLElement {
  const { trained } = predictor;
  return card("Predictor", { id: "predictor" }, facts([
    ["in use", `${predictor.in_use}${predictor.pinned ? " (chosen by hand)" : ""}`],
    ["learns from", `${number(predictor.runs_kept, 0)} runs and ${number(predictor.graphs_kept, 0)} graphs kept; trains again at ${predictor.trains_at} new runs, has ${predictor.new_runs}`],
    ["drift", predictor.drift ?? "none seen"],
  ]),
  trained?.figures ? table("Errors of the predictor in use", ["figure", "workloads", "shipped", "in use before", "retrained", "verdict"],
    trained.figures.map((one) => [one.figure, number(one.workloads, 0), percent(one.shipped_error, 1), percent(one.in_use_error, 1), percent(one.retrained_error, 1), `${one.verdict}: ${one.why}`]), [1, 2, 3, 4]) : null,
  predictor.history.length > 0 ? table("Trainings", ["when", "outcome", "runs", "why"], predictor.history.map((one) =>
    [clock(one.time_ms), one.outcome, one.runs === undefined ? UNKNOWN : number(one.runs, 0), one.why]), [2]) : note("It was not trained on this server's runs yet."));
}

function healthCard(known: boolean): HTMLElement {
  return card("Predictor health over time", { id: "health-card" }, note(known
    ? "Mean error on runs that were held out, at each training. The table of trainings above says what came of it."
    : "Unknown: it was not trained on this server's runs yet."));
}

function measuredCard(jobs: Job[]): HTMLElement {
  const told = jobs.filter((job) => job.needs.source !== "assumed" && job.seen !== null &&
    ((job.needs.gpu_memory_bytes !== null && job.seen.gpu_memory_bytes != null) || (job.needs.cpu_cores !== null && job.seen.cores != null)));
  if (told.length === 0) return card("Predicted against measured", {}, note("Unknown: no job that ended was both believed to need something and seen to use it."));
  const ratio = (seen: number | null | undefined, believed: number | null) => (seen == null || !believed ? UNKNOWN : times(seen / believed));
  const against = (predicted: (job: Job) => number | null, upper: (job: Job) => number | null, seen: (job: Job) => number | null | undefined): Against[] =>
    told.flatMap((job) => {
      const [believed, measured] = [predicted(job), seen(job)];
      return job.needs.source === "predicted" && believed && measured ? [{ name: `#${job.number} ${nameOf(job)}`, predicted: believed, upper: upper(job), measured }] : [];
    });
  const memory = against((job) => job.needs.gpu_memory_bytes, (job) => job.needs.gpu_memory_upper_bytes, (job) => job.seen?.gpu_memory_bytes);
  const cores = against((job) => job.needs.cpu_cores, (job) => job.needs.cores_upper, (job) => job.seen?.cores);
  return card("Predicted against measured", { id: "measured" }, h("div", { class: "half" },
    memory.length > 0 ? predictedAgainstMeasured("GPU memory", memory, bytes) : note("GPU memory: no job that ended was both predicted and seen."),
    cores.length > 0 ? predictedAgainstMeasured("CPU cores", cores, (value) => number(value, 2)) : note("CPU cores: no job that ended was both predicted and seen.")), table("Predicted against measured", ["job", "believed from", "GPU memory", "at most", "seen", "seen/believed", "cores", "seen", "seen/believed"],
    told.slice(0, 40).map((job) => [jobLink(job), job.needs.source, bytes(job.needs.gpu_memory_bytes), bytes(job.needs.gpu_memory_upper_bytes), bytes(job.seen?.gpu_memory_bytes),
      ratio(job.seen?.gpu_memory_bytes, job.needs.gpu_memory_bytes), number(job.needs.cpu_cores), number(job.seen?.cores), ratio(job.seen?.cores, job.needs.cpu_cores)]), [2, 3, 4, 5, 6, 7, 8]));
}

export const workloadsPage: MakePage = (at) => {
  const until = new Until();
  const pairsAt = h("div"), rest = h("div"), health = h("div", { class: "charts", id: "health" });
  const charts: Chart[] = [];
  let pairs: Pair[] = [], source: "here" | "shipped" = "shipped", chosen: Pair | null = null;

  const drawPairs = () => {
    const own = pairs.filter((pair) => pair.source === "here");
    const shown = pairs.filter((pair) => pair.source === source);
    show(pairsAt, card("Packing matrix", { id: "matrix" },
      h("div", { class: "segmented", role: "group", "aria-label": "Whose measurements" }, ...(["shipped", "here"] as const).map((one) =>
        h("button", { type: "button", "aria-pressed": String(one === source), onclick: () => {
          source = one;
          chosen = null;
          drawPairs();
        } }, one === "shipped" ? `shipped (${pairs.length - own.length})` : `measured here (${own.length})`))),
      shown.length === 0 ? note(pairs.length === 0 ? "Asking the server …" : "Nothing yet: pairs are measured when jobs share a GPU and were seen alone.")
        : matrix(shown, chosen, (pair) => {
          if (chosen === pair) return;
          chosen = pair;
          drawPairs();
        })), sensitivityCard(shown, source));
  };

  const ask = async () => {
    try {
      const [profiles, predictor, ended, measured] = await Promise.all([
        get<Profiles>("/api/v1/profiles", {}, until.abort.signal), get<Predictor>("/api/v1/predictor", {}, until.abort.signal),
        get<Jobs>("/api/v1/jobs", { phase: "finished", limit: 500 }, until.abort.signal), get<Pairs>("/api/v1/pairs", {}, until.abort.signal)]);
      pairs = measured.pairs;
      if (pairs.some((pair) => pair.source === "here")) source = "here";
      drawPairs();
      const rows = profiles.profiles as unknown as Profile[];
      show(rest, predictorCard(predictor), healthCard(healthCharts(predictor).length > 0), measuredCard(ended.jobs),
        curvesCard(curvesOf(rows, ended.jobs)), profilesCard(rows));
      rest.querySelector("#health-card")?.append(health);
      for (const data of healthCharts(predictor)) {
        const chart = new Chart(data, "predictor");
        charts.push(chart);
        health.append(chart.element);
        chart.make();
      }
    } catch (error) {
      if (!until.over) show(rest, problem(wordsOf(error)));
    }
  };
  at.append(h("h1", {}, "Workloads"), pairsAt, rest);
  drawPairs();
  until.add(onTurn(drawPairs));
  void ask();
  const recolour = () => charts.forEach((chart) => chart.make());
  window.addEventListener("themechange", recolour);
  until.add(() => window.removeEventListener("themechange", recolour));
  until.add(() => charts.forEach((chart) => chart.destroy()));
  return { title: "Workloads", stop: () => until.stop() };
};
