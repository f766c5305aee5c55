// How well the predictor did, training by training.
import type { Predictor } from "../lib/api_types";
import type { ChartData, Line } from "../lib/charts";

/** Errors on runs that were held out, of what was in use after each training, and of the shipped predictor. */
export function healthCharts(predictor: Predictor): ChartData[] {
  const rounds = predictor.history.filter((one) => one.figures !== undefined && one.figures.length > 0).sort((a, b) => a.time_ms - b.time_ms);
  const first = rounds[0], last = rounds.at(-1);
  if (!first || !last) return [];
  const edge = Math.max((last.time_ms - first.time_ms) * 0.04, 60_000);
  const names = [...new Set(rounds.flatMap((one) => (one.figures ?? []).map((figure) => figure.figure)))];
  return names.flatMap((name) => {
    const used: Line = { name: "in use afterwards", points: [] };
    const shipped: Line = { name: "shipped", points: [] };
    for (const round of rounds) {
      const figure = round.figures?.find((one) => one.figure === name);
      if (!figure) continue;
      const now = round.outcome !== "taken" ? figure.in_use_error
        : figure.verdict === "taken" ? figure.retrained_error : figure.verdict === "reverted" ? figure.shipped_error : figure.in_use_error;
      const times = (value: number | null) => (value === null ? null : value * 100);
      used.points.push([round.time_ms, times(now)]);
      shipped.points.push([round.time_ms, times(figure.shipped_error)]);
    }
    if (![...used.points, ...shipped.points].some(([, value]) => value !== null)) return [];
    return [{ title: `Error of ${name}`, unit: "%", lines: [used, shipped], band: null, from: first.time_ms - edge, to: last.time_ms + edge }];
  });
}
