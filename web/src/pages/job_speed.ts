// Steps a second over the job's life: observed as a line, who was beside it as colours behind, and what was predicted as a band.
import type { Job, Speed } from "../lib/api_types";
import type { ChartData, Stretch } from "../lib/charts";
import { jobColours } from "../lib/colours";
import { h } from "../lib/dom";
import { duration, number } from "../lib/format";
import { facts, jobLink, note } from "../lib/parts";

const MOST_NAMED = 8;

/** How long each neighbour was beside it, in seconds, the longest first. */
function timesBeside(speed: Speed): [number, number][] {
  const times = new Map<number, number>();
  for (const one of speed.neighbours) {
    for (const job of one.jobs) times.set(job, (times.get(job) ?? 0) + (one.to_ms - one.from_ms) / 1000);
  }
  return [...times].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

function coloursOf(speed: Speed): Map<number, string> {
  return jobColours(timesBeside(speed).map(([job]) => job).sort((a, b) => a - b));
}

/** Null: there is nothing to draw. */
export function speedChart(speed: Speed): ChartData | null {
  const first = speed.points[0], last = speed.points.at(-1);
  if (first === undefined || last === undefined) return null;
  const colours = coloursOf(speed);
  const { prediction } = speed;
  return {
    title: "Steps a second", unit: "steps/s", from: first.from_ms, to: Math.max(last.to_ms, first.from_ms + 1000),
    lines: [{ name: "observed", points: speed.points.map((point) => [(point.from_ms + point.to_ms) / 2, point.steps_per_second]) }],
    band: prediction === null ? null : { name: "predicted", value: prediction.middle, lower: prediction.low, upper: prediction.high },
    stretches: speed.neighbours.filter((one) => one.jobs.length > 0).map((one): Stretch => (
      { from: one.from_ms, to: one.to_ms, colours: one.jobs.map((job) => `--${colours.get(job) ?? "c0"}`) })),
  };
}

/** What the job told of itself, such as its loss: a chart for each, by its name. */
export function metricCharts(speed: Speed): Map<string, ChartData> {
  return new Map(speed.metrics.flatMap(({ name, points }): [string, ChartData][] => {
    const first = points[0], last = points.at(-1);
    return first === undefined || last === undefined ? [] : [[name, {
      title: name, unit: "", around: true, from: first.from_ms, to: Math.max(last.to_ms, first.from_ms + 1000), band: null,
      lines: [{ name, points: points.map((point) => [(point.from_ms + point.to_ms) / 2, point.value]) }],
    }]];
  }));
}

function predictedWords(speed: Speed): string {
  const { prediction } = speed;
  if (prediction === null) return "nothing was predicted";
  const bounds = prediction.low === null || prediction.high === null ? "" : `, 95 %: ${number(prediction.low, 2)} to ${number(prediction.high, 2)}`;
  return `${number(prediction.middle, 2)} steps/s alone${prediction.gpu ? ` on ${prediction.gpu}` : ""}${bounds}`;
}

/** What stands above the chart. `speed` null: not asked yet. */
export function speedWords(job: Job, speed: Speed | null, over: boolean): HTMLElement {
  if (speed === null) return note("Asking …");
  if (speed.points.length === 0) {
    return note(job.started_ms === null ? "It has not run yet." : over ? "Unknown: no steps were told or seen." : "No steps were told or seen yet.");
  }
  return facts([
    [over ? "observed, over its life" : "observed, so far", speed.steps_per_second === null ? null : `${number(speed.steps_per_second, 2)} steps/s`],
    ["observed alone", speed.steps_per_second_alone === null ? null : `${number(speed.steps_per_second_alone, 2)} steps/s`],
    ["predicted", predictedWords(speed)],
  ]);
}

/** What the colours and lines of the chart are. */
export function speedLegend(speed: Speed, all: Map<number, Job>): HTMLElement[] {
  if (speed.points.length === 0) return [];
  const beside = timesBeside(speed), colours = coloursOf(speed);
  return [
    beside.length === 0 ? note("Nobody was seen beside it.") : h("div", { class: "legend" }, h("span", {}, "beside it:"),
      ...beside.slice(0, MOST_NAMED).map(([other, seconds]) => h("span", {}, h("span", { class: `swatch ${colours.get(other) ?? "c0"}` }),
        jobLink(all.get(other) ?? other), ` for ${duration(seconds)}`)),
      beside.length > MOST_NAMED ? h("span", {}, `and ${beside.length - MOST_NAMED} more`) : null),
    note("The line is the mean of each stretch of time, with whatever the job did between its steps.",
      speed.prediction === null ? "" : ` The dashed line is what was predicted${speed.prediction.low === null ? "" : ", in its 95 % bounds"}.`),
  ];
}
