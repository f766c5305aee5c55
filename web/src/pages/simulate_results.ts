// What a simulation came to: the policies side by side, distributions, who gains and who loses.
import type { JobChange, WhatIf, WhatIfRow } from "../lib/api_types";
import { csvButton, type Cell } from "../lib/csv";
import { curvesChart, timeScale } from "../lib/curves";
import { h } from "../lib/dom";
import { count, duration, number, percent, times, UNKNOWN } from "../lib/format";
import { bar, card, note, table } from "../lib/parts";

const MOST_USERS = 50;

/** What happened first, where that is known. */
function rowsOf(answer: WhatIf): WhatIfRow[] {
  return [...(answer.really ? [answer.really] : []), ...answer.policies];
}

function sideBySide(answer: WhatIf): HTMLElement {
  const rows = rowsOf(answer);
  const measured = (row: WhatIfRow, pick: (row: WhatIfRow) => number | null) => {
    const value = pick(row);
    const most = Math.max(1e-9, ...rows.map((one) => pick(one) ?? 0));
    return h("div", {}, duration(value), value === null ? null : bar(value / most, duration(value)));
  };
  const base = answer.policies[0];
  const columns = ["policy", "jobs", "makespan", "completion time, mean", "queueing, mean", "slowdown by neighbours, mean", "GPU busy", "out of memory"];
  return card(`${count(answer.jobs, "job")}, policies side by side`, { id: "results" },
    table("Policies side by side", columns, rows.map((row) => [
      h("b", {}, row.name), number(row.jobs, 0), measured(row, (one) => one.makespan_seconds), measured(row, (one) => one.jct_mean_seconds),
      measured(row, (one) => one.queueing_mean_seconds), times(row.slowdown_mean), percent(row.busy), number(row.ooms, 0)]), [1, 5, 6, 7]),
    base?.jct_mean_seconds ? h("ul", { class: "plain" }, ...rows.filter((row) => row !== base && row.jct_mean_seconds).map((row) =>
      h("li", {}, `${row === answer.really ? "In reality jobs were done" : `Under ${row.name} jobs are done`} ${times((base.jct_mean_seconds ?? 0) / (row.jct_mean_seconds ?? 1))} as fast as under ${base.name}, in the mean.`))) : null,
    ...answer.remarks.map((remark) => note(remark)),
    csvButton("policies", ["policy", "jobs", "makespan_seconds", "jct_mean_seconds", "queueing_mean_seconds", "slowdown_mean", "busy", "ooms"],
      () => rows.map((row): Cell[] => [row.name, row.jobs, row.makespan_seconds, row.jct_mean_seconds, row.queueing_mean_seconds, row.slowdown_mean, row.busy, row.ooms])));
}

function distributions(answer: WhatIf): HTMLElement {
  const rows = rowsOf(answer);
  const of = (pick: (row: WhatIfRow) => number[]) => rows.map((row) => ({ name: row.name, values: pick(row) }));
  const jct = of((row) => row.curves.jct_seconds), waiting = of((row) => row.curves.queueing_seconds), slowdown = of((row) => row.curves.slowdown);
  const charts = [curvesChart("completion-time", "Completion time", jct, timeScale(jct)), curvesChart("waiting", "Waiting", waiting, timeScale(waiting)),
                  curvesChart("slowdown", "Slowdown by neighbours", slowdown, { unit: "times alone", by: 1 }, 1)].filter((chart) => chart !== null);
  return card("How long jobs take", { id: "distributions" },
    note("The share of jobs that take at most so long; further left is better."),
    charts.length > 0 ? h("div", { class: "charts" }, ...charts) : note("Unknown: no job has finished."));
}

/** "−12 %": a smaller time is a gain. */
function change(before: number | null, after: number | null): string {
  if (before === null || after === null || before <= 0) return UNKNOWN;
  const share = (after / before - 1) * 100;
  return `${share > 0 ? "+" : share < 0 ? "−" : ""}${Math.abs(share).toFixed(0)} %`;
}

function changedJobs(title: string, jobs: JobChange[]): HTMLElement | null {
  if (jobs.length === 0) return null;
  return h("div", {}, h("h3", {}, title), table(title, ["job", "user", "before", "after", "change"], jobs.map((job) => [
    job.number === 0 ? job.name : h("a", { href: `#/job/${job.number}`, class: "joblink" }, h("span", { class: "mono dim" }, `#${job.number}`), " ", job.name), job.user || "(not stated)", duration(job.before_seconds), duration(job.after_seconds),
    change(job.before_seconds, job.after_seconds)]), [2, 3, 4]));
}

function gains(answer: WhatIf): HTMLElement | null {
  const first = answer.policies[0];
  if (!first || answer.changes.length === 0) return null;
  const users = answer.users.slice(0, MOST_USERS);
  const columns = ["user", "jobs", "GPU hours alone", "really", first.name, ...answer.changes.flatMap((one) => [one.policy, `against ${first.name}`])];
  return card(`Who gains and who loses against ${first.name}`, { id: "gains" },
    h("ul", { class: "plain" }, ...answer.changes.map((one) => h("li", { "data-policy": one.policy },
      h("b", {}, one.policy), `: ${count(one.jobs_sooner, "job")} sooner, ${number(one.jobs_later, 0)} later, ${number(one.jobs_same, 0)} about the same (within 5 %)`,
      one.jct_mean_change === null ? "" : `; mean completion time ${change(1, 1 + one.jct_mean_change)}`,
      one.jobs_later > 0 && one.worst_job !== null ? `; the job that loses most takes ${times(one.worst_job)}` : "", "."))),
    note("Mean completion time of each user; below 0 % the user gains."),
    table("Users under each policy", columns, users.map((user) => [
      user.user || "(not stated)", number(user.jobs, 0), number(user.gpu_hours, 2), duration(user.really_jct_mean_seconds), duration(user.jct_mean_seconds[0]),
      ...answer.changes.flatMap((_one, i) => [duration(user.jct_mean_seconds[i + 1]), change(user.jct_mean_seconds[0] ?? null, user.jct_mean_seconds[i + 1] ?? null)])]),
      columns.map((_name, i) => i).slice(1)),
    answer.users.length > MOST_USERS ? note(`The first ${MOST_USERS} of ${number(answer.users.length, 0)} users are shown; the CSV has all.`) : null,
    csvButton("users", ["user", "jobs", "gpu_hours", "really", ...answer.policies.map((row) => row.name)], () => answer.users.map((user): Cell[] =>
      [user.user, user.jobs, user.gpu_hours, user.really_jct_mean_seconds, ...user.jct_mean_seconds])),
    ...answer.changes.filter((one) => one.gains.length + one.losses.length > 0).map((one) => h("div", { class: "half changed", "data-changed": one.policy },
      changedJobs(`Gain most under ${one.policy}`, one.gains), changedJobs(`Lose most under ${one.policy}`, one.losses))));
}

export function results(answer: WhatIf): HTMLElement[] {
  return [sideBySide(answer), distributions(answer), gains(answer)].filter((part) => part !== null);
}
