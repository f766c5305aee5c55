// Hundreds of GPUs: a square each, its colour what it does, its number how many jobs it has. Arrow keys walk over them.
import { h, svg } from "../lib/dom";
import { bytes, count, percent } from "../lib/format";
import type { Now } from "../lib/live";
import { card, note } from "../lib/parts";
import { residentsOf, STATE_WORDS, stateOf, type State } from "./now";

const SIZE = 18;
const STATES: State[] = ["working", "unknown", "wasted", "idle", "taken", "drained", "sick"];

let chosen = 0;

export function gpuHeatMap(now: Now): HTMLElement {
  const columns = Math.max(20, Math.min(64, Math.ceil(Math.sqrt(now.gpus.length * 2.6))));
  const rows = Math.ceil(now.gpus.length / columns);
  const jobs = new Map(now.jobs.map((job) => [job.number, job]));
  const counts = new Map<State, number>();
  const squares = now.gpus.map((gpu, i) => {
    const state = stateOf(gpu);
    counts.set(state, (counts.get(state) ?? 0) + 1);
    const x = (i % columns) * SIZE, y = Math.floor(i / columns) * SIZE;
    return svg("g", {},
      svg("rect", { x: x + 1, y: y + 1, width: SIZE - 2, height: SIZE - 2, rx: 3, class: `cell s-${state}${i === chosen ? " chosen" : ""}`, "data-i": i }),
      gpu.jobs.length > 1 ? svg("text", { x: x + SIZE / 2, y: y + SIZE / 2 + 4, class: "cell-text" }, String(gpu.jobs.length)) : null);
  });
  const gpu = now.gpus[Math.min(chosen, now.gpus.length - 1)];
  const choose = (index: number) => {
    chosen = Math.max(0, Math.min(now.gpus.length - 1, index));
  };
  const map = svg("svg", {
    viewBox: `0 0 ${columns * SIZE} ${rows * SIZE}`, class: "heat", tabindex: 0, role: "application",
    "aria-label": `${now.gpus.length} GPUs; arrow keys choose one`,
    onpointermove: (event) => {
      const index = (event.target as Element).getAttribute("data-i");
      if (index !== null) choose(Number(index));
    },
    onkeydown: (event) => {
      const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
      const step = steps[(event as KeyboardEvent).key];
      if (step === undefined) return;
      event.preventDefault();
      choose(chosen + step);
    },
  }, ...squares);
  return card(`${count(now.gpus.length, "GPU")}`, { class: "heat-card" },
    h("div", { class: "legend" }, ...STATES.filter((state) => counts.has(state)).map((state) =>
      h("span", {}, h("span", { class: `swatch s-${state}` }), `${STATE_WORDS[state]} ${counts.get(state) ?? 0}`))),
    map,
    gpu ? note(`GPU ${gpu.index} ${gpu.model}: ${STATE_WORDS[stateOf(gpu)]}, busy ${percent(gpu.busy)}, memory ${bytes(gpu.memory_used_bytes)} of ${bytes(gpu.memory_bytes)}; ${residentsOf(gpu, jobs)}`) : null);
}
