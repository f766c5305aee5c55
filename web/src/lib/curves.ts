// Distributions side by side: which share of jobs took at most how long. Lines are told apart by colour and by dashes.
import { COLOURS } from "./colours";
import { csvButton } from "./csv";
import { h, svg } from "./dom";

export interface Curve {
  name: string;
  values: number[];  // rising: of m, the i-th is what i / m do not exceed
}

export interface CurveScale {
  unit: string;
  by: number;  // of the values, so many are one of the unit
}

const WIDTH = 400, HEIGHT = 230, LEFT = 42, RIGHT = 14, TOP = 8, BOTTOM = 36;
const DASHES = ["", "6 4", "2 3", "9 3 2 3"];

export function timeScale(curves: Curve[]): CurveScale {
  const most = Math.max(0, ...curves.flatMap((curve) => curve.values.slice(-1)));
  if (most <= 600) return { unit: "seconds", by: 1 };
  if (most <= 5 * 3600) return { unit: "minutes", by: 60 };
  return most <= 4 * 86400 ? { unit: "hours", by: 3600 } : { unit: "days", by: 86400 };
}

/** Round places from `least` on, about five of them. */
function places(least: number, most: number): number[] {
  const rough = (most - least) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough;
  const all: number[] = [];
  for (let at = Math.ceil(least / step) * step; at <= most * (1 + 1e-9); at += step) all.push(+at.toPrecision(10));
  return all;
}

/** `least`: where the axis begins. Without any value: null. */
export function curvesChart(id: string, title: string, curves: Curve[], scale: CurveScale, least = 0): HTMLElement | null {
  const known = curves.filter((curve) => curve.values.length > 0);
  if (known.length === 0) return null;
  const most = Math.max(least + 1e-3, ...known.map((curve) => (curve.values[curve.values.length - 1] ?? 0) / scale.by));
  const x = (value: number) => LEFT + ((Math.min(value, most) - least) / (most - least)) * (WIDTH - LEFT - RIGHT);
  const y = (share: number) => TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
  const parts: SVGElement[] = [];
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    parts.push(svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(share), y2: y(share), class: "grid" }),
               svg("text", { x: LEFT - 6, y: y(share) + 4, "text-anchor": "end", class: "dim" }, `${share * 100} %`));
  }
  for (const value of places(least, most)) {
    parts.push(svg("line", { x1: x(value), x2: x(value), y1: TOP, y2: HEIGHT - BOTTOM, class: "grid" }),
               svg("text", { x: x(value), y: HEIGHT - BOTTOM + 15, "text-anchor": "middle", class: "dim" }, String(value)));
  }
  parts.push(svg("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 4, "text-anchor": "middle", class: "dim" }, scale.unit));
  curves.forEach((curve, i) => {
    const n = curve.values.length;
    if (n === 0) return;
    let path = `M${x(Math.max(least, 0)).toFixed(1)} ${y(0).toFixed(1)}`;
    curve.values.forEach((value, at) => {
      path += `H${x(Math.max(least, value / scale.by)).toFixed(1)}V${y((at + 1) / n).toFixed(1)}`;
    });
    path += `H${WIDTH - RIGHT}`;
    const middle = (curve.values[Math.ceil(n / 2) - 1] ?? 0) / scale.by;
    parts.push(svg("path", { d: path, class: `curve s${i % COLOURS}`, "stroke-dasharray": DASHES[i % DASHES.length] || null },
      svg("title", {}, `${curve.name}: half of the jobs within ${+middle.toPrecision(3)} ${scale.unit}`)));
  });
  const words = known.map((curve) => {
    const middle = (curve.values[Math.ceil(curve.values.length / 2) - 1] ?? 0) / scale.by;
    return `${curve.name} ${+middle.toPrecision(3)}`;
  }).join(", ");
  return h("figure", { class: "curves", id },
    h("h3", {}, title, h("span", { class: "dim" }, ` ${scale.unit}`)),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}: share of jobs up to each value. Median in ${scale.unit}: ${words}` }, ...parts),
    h("figcaption", { class: "legend" }, ...curves.map((curve, i) => h("span", {}, key(i), curve.values.length > 0 ? curve.name : `${curve.name}: unknown`)),
      csvButton(id, ["policy", "share of jobs", scale.unit], () => curves.flatMap((curve) =>
        curve.values.map((value, at) => [curve.name, (at + 1) / curve.values.length, value / scale.by])))));
}

function key(i: number): SVGElement {
  const line = svg("svg", { viewBox: "0 0 26 8", class: "dash", "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 26, y1: 4, y2: 4, class: `curve s${i % COLOURS}`, "stroke-dasharray": DASHES[i % DASHES.length] || null }));
  return line;
}
