// Who had which GPU when. Jobs that shared a GPU lie on top of each other in its row.
import type { Gpu, Job } from "../lib/api_types";
import { COLOURS } from "../lib/colours";
import { svg } from "../lib/dom";
import { clock, duration, nameOf } from "../lib/format";
import { forFingers } from "../lib/phone";

const LEFT = 92, LANE = 16, GAP = 8, BOTTOM = 24;
const DESK = 1200, TABLET = 780;  // as wide as it is shown, more or less, so that its words can be read
export const MOST_ROWS = 40;

interface Span {
  job: Job;
  from: number;
  to: number;
  lane: number;
}

/** When its last attempt began; that is what its GPUs are of. Absent: it waits (again), and when it left is not told. */
export function beganAt(job: Job): number | null {
  return job.phase === "waiting" || job.phase === "held" ? null : (job.resumed_ms ?? job.started_ms);
}

export function ranOn(job: Job, gpu: string): boolean {
  return beganAt(job) !== null && job.gpus.some((one) => one.uuid === gpu);
}

function lanesOf(jobs: Job[], from: number, to: number): { spans: Span[]; lanes: number } {
  const spans: Span[] = [];
  const ends: number[] = [];
  const sorted = [...jobs].sort((a, b) => (beganAt(a) ?? 0) - (beganAt(b) ?? 0));
  for (const job of sorted) {
    const begin = Math.max(from, beganAt(job) ?? from), end = Math.min(to, job.ended_ms ?? to);
    if (end <= from || begin >= to) continue;
    let lane = ends.findIndex((last) => last <= begin);
    if (lane < 0) lane = ends.push(0) - 1;
    ends[lane] = end;
    spans.push({ job, from: begin, to: end, lane });
  }
  return { spans, lanes: Math.max(1, ends.length) };
}

function ticks(from: number, to: number): number[] {
  const steps = [60, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400].map((s) => s * 1000);
  const step = steps.find((one) => (to - from) / one <= 10) ?? 7 * 86400e3;
  const shift = new Date().getTimezoneOffset() * 60000;
  const all: number[] = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at < to; at += step) all.push(at);
  return all;
}

function tickWords(time: number, range: number): string {
  const date = new Date(time);
  return range > 2 * 86400e3 ? date.toLocaleDateString("en-CA").slice(5) : date.toLocaleTimeString("en-GB").slice(0, 5);
}

export function gantt(gpus: Gpu[], jobs: Job[], from: number, to: number): SVGElement {
  const width = forFingers() ? TABLET : DESK;
  const x = (time: number) => LEFT + ((time - from) / (to - from)) * (width - LEFT);
  const parts: SVGElement[] = [];
  let y = 4;
  for (const gpu of gpus.slice(0, MOST_ROWS)) {
    const { spans, lanes } = lanesOf(jobs.filter((job) => ranOn(job, gpu.uuid)), from, to);
    const height = lanes * LANE;
    parts.push(svg("text", { x: 0, y: y + height / 2 + 4 }, `GPU ${gpu.index}`, svg("tspan", { class: "dim" }, ` ${gpu.model}`)),
               svg("rect", { x: LEFT, y, width: width - LEFT, height, class: "lane", rx: 3 }));
    for (const { job, from: begin, to: end, lane } of spans) {
      const long = Math.max(1.5, x(end) - x(begin));
      const words = `job ${job.number} ${nameOf(job)} of ${job.user}: ${clock(begin)}, ${duration((end - begin) / 1000)}`;
      parts.push(svg("a", { href: `#/job/${job.number}`, "aria-label": words },
        svg("rect", { x: x(begin), y: y + lane * LANE, width: long, height: LANE, rx: 2, class: `span c${job.number % COLOURS}` }, svg("title", {}, words)),
        long > 34 ? svg("text", { x: x(begin) + 5, y: y + lane * LANE + 12, class: "span-text" }, `#${job.number}`) : null));
    }
    y += height + GAP;
  }
  for (const time of ticks(from, to)) {
    parts.unshift(svg("line", { x1: x(time), x2: x(time), y1: 0, y2: y, class: "grid" }));
    const last = x(time) > width - 18;  // its words would be cut
    parts.push(svg("text", { x: last ? width : x(time), y: y + 14, "text-anchor": last ? "end" : "middle", class: "dim" }, tickWords(time, to - from)));
  }
  return svg("svg", { viewBox: `0 0 ${width} ${y + BOTTOM}`, role: "group", "aria-label": "Which job had which GPU when" }, ...parts);
}
