// The packing matrix where there is no room for it: one workload is chosen, and its pairs are listed.
import type { Pairs } from "../lib/api_types";
import { h, show } from "../lib/dom";
import { percent, times, UNKNOWN } from "../lib/format";
import { table } from "../lib/parts";

export type Pair = Pairs["pairs"][number];

/** `names`: those of most pairs first. */
export function pairList(pairs: Pair[], names: string[]): HTMLElement {
  const list = h("div");
  const choice = h("select", { id: "pair-choice" }, ...names.map((name) => h("option", { value: name }, name)));
  const draw = () => {
    const own = pairs.filter((pair) => pair.a === choice.value || pair.b === choice.value).map((pair) => {
      const first = pair.a === choice.value;
      return { name: first ? pair.b : pair.a, own: first ? pair.speed_a : pair.speed_b, other: first ? pair.speed_b : pair.speed_a, fits: pair.fits };
    }).sort((a, b) => (b.own ?? 0) + (b.other ?? 0) - (a.own ?? 0) - (a.other ?? 0));
    show(list, table("Its pairs", ["beside", "its speed", "the other's", "together"], own.map((pair) => pair.fits
      ? [pair.name, percent(pair.own), percent(pair.other), times(pair.own === null || pair.other === null ? null : pair.own + pair.other)]
      : [pair.name, UNKNOWN, UNKNOWN, "does not fit"])));
  };
  choice.onchange = draw;
  draw();
  return h("div", { "data-keep": true, "data-key": `pairs-${pairs.length}` }, h("label", { for: "pair-choice" }, "Workload"), choice, list);
}
