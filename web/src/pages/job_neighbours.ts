// Who was on the job's GPUs beside it and when, how fast it was then against alone, and what that cost it.
import type { Job, Neighbours } from "../lib/api_types";
import { heatClass, jobColours } from "../lib/colours";
import { h, svg } from "../lib/dom";
import { clock, duration, nameOf, percent, UNKNOWN } from "../lib/format";
import { card, facts, jobLink, note, table } from "../lib/parts";

type Span = Neighbours["spans"][number];

const WIDTH = 1000, LANE = 16, LEFT = 150;
const MOST_LANES = 14;
const MOST_ROWS = 40;

function seconds(span: Span): number {
  return (span.to_ms - span.from_ms) / 1000;
}

/** "under 1 s" for what is small, with its sign: a job may be faster beside others than it was thought to be alone. */
function lost(value: number | null): string {
  if (value === null) return UNKNOWN;
  return value < 0 ? `gained ${duration(-value)}` : duration(value);
}

function speedWords(span: Span): string {
  return span.speed === null ? "its speed was not measured" : `${percent(span.speed)} of its speed alone`;
}

function picture(told: Neighbours, jobs: number[], name: (job: number) => string): SVGElement {
  const shown = jobs.slice(0, MOST_LANES);
  const colours = jobColours(shown);
  const from = told.spans[0]?.from_ms ?? told.from_ms;
  const to = Math.max(told.spans.at(-1)?.to_ms ?? told.to_ms, from + 1000);
  const x = (time: number) => LEFT + ((time - from) / (to - from)) * (WIDTH - LEFT);
  const block = (span: Span, row: number, kind: string, words: string) =>
    svg("rect", { x: x(span.from_ms), y: row * LANE + 2, width: Math.max(1.5, x(span.to_ms) - x(span.from_ms)), height: LANE - 4, class: kind }, svg("title", {}, words));
  const height = (shown.length + 1) * LANE + 16;
  const short = (text: string) => (text.length > 22 ? `${text.slice(0, 21)}…` : text);
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", class: "beside",
                      "aria-label": `${jobs.length} neighbours over time; the table below has the same` },
    ...shown.flatMap((job, row) => [
      svg("rect", { x: LEFT, y: row * LANE + 2, width: WIDTH - LEFT, height: LANE - 4, class: "lane" }),
      svg("text", { x: LEFT - 6, y: row * LANE + 12, "text-anchor": "end" }, short(name(job)), svg("title", {}, name(job))),
      ...told.spans.filter((span) => span.jobs.includes(job)).map((span) =>
        block(span, row, colours.get(job) ?? "c0", `${name(job)}, ${clock(span.from_ms)} to ${clock(span.to_ms)}: ${speedWords(span)}`)),
    ]),
    svg("text", { x: LEFT - 6, y: shown.length * LANE + 12, "text-anchor": "end" }, "its own speed"),
    svg("rect", { x: LEFT, y: shown.length * LANE + 2, width: WIDTH - LEFT, height: LANE - 4, class: "lane" }),
    ...told.spans.map((span) => block(span, shown.length, heatClass(span.speed === null ? null : (span.speed - 0.2) / 0.8), speedWords(span))),
    svg("text", { x: LEFT, y: height - 3 }, clock(from)), svg("text", { x: WIDTH, y: height - 3, "text-anchor": "end" }, clock(to)));
}

export function neighboursCard(told: Neighbours | null, all: Map<number, Job>): HTMLElement {
  const frame = (...children: (HTMLElement | SVGElement | null)[]) => card("Neighbours over time", { id: "neighbours" }, ...children);
  if (told === null) return frame(note("Asking …"));
  const jobs = [...new Set(told.spans.flatMap((span) => span.jobs))].sort((a, b) => a - b);
  const name = (job: number) => {
    const found = all.get(job);
    return found ? `#${job} ${nameOf(found)}` : `#${job}`;
  };
  if (told.spans.length === 0) return frame(note("Unknown: the store has nothing of who was beside it, nor of its speed."));
  if (jobs.length === 0) return frame(note("Nobody shared its GPUs while this server looked."));
  const rows = told.spans.slice(-MOST_ROWS).reverse();
  return frame(
    facts([
      ["shared its GPUs for", duration(told.shared_seconds)],
      ["of that, its speed was measured for", told.measured_seconds > 0 ? duration(told.measured_seconds) : UNKNOWN],
      ["lost to neighbours in that time", h("span", { "data-figure": "lost" }, lost(told.lost_seconds))],
    ]),
    picture(told, jobs, name),
    jobs.length > MOST_LANES ? note(`The first ${MOST_LANES} of ${jobs.length} neighbours are drawn.`) : null,
    table("Neighbours over time", ["from", "for", "beside", "speed against alone", "measured for", "lost"],
      rows.map((span) => [clock(span.from_ms), duration(seconds(span)),
        span.jobs.length === 0 ? "nobody" : h("span", {}, ...span.jobs.flatMap((job, i) => [i > 0 ? ", " : "", jobLink(all.get(job) ?? job)])),
        percent(span.speed), span.measured_seconds > 0 ? duration(span.measured_seconds) : UNKNOWN, lost(span.lost_seconds)]), [1, 3, 4, 5]),
    told.spans.length > MOST_ROWS ? note(`The last ${MOST_ROWS} of ${told.spans.length} times.`) : null,
    note("Its speed is the server's own measurement: by its steps, else by the SMs that are active. It is unknown for some seconds after a neighbour comes or goes."));
}
