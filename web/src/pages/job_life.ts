// The life of a job as one line: waited, ran (before and now), paused, over.
import type { Job } from "../lib/api_types";
import { h, svg } from "../lib/dom";
import { clock, duration, until } from "../lib/format";

const WIDTH = 1000, TOP = 8, HEIGHT = 22;

interface Span {
  from: number;
  to: number;
  kind: string;
  words: string;
}

function spansOf(job: Job, now: number): Span[] {
  const end = job.ended_ms ?? now;
  const spans: Span[] = [];
  const add = (from: number, to: number, kind: string, words: string) => {
    if (to > from) spans.push({ from, to, kind, words: `${words} ${duration((to - from) / 1000)}` });
  };
  add(job.submitted_ms, job.started_ms ?? end, "waits", job.started_ms === null && job.ended_ms === null ? "has waited" : "waited");
  if (job.started_ms === null) return spans;
  const last = Math.max(job.resumed_ms ?? job.started_ms, job.started_ms);
  const waits = job.phase === "waiting" || job.phase === "held";
  if (waits && job.paused_ms === null) {
    // It was put back into the queue; when, its record does not say.
    add(job.started_ms, end, "earlier", "ran before and waits again, in all");
    return spans;
  }
  add(job.started_ms, last, "earlier", "earlier attempts or pauses");
  const stops = waits ? Math.min(end, Math.max(last, job.paused_ms ?? last)) : end;
  add(last, stops, "runs", job.ended_ms === null && !waits ? "has run" : "ran");
  if (waits && job.paused_ms !== null) add(stops, end, "paused", "paused for");
  return spans;
}

function startWords(job: Job, now: number): string {
  if (job.expected_start_ms === null) return "when it starts nobody can tell yet";
  return `should start ${until(job.expected_start_ms, now)}, as believed now`;
}

export function lifeOf(job: Job, now: number): HTMLElement {
  const spans = spansOf(job, now);
  const end = Math.max(job.ended_ms ?? now, job.submitted_ms + 1000);
  const x = (time: number) => ((time - job.submitted_ms) / (end - job.submitted_ms)) * WIDTH;
  return h("div", { class: "life" },
    svg("svg", { viewBox: `0 0 ${WIDTH} ${TOP + HEIGHT + 4}`, preserveAspectRatio: "none", role: "img", height: 34,
                 "aria-label": spans.map((span) => span.words).join(", ") },
      svg("rect", { x: 0, y: TOP, width: WIDTH, height: HEIGHT, rx: 5, class: "lane" }),
      ...spans.map((span) => svg("rect", { x: x(span.from), y: TOP, width: Math.max(2, x(span.to) - x(span.from)), height: HEIGHT, class: span.kind },
                                 svg("title", {}, span.words)))),
    h("div", { class: "legend" }, ...spans.map((span) => h("span", {}, h("span", { class: `key k-${span.kind}` }), span.words)),
      h("span", {}, `submitted ${clock(job.submitted_ms)}`),
      job.ended_ms !== null ? h("span", {}, `ended ${clock(job.ended_ms)}`) : null,
      job.phase === "waiting" ? h("span", {}, startWords(job, now)) : null));
}
