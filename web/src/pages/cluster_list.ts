// Who had which GPU when, as lists: what the Cluster page shows where there is no room for the picture.
import { jobsAddress } from "../lib/address";
import type { Gpu, Job } from "../lib/api_types";
import { h } from "../lib/dom";
import { clock, duration, number } from "../lib/format";
import { jobLink, note } from "../lib/parts";
import { beganAt, MOST_ROWS, ranOn } from "./cluster_gantt";

const MOST_JOBS = 4;  // of each GPU

/** Of each GPU the jobs that ended last or run, newest first. */
export function ganttList(gpus: Gpu[], jobs: Job[], from: number, to: number): HTMLElement {
  return h("div", { class: "gantt-list" }, ...gpus.slice(0, MOST_ROWS).map((gpu) => {
    const there = jobs.filter((job) => ranOn(job, gpu.uuid) && (beganAt(job) ?? to) < to && (job.ended_ms ?? to) > from)
      .sort((a, b) => (b.ended_ms ?? Infinity) - (a.ended_ms ?? Infinity) || b.number - a.number);
    return h("section", { "data-key": gpu.uuid },
      h("h3", {}, `GPU ${gpu.index}`, h("span", { class: "dim" }, ` ${gpu.model}`)),
      there.length === 0 ? note("Nobody had it in this time.") : h("ul", {}, ...there.slice(0, MOST_JOBS).map((job) => {
        const began = Math.max(from, beganAt(job) ?? from), end = job.ended_ms;
        return h("li", { "data-key": job.number }, jobLink(job), h("span", { class: "dim" },
          `${job.user} · ${clock(beganAt(job))} ${end === null ? "until now" : `to ${clock(end)}`}, ${duration((Math.min(to, end ?? to) - began) / 1000)}`));
      })),
      there.length > MOST_JOBS ? h("a", { href: jobsAddress(`gpu:${gpu.index}`), class: "more" }, `and ${number(there.length - MOST_JOBS, 0)} more`) : null);
  }));
}
