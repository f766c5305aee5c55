// Jobs as lines of a list: sorted by a column, the jobs of an array in one line until it is opened.
import { clock, count, duration, number, since, until, UNKNOWN } from "../lib/format";
import { PHASES, STATES, type JobRow } from "../lib/job_query";

export interface Line {
  key: string;
  jobs: JobRow[];  // several: an array in one line
  inside: boolean;  // one of an opened array
  open: boolean;
}

export interface Column {
  name: string;
  title: string;
  least: (row: JobRow, now: number) => number | string | null;  // what is sorted by; null stands last
}

export const COLUMNS: Column[] = [
  { name: "number", title: "job", least: (row) => row.number },
  { name: "name", title: "name and command", least: (row) => row.name.toLowerCase() },
  { name: "user", title: "user", least: (row) => row.user },
  { name: "state", title: "state", least: (row) => PHASES.indexOf(row.phase) },
  { name: "gpu", title: "GPU", least: (row) => row.gpus[0]?.index ?? null },
  { name: "model", title: "model", least: (row) => row.model || null },
  { name: "submitted", title: "submitted", least: (row) => row.submitted },
  { name: "time", title: "waits or ran", least: (row, now) => secondsOf(row, now) },
];

/** How long it runs or ran; of one that did not, how long it waits or waited. */
function secondsOf(row: JobRow, now: number): number {
  const waits = row.began === null || STATES["waiting"]?.includes(row.phase);
  return ((row.ended ?? now) - (waits ? row.submitted : row.began ?? row.submitted)) / 1000;
}

export function timeOf(row: JobRow, now: number): string {
  const words = row.ended !== null ? (row.began === null ? "waited" : "ran") : row.began === null || STATES["waiting"]?.includes(row.phase) ? "waits" : "runs";
  return `${words} ${duration(secondsOf(row, now))}`;
}

/** `sort` is a column's name, with "-" before it from the most to the least. */
export function sorted(rows: JobRow[], sort: string, now: number): JobRow[] {
  const falling = sort.startsWith("-");
  const column = COLUMNS.find((one) => one.name === sort.replace(/^-/, ""));
  if (!column || (column.name === "number" && falling)) return rows;  // they come like this
  const keyed = rows.map((row) => ({ row, least: column.least(row, now) }));
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  keyed.sort((a, b) => {
    if (a.least === null || b.least === null) return Number(a.least === null) - Number(b.least === null);
    const order = typeof a.least === "number" && typeof b.least === "number" ? a.least - b.least : compare(String(a.least), String(b.least));
    return (falling ? -order : order) || b.row.number - a.row.number;
  });
  return keyed.map(({ row }) => row);
}

export function lineOf(row: JobRow, inside = false): Line {
  return { key: `job-${row.number}`, jobs: [row], inside, open: false };
}

/** An array stands where the first of its jobs would. `opened`: arrays whose jobs stand below them. */
export function folded(rows: JobRow[], opened: Set<string>): Line[] {
  const arrays = new Map<string, JobRow[]>();
  for (const row of rows) {
    if (row.array === null) continue;
    const found = arrays.get(row.array);
    if (found) found.push(row);
    else arrays.set(row.array, [row]);
  }
  const lines: Line[] = [];
  for (const row of rows) {
    const jobs = row.array === null ? undefined : arrays.get(row.array);
    if (!jobs || jobs.length < 2) {
      lines.push(lineOf(row));
    } else if (jobs[0] === row) {
      const open = opened.has(row.array ?? "");
      lines.push({ key: `array-${row.array}`, jobs, inside: false, open });
      if (open) for (const job of jobs) lines.push(lineOf(job, true));
    }
  }
  return lines;
}

/** "40 running, 55 waiting", most alive first. */
export function phasesOf(jobs: JobRow[]): [string, number][] {
  return PHASES.map((phase): [string, number] => [phase, jobs.filter((job) => job.phase === phase).length]).filter(([, many]) => many > 0);
}

/** What the jobs of an array have in common: the beginning of their names, else the first one's name. */
export function nameOfArray(jobs: JobRow[]): string {
  const first = jobs[0]?.name ?? "";
  let same = first.length;
  for (const { name } of jobs) while (!name.startsWith(first.slice(0, same))) --same;
  const common = first.slice(0, same).replace(/[^\p{L}\p{N})\]]+$/u, "");
  return same === first.length ? first : common.length >= 2 ? `${common}…` : first;
}

export function numbersOf(jobs: JobRow[]): string {
  let least = Infinity, most = 0;
  for (const job of jobs) {
    least = Math.min(least, job.number);
    most = Math.max(most, job.number);
  }
  return jobs.length === 1 ? `#${least}` : `#${least}–${most}`;
}

export function gpusOf(row: JobRow): string {
  if (row.gpus.length === 0) return row.gpusAsked === 0 ? "no GPU" : count(row.gpusAsked, "GPU");
  return `GPU ${row.gpus.map((gpu) => gpu.index).join(", ")}`;
}

/** What one wants to know of it next: when and why not yet, or how it ended. */
export function detailOf(row: JobRow, now: number): string {
  if (row.phase === "waiting") return [row.expected === null ? "" : until(row.expected, now), row.reason].filter((one) => one !== "").join(": ");
  if (row.ended !== null) return [row.exit ? `exit ${row.exit}` : "", `${since(row.ended, now)} ago`, row.reason].filter((one) => one !== "").join(", ");
  return row.reason;
}

/** To the minute: there are many of them. */
export function submittedOf(row: JobRow): string {
  return row.submitted > 0 ? clock(row.submitted).replace(/^\d+-/, "").replace(/:\d\d$/, "") : UNKNOWN;
}

export function manyOf(some: number, all: number): string {
  return some === all ? count(all, "job") : `${number(some, 0)} of ${count(all, "job")}`;
}
