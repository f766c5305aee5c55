// Series over time (uPlot), with one cursor for all charts of a page and what was predicted behind what was measured.
import uPlot from "uplot";
import { cssColour } from "./colours";
import { h } from "./dom";

export interface Line {
  name: string;
  points: [number, number | null][];  // Unix milliseconds, in the chart's unit
}

/** What was believed: from its middle (or its lower 95 % bound) to its upper one, where there is one. */
export interface Band {
  name: string;
  value: number;
  lower?: number | null;
  upper: number | null;
}

/** A time that something was so in, drawn behind the lines: as many stripes as it has colours ("--c3"). */
export interface Stretch {
  from: number;
  to: number;
  colours: string[];
}

export interface ChartData {
  title: string;
  unit: string;
  lines: Line[];
  band: Band | null;
  stretches?: Stretch[];
  around?: boolean;  // the axis goes around what is drawn, wherever 0 is
  from: number;
  to: number;
}

const HEIGHT = 170;
const MOST_LINES = 8;
// So many usual steps without a reading are a gap, not a line.
const GAP_STEPS = 5;

function joined(lines: Line[]): (number | null)[][] {
  const times = [...new Set(lines.flatMap((line) => line.points.map(([time]) => time)))].sort((a, b) => a - b);
  const steps = times.slice(1).map((time, i) => time - (times[i] ?? time)).sort((a, b) => a - b);
  const gap = (steps[Math.floor(steps.length / 2)] ?? 0) * GAP_STEPS;
  const all: number[] = [];
  for (const time of times) {
    const last = all[all.length - 1];
    if (last !== undefined && gap > 0 && time - last > gap) all.push(last + 1);  // where nothing is known
    all.push(time);
  }
  const index = new Map(all.map((time, i) => [time, i]));
  const rows: (number | null)[][] = [all.map((time) => time / 1000)];
  for (const line of lines) {
    const row: (number | null)[] = new Array<number | null>(all.length).fill(null);
    for (const [time, value] of line.points) row[index.get(time) ?? 0] = value;
    rows.push(row);
  }
  return rows;
}

function drawBand(plot: uPlot, band: Band): void {
  const { ctx, bbox } = plot;
  const clamp = (y: number) => Math.max(bbox.top, Math.min(bbox.top + bbox.height, y));
  const middle = clamp(plot.valToPos(band.value, "y", true));
  ctx.save();
  ctx.fillStyle = ctx.strokeStyle = cssColour("--c7");
  if (band.upper !== null) {
    const top = clamp(plot.valToPos(band.upper, "y", true));
    const bottom = typeof band.lower === "number" ? clamp(plot.valToPos(band.lower, "y", true)) : middle;
    ctx.globalAlpha = 0.13;
    ctx.fillRect(bbox.left, top, bbox.width, bottom - top);
  }
  ctx.globalAlpha = 0.9;
  ctx.lineWidth = 1.5;
  ctx.setLineDash([6, 5]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, middle);
  ctx.lineTo(bbox.left + bbox.width, middle);
  ctx.stroke();
  ctx.restore();
}

function drawStretches(plot: uPlot, stretches: Stretch[]): void {
  const { ctx, bbox } = plot;
  const x = (time: number) => Math.max(bbox.left, Math.min(bbox.left + bbox.width, plot.valToPos(time / 1000, "x", true)));
  ctx.save();
  ctx.globalAlpha = 0.22;
  for (const { from, to, colours } of stretches) {
    const height = bbox.height / colours.length;
    colours.forEach((colour, i) => {
      ctx.fillStyle = cssColour(colour);
      ctx.fillRect(x(from), bbox.top + i * height, Math.max(1, x(to) - x(from)), height);
    });
  }
  ctx.restore();
}

function clockTick(seconds: number, range: number): string {
  const date = new Date(seconds * 1000);
  if (range > 2 * 86400e3) return date.toLocaleDateString("en-CA").slice(5);
  return date.toLocaleTimeString("en-GB").slice(0, range > 20 * 60e3 ? 5 : 8);
}

function tick(value: number): string {
  if (Math.abs(value) >= 1e7) return value.toExponential(2);
  return Math.abs(value) >= 1000 ? `${+(value / 1000).toFixed(1)}k` : String(+value.toPrecision(3));
}

/** Numbers that hardly differ, for their size, have no marks between them. */
export function rangeAround(least: number, most: number): [number, number] {
  const middle = least / 2 + most / 2;
  const half = Math.max((most - least) * 0.54, Math.abs(middle) * 1e-6, 1e-9);
  return [middle - half, middle + half];
}

export class Chart {
  readonly element: HTMLElement;
  private plot: uPlot | null = null;
  private data: ChartData;
  private readonly holder = h("div");
  private readonly watch = new ResizeObserver(() => this.resize());

  constructor(data: ChartData, private readonly sync: string) {
    this.data = data;
    this.element = h("div", { class: "chart", "data-keep": true, role: "group", "aria-label": [data.title, data.unit].filter(Boolean).join(", ") },
                     h("h3", {}, data.title, h("span", { class: "dim" }, ` ${data.unit}`)), this.holder);
    this.watch.observe(this.element);
    this.make();
  }

  update(data: ChartData): void {
    const same = this.data.lines.map((line) => line.name).join() === data.lines.map((line) => line.name).join();
    this.data = data;
    if (same && this.plot) {
      this.plot.setData(joined(data.lines.slice(0, MOST_LINES)) as uPlot.AlignedData);
      this.plot.setScale("x", { min: data.from / 1000, max: data.to / 1000 });
    } else {
      this.make();
    }
  }

  /** Also when the colours change. */
  make(): void {
    this.plot?.destroy();
    const { data } = this;
    const lines = data.lines.slice(0, MOST_LINES);
    const axis = { stroke: cssColour("--dim"), grid: { stroke: cssColour("--line"), width: 1 }, ticks: { show: false },
                   font: "11px system-ui, sans-serif" };
    const most = Math.max(data.band?.upper ?? data.band?.value ?? 0, 0);
    const options: uPlot.Options = {
      width: Math.max(200, this.element.clientWidth || 380),
      height: HEIGHT,
      cursor: { sync: { key: this.sync }, drag: { x: true, y: false } },
      legend: { live: true },
      scales: {
        x: { time: true, range: () => [this.data.from / 1000, this.data.to / 1000] },
        y: { range: (_plot, least, top) => data.around ? rangeAround(least ?? 0, top ?? 0) : [0, (Math.max(top ?? 0, most) || (data.unit.startsWith("%") ? 100 : 1)) * 1.08] },
      },
      axes: [{ ...axis, space: 70, values: (_plot, times) => times.map((time) => clockTick(time, data.to - data.from)) }, { ...axis, size: 46, values: (_plot, values) => values.map(tick) }],
      series: [
        { label: "time", value: (_plot, time) => (time === null ? "" : new Date(time * 1000).toLocaleTimeString("en-GB")) },
        ...lines.map((line, i) => ({
          label: line.name, stroke: cssColour(`--c${i}`), width: 1.6, spanGaps: false,
          points: { show: line.points.length < 3 },
          value: (_plot: uPlot, value: number | null) => (value === null ? "" : `${+value.toPrecision(4)} ${data.unit}`.trim()),
        })),
      ],
      hooks: { drawClear: [(plot) => {
        if (this.data.stretches) drawStretches(plot, this.data.stretches);
        if (this.data.band) drawBand(plot, this.data.band);
      }] },
    };
    this.plot = new uPlot(options, joined(lines) as uPlot.AlignedData, this.holder);
  }

  private resize(): void {
    const width = this.element.clientWidth;
    if (this.plot && width > 0 && Math.abs(width - this.plot.width) > 2) this.plot.setSize({ width, height: HEIGHT });
  }

  destroy(): void {
    this.watch.disconnect();
    this.plot?.destroy();
  }
}
