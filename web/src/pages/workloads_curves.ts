// How each workload's speed depends on its cores and on who is beside it.
import type { Job } from "../lib/api_types";
import { h, svg } from "../lib/dom";
import { percent } from "../lib/format";
import { card, note, table } from "../lib/parts";
import { coreCurve, curvePoints, type CoreCurve } from "../lib/plots";
import type { Pair } from "./workloads_pairs";

const MOST_CURVES = 24;
const MOST_ROWS = 30;

interface Curve {
  title: string;
  points: CoreCurve;
}

/** Newest first, one of each. */
export function curvesOf(profiles: { name: string; gpu: string | null; batch: number | null; cpu_curve?: number[][] }[], jobs: Job[]): Curve[] {
  const found = new Map<string, CoreCurve>();
  const add = (title: string, points: CoreCurve) => {
    if (points.length > 1 && !found.has(title)) found.set(title, points);
  };
  for (const one of profiles) add(`${one.name}${one.batch ? ` b${one.batch}` : ""}${one.gpu ? ` on ${one.gpu}` : ""}: profile, measured`, curvePoints(one.cpu_curve));
  for (const job of jobs) add(`${job.needs.workload ?? job.name}${job.needs.batch ? ` b${job.needs.batch}` : ""}: ${job.needs.source}, ${job.needs.from}`, curvePoints(job.needs.cpu_curve));
  return [...found].map(([title, points]) => ({ title, points }));
}

export function curvesCard(curves: Curve[]): HTMLElement {
  return card("Speed by cores", { id: "core-curves" },
    curves.length === 0
      ? note("Unknown: no profile or job here has a curve. ", h("code", {}, "sharewell sweep SPEC.toml"), ", with cpus among its axes, measures one; the Predict page shows what the predictor reckons for a model.")
      : h("div", { class: "small-charts" }, ...curves.slice(0, MOST_CURVES).map((one) => coreCurve(one.title, one.points))),
    curves.length > 0 ? note("Share of full speed with so many cores a GPU, from stored sweeps and from what jobs were believed to need. Each title says which.") : null,
    curves.length > MOST_CURVES ? note(`The first ${MOST_CURVES} of ${curves.length}.`) : null);
}

interface Feels {
  name: string;
  speeds: number[];  // its own beside each neighbour, rising
  others: number[];  // of the neighbours
}

export function sensitivityOf(pairs: Pair[]): Feels[] {
  const found = new Map<string, Feels>();
  const add = (name: string, own: number | null, other: number | null) => {
    if (own === null) return;
    const row = found.get(name) ?? { name, speeds: [], others: [] };
    found.set(name, row);
    row.speeds.push(own);
    if (other !== null) row.others.push(other);
  };
  for (const pair of pairs) {
    add(pair.a, pair.speed_a, pair.speed_b);
    if (pair.a !== pair.b) add(pair.b, pair.speed_b, pair.speed_a);
  }
  for (const row of found.values()) row.speeds.sort((a, b) => a - b);
  const middle = (values: number[]) => values[Math.floor(values.length / 2)] ?? 1;
  return [...found.values()].sort((a, b) => middle(a.speeds) - middle(b.speeds) || a.name.localeCompare(b.name));
}

function mean(values: number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The speeds beside each neighbour, slowest first, as a curve. */
function curve(row: Feels): SVGElement {
  const width = 150, height = 34;
  const at = (i: number) => (row.speeds.length < 2 ? width / 2 : 4 + (i / (row.speeds.length - 1)) * (width - 8));
  const y = (speed: number) => 3 + (1 - Math.max(0, Math.min(1, speed))) * (height - 6);
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", class: "share",
                      "aria-label": `speeds of ${row.name} beside its neighbours: ${row.speeds.slice(0, 12).map((speed) => percent(speed)).join(", ")}` },
    svg("rect", { x: 0, y: 0, width, height, class: "lane" }),
    svg("line", { x1: 0, x2: width, y1: y(1), y2: y(1), class: "even" }),
    svg("polyline", { class: "line", points: row.speeds.map((speed, i) => `${at(i)},${y(speed)}`).join(" ") }),
    row.speeds.length < 2 ? svg("circle", { cx: at(0), cy: y(row.speeds[0] ?? 1), r: 3, class: "point" }) : null);
}

export function sensitivityCard(pairs: Pair[], source: "here" | "shipped"): HTMLElement {
  const rows = sensitivityOf(pairs.filter((pair) => pair.fits));
  return card("Sensitivity to neighbours", { id: "sensitivity" },
    rows.length === 0 ? note("Unknown: no pair was measured.") : table("Sensitivity to neighbours",
      ["workload", "measured beside", "slowest", "median", "fastest", "beside each neighbour, slowest first", "its neighbours, mean"],
      rows.slice(0, MOST_ROWS).map((row) => [row.name, String(row.speeds.length), percent(row.speeds[0]), percent(row.speeds[Math.floor(row.speeds.length / 2)]),
        percent(row.speeds.at(-1)), curve(row), percent(mean(row.others))]), [1, 2, 3, 4, 6]),
    rows.length > MOST_ROWS ? note(`The ${MOST_ROWS} most sensitive of ${rows.length}.`) : null,
    note(`Speed against alone, from the ${source === "here" ? "pairs that this server measured" : "pairs that come with the program"}; the most sensitive first. What single pressures (memory bandwidth, caches) cost a job is measured by `,
      h("code", {}, "sharewell sensitivity"), ", whose results are files and not in this server's store."));
}
