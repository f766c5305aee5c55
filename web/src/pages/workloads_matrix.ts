// The packing matrix: what a pair of workloads does together on one GPU, as a heat map. Each cell is one measured pair.
import { heatClass } from "../lib/colours";
import { h, svg } from "../lib/dom";
import { percent, times } from "../lib/format";
import { note } from "../lib/parts";
import { onPhone } from "../lib/phone";
import { pairList, type Pair } from "./workloads_pairs";

const CELL = 17, LEFT = 190, TOP = 176;
const MOST = 70;

function together(pair: Pair): number | null {
  return pair.speed_a === null || pair.speed_b === null ? null : pair.speed_a + pair.speed_b;
}

function wordsOf(pair: Pair): string {
  if (!pair.fits) return `${pair.a} and ${pair.b} do not fit into the memory of one ${pair.gpu}`;
  return `${pair.a} runs at ${percent(pair.speed_a)} of its speed alone, ${pair.b} at ${percent(pair.speed_b)}: together ${times(together(pair))}`;
}

export function matrix(pairs: Pair[], chosen: Pair | null, choose: (pair: Pair) => void): HTMLElement {
  // Those of most pairs first: the corner is dense, and what is left out was measured least.
  const many = new Map<string, number>();
  for (const pair of pairs) for (const name of [pair.a, pair.b]) many.set(name, (many.get(name) ?? 0) + 1);
  const names = [...many.keys()].sort((a, b) => (many.get(b) ?? 0) - (many.get(a) ?? 0) || a.localeCompare(b)).slice(0, MOST);
  if (onPhone()) return pairList(pairs, names);
  const at = new Map(names.map((name, i) => [name, i]));
  const cells: SVGElement[] = [];
  const put = (pair: Pair, row: number, column: number) => {
    const sum = together(pair);
    // 1: no better than one after the other; 2: both at full speed.
    const kind = pair.fits ? heatClass(sum === null ? null : (sum - 0.8) / 1.2) : "nofit";
    cells.push(svg("rect", { x: LEFT + column * CELL + 1, y: TOP + row * CELL + 1, width: CELL - 2, height: CELL - 2, rx: 2,
                             class: `${kind}${pair === chosen ? " chosen" : ""}`, onclick: () => choose(pair), onpointermove: () => choose(pair) },
                   svg("title", {}, wordsOf(pair))));
  };
  for (const pair of pairs) {
    const row = at.get(pair.a), column = at.get(pair.b);
    if (row === undefined || column === undefined) continue;
    put(pair, row, column);
    if (row !== column) put(pair, column, row);
  }
  const short = (name: string) => (name.length > 27 ? `${name.slice(0, 26)}…` : name);
  const width = LEFT + names.length * CELL + 10, height = TOP + names.length * CELL + 6;
  return h("div", {},
    h("div", { class: "legend" }, h("span", {}, "work done together, against one job alone:"),
      ...[0.8, 1.1, 1.4, 1.7, 2].map((value) => h("span", {}, h("span", { class: `swatch ${heatClass((value - 0.8) / 1.2)}` }), times(value))),
      h("span", {}, h("span", { class: "swatch nofit" }), "does not fit")),
    h("div", { class: "matrix", tabindex: 0, role: "region", "aria-label": "Packing matrix" },
      svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${pairs.length} measured pairs of ${names.length} workloads; the table below has the same` },
        ...names.map((name, i) => svg("text", { x: LEFT - 6, y: TOP + i * CELL + 13, "text-anchor": "end" }, short(name), svg("title", {}, name))),
        ...names.map((name, i) => svg("text", { transform: `translate(${LEFT + i * CELL + 13},${TOP - 6}) rotate(-60)` }, short(name), svg("title", {}, name))),
        svg("rect", { x: LEFT, y: TOP, width: names.length * CELL, height: names.length * CELL, class: "lane" }), ...cells)),
    note(chosen ? wordsOf(chosen) : "Point at a cell."));
}
