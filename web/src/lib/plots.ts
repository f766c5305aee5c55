// Small SVG plots that are not series over time: a curve over cores, and what was predicted against what was measured.
import { h, svg } from "./dom";
import { number, percent } from "./format";

const WIDTH = 250, HEIGHT = 140, LEFT = 38, BOTTOM = 22, TOP = 8, RIGHT = 8;

/** Cores and the share of full speed, 0 to 1; straight between the points, as the server reads them. */
export type CoreCurve = [number, number][];

export function curvePoints(points: (number | null)[][] | undefined): CoreCurve {
  return (points ?? []).flatMap(([cores, share]): CoreCurve => (cores == null || share == null ? [] : [[cores, share]])).sort((a, b) => a[0] - b[0]);
}

export function coreCurve(title: string, points: CoreCurve, given: number | null = null): HTMLElement {
  const most = Math.max(...points.map(([cores]) => cores), given ?? 0, 1);
  const x = (cores: number) => LEFT + (cores / most) * (WIDTH - LEFT - RIGHT);
  const y = (share: number) => TOP + (1 - Math.min(1, share)) * (HEIGHT - TOP - BOTTOM);
  const words = points.map(([cores, share]) => `${number(cores)} cores ${percent(share)}`).join(", ");
  return h("div", { class: "core-curve" }, h("h3", {}, title),
    svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}: ${words}` },
      ...[0, 0.5, 1].flatMap((share) => [
        svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(share), y2: y(share), class: "grid" }),
        svg("text", { x: LEFT - 4, y: y(share) + 4, "text-anchor": "end", class: "dim" }, percent(share))]),
      ...[0, most / 2, most].map((cores) => svg("text", { x: x(cores), y: HEIGHT - 6, "text-anchor": cores === most ? "end" : "middle", class: "dim" },
        cores === most ? `${number(cores)} cores` : number(cores))),
      svg("polyline", { class: "line", points: points.map(([cores, share]) => `${x(cores)},${y(share)}`).join(" ") }),
      ...points.map(([cores, share]) => svg("circle", { cx: x(cores), cy: y(share), r: 3, class: "point" },
        svg("title", {}, `${number(cores)} cores: ${percent(share, 1)} of its speed`))),
      given === null ? null : svg("line", { x1: x(given), x2: x(given), y1: TOP, y2: HEIGHT - BOTTOM, class: "even" })));
}

export interface Against {
  name: string;
  predicted: number;
  upper: number | null;  // 95 % bound
  measured: number;
}

const SIDE = 330;

/** Predicted across, measured up, both on one logarithmic scale; a bar goes from the prediction to its 95 % bound. */
export function predictedAgainstMeasured(title: string, all: Against[], words: (value: number) => string): HTMLElement {
  const values = all.flatMap((one) => [one.predicted, one.measured, one.upper ?? one.predicted]).filter((value) => value > 0);
  const low = Math.log10(Math.min(...values)) - 0.1, high = Math.log10(Math.max(...values)) + 0.1;
  const span = Math.max(high - low, 0.3);
  const left = 62, bottom = 24;
  const place = (value: number) => (Math.log10(Math.max(value, 10 ** low)) - low) / span;
  const x = (value: number) => left + place(value) * (SIDE - left - 8);
  const y = (value: number) => 8 + (1 - place(value)) * (SIDE - bottom - 8);
  const ticks = [0.1, 0.5, 0.9].map((share) => 10 ** (low + share * span));
  const bounded = all.filter((one) => one.upper !== null);
  const within = bounded.filter((one) => one.measured <= (one.upper ?? 0)).length;
  return h("div", { class: "against" }, h("h3", {}, title),
    svg("svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, role: "img", class: "plot", "aria-label": `${title}: ${all.length} jobs, predicted across and measured up; the table below has the same` },
      ...ticks.flatMap((value) => [
        svg("line", { x1: left, x2: SIDE - 8, y1: y(value), y2: y(value), class: "grid" }),
        svg("text", { x: left - 5, y: y(value) + 4, "text-anchor": "end", class: "dim" }, words(value)),
        svg("text", { x: x(value), y: SIDE - 7, "text-anchor": "middle", class: "dim" }, words(value))]),
      svg("line", { x1: x(10 ** low), y1: y(10 ** low), x2: x(10 ** (low + span)), y2: y(10 ** (low + span)), class: "even" }),
      ...all.flatMap((one) => [
        one.upper === null ? null : svg("line", { x1: x(one.predicted), x2: x(one.upper), y1: y(one.measured), y2: y(one.measured), class: "bound" }),
        svg("circle", { cx: x(one.predicted), cy: y(one.measured), r: 3.2, class: one.upper !== null && one.measured > one.upper ? "point above" : "point" },
          svg("title", {}, `${one.name}: predicted ${words(one.predicted)}${one.upper === null ? "" : `, at most ${words(one.upper)}`}, measured ${words(one.measured)}`))])),
    h("p", { class: "note", "data-figure": "coverage" }, bounded.length === 0 ? "None of them had a bound." :
      `${within} of ${bounded.length} were measured within the 95 % bound. On the dashed line the prediction was right.`));
}
