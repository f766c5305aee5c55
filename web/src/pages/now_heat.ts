// Hundreds of GPUs: a square each, its colour what it does, its number how many jobs share it. Arrow keys walk over
// them. The squares are made once; afterwards only what changed is touched.
import type { Gpu } from "../lib/api_types";
import { h, show, svg } from "../lib/dom";
import { bytes, count, percent } from "../lib/format";
import type { Now } from "../lib/live";
import { jobLink, note } from "../lib/parts";
import { jobsOn, STATE_WORDS, stateOf, type State } from "./now_state";

const SIZE = 18;
const STATES: State[] = ["working", "unknown", "wasted", "idle", "taken", "drained", "sick"];

export class GpuHeatMap {
  readonly element: HTMLElement;
  private readonly title = h("h2");
  private readonly legend = h("div", { class: "legend" });
  private readonly told = h("div", { "aria-live": "polite" });
  private readonly map: SVGElement;
  private squares: { rect: SVGElement; text: SVGElement; kind: string; many: string }[] = [];
  private columns = 20;
  private chosen = 0;
  private now: Now | null = null;

  constructor() {
    this.map = svg("svg", { class: "heat", tabindex: 0, role: "application", onpointermove: (event) => {
      const index = (event.target as Element).getAttribute("data-i");
      if (index !== null) this.choose(Number(index));
    }, onclick: (event) => {
      const index = (event.target as Element).getAttribute("data-i");
      if (index === null) return;
      this.choose(Number(index));
      // A finger chooses and reads first; the links stand below.
      if (!(event instanceof PointerEvent && event.pointerType === "touch")) this.open();
    }, onkeydown: (event) => this.walk(event as KeyboardEvent) });
    this.element = h("section", { class: "card heat-card", "data-keep": true }, this.title, this.legend, this.map, this.told);
  }

  update(now: Now): void {
    if (now === this.now) return;
    this.now = now;
    if (this.squares.length !== now.gpus.length) this.make(now.gpus.length);
    const counts = new Map<State, number>();
    now.gpus.forEach((gpu, i) => {
      const square = this.squares[i];
      if (!square) return;
      const state = stateOf(gpu);
      counts.set(state, (counts.get(state) ?? 0) + 1);
      const kind = `cell s-${state}`, many = gpu.jobs.length > 1 ? String(gpu.jobs.length) : "";
      if (square.kind !== kind) square.rect.setAttribute("class", square.kind = kind);
      if (square.many !== many) square.text.textContent = square.many = many;
    });
    show(this.title, count(now.gpus.length, "GPU"));
    show(this.legend, ...STATES.filter((state) => counts.has(state)).map((state) =>
      h("span", {}, h("span", { class: `swatch s-${state}` }), `${STATE_WORDS[state]} ${counts.get(state) ?? 0}`)));
    this.choose(this.chosen);
  }

  private make(many: number): void {
    this.columns = Math.max(20, Math.min(64, Math.ceil(Math.sqrt(many * 2.6))));
    const rows = Math.ceil(many / this.columns);
    this.map.setAttribute("viewBox", `0 0 ${this.columns * SIZE} ${rows * SIZE}`);
    this.map.setAttribute("aria-label", `${many} GPUs; arrow keys choose one, Enter opens its jobs`);
    this.squares = Array.from({ length: many }, (_, i) => {
      const x = (i % this.columns) * SIZE, y = Math.floor(i / this.columns) * SIZE;
      return { rect: svg("rect", { x: x + 1, y: y + 1, width: SIZE - 2, height: SIZE - 2, rx: 3, "data-i": i }),
               text: svg("text", { x: x + SIZE / 2, y: y + SIZE / 2 + 4, class: "cell-text" }), kind: "", many: "" };
    });
    this.map.replaceChildren(...this.squares.flatMap(({ rect, text }) => [rect, text]));
  }

  private walk(event: KeyboardEvent): void {
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns };
    const step = steps[event.key];
    if (event.key === "Enter") this.open();
    if (step === undefined) return;
    event.preventDefault();
    this.choose(this.chosen + step);
  }

  /** Whoever is on it: the one job, or the Jobs page. */
  private open(): void {
    const gpu = this.now?.gpus[this.chosen];
    if (gpu) location.hash = gpu.jobs.length === 1 ? `#/job/${gpu.jobs[0]}` : jobsOn(gpu);
  }

  private choose(index: number): void {
    this.squares[this.chosen]?.rect.removeAttribute("data-chosen");
    this.chosen = Math.max(0, Math.min(this.squares.length - 1, index));
    this.squares[this.chosen]?.rect.setAttribute("data-chosen", "");
    const gpu = this.now?.gpus[this.chosen];
    if (gpu) show(this.told, this.words(gpu));
  }

  private words(gpu: Gpu): HTMLElement {
    const jobs = new Map((this.now?.jobs ?? []).map((job) => [job.number, job]));
    return note(`GPU ${gpu.index} ${gpu.model}: ${STATE_WORDS[stateOf(gpu)]}${gpu.problem ? ` (${gpu.problem})` : ""}, busy ${percent(gpu.busy)}, `,
                `memory ${bytes(gpu.memory_used_bytes)} of ${bytes(gpu.memory_bytes)}; `,
                ...(gpu.jobs.length === 0 ? ["nobody"] : gpu.jobs.flatMap((one, i) => [i > 0 ? ", " : "", jobLink(jobs.get(one) ?? one)])),
                ". ", h("a", { href: jobsOn(gpu), class: "more" }, "Its jobs"));
  }
}
