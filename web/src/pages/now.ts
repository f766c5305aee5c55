// Now: every GPU and who is on it, the machine under them, and the queue with its reasons.
import type { Gpu, Job } from "../lib/api_types";
import { jobsAddress } from "../lib/address";
import { jobColours } from "../lib/colours";
import { h, show, wide } from "../lib/dom";
import { bytes, clock, count, guestInWords, number, percent, since, slowerThanPredicted, times, until, UNKNOWN } from "../lib/format";
import { whyQuery } from "../lib/job_query";
import { live, MANY_GPUS, type Now } from "../lib/live";
import { Until, type MakePage } from "../lib/page";
import { bar, card, jobLink, note, phasePill, problem, table } from "../lib/parts";
import { GpuHeatMap } from "./now_heat";
import { jobsOn, STATE_WORDS, stateOf, type State } from "./now_state";

const MOST_REASONS = 12;

interface Part {
  job: number;
  colour: string;
  share: number | null;
  words: string;
}

function stacked(title: string, parts: Part[]): HTMLElement {
  const unknown = parts.filter((part) => part.share === null);
  const sum = parts.reduce((all, part) => all + (part.share ?? 0), 0);
  const scale = Math.max(1, sum);
  const told = parts.map((part) => `job ${part.job}: ${part.words}`).join(", ");
  const total = unknown.length === parts.length ? UNKNOWN : percent(sum);
  return h("div", { class: "stack" },
    h("span", { class: "stack-name" }, title),
    h("div", { class: "stack-bar", role: "img", "aria-label": `${title}: ${told || "nobody"}`, title: told },
      ...parts.filter((part) => part.share !== null).map((part) =>
        wide(h("span", { class: `seg ${part.colour}` }), (part.share ?? 0) / scale)),
      unknown.length > 0 ? h("span", { class: "seg unknown" }) : null),
    h("span", { class: `stack-sum${sum > 1 ? " over" : ""}` }, total));
}

/** What it was seen to hold, else what is believed. */
function memoryOf(job: Job): number | null {
  return job.seen?.gpu_memory_bytes ?? job.needs.gpu_memory_bytes;
}

function resident(job: Job, colour: string): HTMLElement {
  const speed = job.slowdown === null || job.slowdown <= 0 ? null : 1 / job.slowdown;
  return h("li", { "data-key": job.number },
    h("span", { class: `swatch ${colour}`, "aria-hidden": "true" }),
    h("span", { class: "who" }, jobLink(job), job.guest_memory_bytes === null ? null : h("span", { class: "tag", title: guestInWords(job) ?? "" }, "guest")),
    h("span", { class: "speed", title: "its speed over its speed alone on this GPU, where that was seen" },
      speed !== null ? `${percent(speed)} of alone` : h("span", { class: "dim" }, slowerThanPredicted(job) ?? h("span", {}, "speed ", UNKNOWN))),
    h("span", { class: "dim small of" }, `${job.user} · ${number(job.cores)} cores · ${since(job.resumed_ms ?? job.started_ms, live.now?.at)}`));
}

function gpuCard(gpu: Gpu, jobs: Map<number, Job>): HTMLElement {
  const state = stateOf(gpu);
  const colours = jobColours(gpu.jobs);
  const residents = gpu.jobs.map((one) => jobs.get(one)).filter((job): job is Job => job !== undefined);
  const part = (job: Job, share: number | null | undefined, words: string): Part =>
    ({ job: job.number, colour: colours.get(job.number) ?? "c0", share: share ?? null, words });
  const figures = [
    ["busy", percent(gpu.busy)],
    ["memory", `${bytes(gpu.memory_used_bytes)} of ${bytes(gpu.memory_bytes)}`],
    ["power", gpu.power_watts === null ? UNKNOWN : `${number(gpu.power_watts, 0)} W`],
  ];
  return h("article", { class: `card gpu s-${state}`, "data-key": gpu.uuid, "data-gpu": gpu.index },
    h("header", {}, h("h3", {}, h("a", { href: jobsOn(gpu) }, `GPU ${gpu.index}`), h("span", { class: "dim" }, ` ${gpu.model}`),
      gpu.simulated ? h("span", { class: "tag" }, "simulated") : null),
      h("span", { class: `state s-${state}` }, STATE_WORDS[state])),
    gpu.problem ? h("p", { class: "problem" }, gpu.problem) : null,
    residents.length > 0
      ? h("ul", { class: "residents" }, ...residents.map((job) => resident(job, colours.get(job.number) ?? "c0")))
      : h("p", { class: "nobody" }, gpu.jobs.length > 0 ? gpu.jobs.map((one) => `#${one}`).join(", ") : "Nobody is on it."),
    gpu.strangers.length > 0
      ? note(...gpu.strangers.map((one) => `process ${one.pid} of ${one.user}, no job, holds ${bytes(one.memory_bytes)}. `)) : null,
    residents.length > 0 ? h("div", { class: "stacks" }, h("span", { class: "dim small" }, "what they need of this GPU"),
      stacked("SM", residents.map((job) => part(job, job.needs.sm, `needs ${percent(job.needs.sm)} of the SMs (${job.needs.source}), may use ${percent(job.sm_share)}`))),
      stacked("memory", residents.map((job) => {
        const held = memoryOf(job);
        return part(job, held === null ? null : held / gpu.memory_bytes, bytes(held));
      })),
      stacked("bandwidth", residents.map((job) => part(job, job.needs.dram, percent(job.needs.dram))))) : null,
    h("footer", {}, ...figures.map(([name, value]) =>
      h("span", {}, h("span", { class: "dim" }, `${name} `), h("span", { "data-figure": name ?? "" }, value ?? UNKNOWN)))));
}

function tile(value: string, words: string, id: string, kind = "", jobs = ""): HTMLElement {
  const parts = [h("b", {}, value), h("span", {}, words)];
  return jobs ? h("a", { class: `tile ${kind}`, "data-tile": id, href: jobsAddress(jobs) }, ...parts) : h("div", { class: `tile ${kind}`, "data-tile": id }, ...parts);
}

function summary(now: Now): HTMLElement {
  const states = now.gpus.map(stateOf);
  const many = (state: State) => states.filter((one) => one === state).length;
  const used = now.gpus.filter((gpu) => gpu.jobs.length > 0).length;
  const shared = now.gpus.filter((gpu) => gpu.jobs.length > 1).length;
  const waiting = (now.counts["waiting"] ?? 0) + (now.counts["held"] ?? 0);
  return h("div", { class: "tiles" },
    tile(`${used} of ${now.gpus.length}`, "GPUs in use", "gpus"),
    tile(number(shared, 0), "shared by several jobs", "shared"),
    tile(number((now.counts["running"] ?? 0) + (now.counts["starting"] ?? 0) + (now.counts["stopping"] ?? 0), 0), "jobs running", "running", "", "state:running"),
    tile(number(waiting, 0), now.counts["held"] ? `waiting, ${now.counts["held"]} of them held` : "waiting", "waiting", "", "state:waiting"),
    tile(number(many("wasted"), 0), "wasted", "wasted", many("wasted") > 0 ? "warn" : ""),
    tile(number(many("sick"), 0), "sick", "sick", many("sick") > 0 ? "bad" : ""));
}

function nodesCard(now: Now): HTMLElement {
  const running = now.jobs.filter((job) => job.phase === "running" || job.phase === "starting" || job.phase === "stopping");
  // Of thousands of jobs the page has the newest alone, and their sum would not be the machine's.
  const reserved = now.more ? null : running.reduce((all, job) => all + (job.memory_asked_bytes ?? 0), 0);
  const seen = now.more ? [] : running.filter((job) => job.seen?.host_memory_bytes != null);
  const held = seen.reduce((all, job) => all + (job.seen?.host_memory_bytes ?? 0), 0);
  return card("Machine", { class: "node" }, ...now.nodes.map((node) => h("div", { class: "node-rows", "data-key": node.name },
    h("div", {}, h("span", { class: "dim" }, node.simulated_cores ? "simulated cores " : "cores "),
      h("b", { "data-figure": "cores" }, `${number(node.cores_given)} of ${number(node.cores)}`), " given",
      bar(node.cores > 0 ? node.cores_given / node.cores : 0, `${number(node.cores_given)} of ${number(node.cores)} cores are given`)),
    h("div", {}, h("span", { class: "dim" }, "host memory "),
      h("b", { "data-figure": "host-memory" }, `${bytes(reserved)} of ${bytes(node.memory_bytes)}`), " reserved",
      seen.length > 0 ? h("span", { class: "dim" }, `, ${bytes(held)} seen in use`) : null,
      bar(node.memory_bytes ? (reserved ?? 0) / node.memory_bytes : 0, `${bytes(reserved)} of host memory reserved`)),
    h("div", {}, h("span", { class: "dim" }, "CPU busy "), h("b", { "data-figure": "cpu" }, percent(node.machine?.cpu_busy)),
      h("span", { class: "dim" }, " · memory in use "), h("b", { "data-figure": "memory-used" }, `${bytes(node.machine?.memory_used_bytes)} of ${bytes(node.machine?.memory_bytes)}`)),
    node.store_up ? null : problem(node.store_problem))));
}

/** Jobs that wait for the same reason are one row: the first of them, and how many more. */
function queue(now: Now): HTMLElement {
  const waiting = now.jobs.filter((job) => job.phase === "waiting" || job.phase === "held").reverse();
  if (waiting.length === 0) return card("Queue", { id: "queue" }, note("Nothing waits."));
  const groups = new Map<string, Job[]>();
  for (const job of waiting) {
    const reason = `${job.phase} ${job.reason || job.note}`;
    groups.set(reason, [...(groups.get(reason) ?? []), job]);
  }
  const all = (now.counts["waiting"] ?? 0) + (now.counts["held"] ?? 0);
  return card("Queue", { id: "queue" },
    table("Waiting jobs", ["job", "user", "waits", "expected start", "why it waits"], [...groups.values()].slice(0, MOST_REASONS).map((jobs) => {
      const job = jobs[0] as Job, reason = job.reason || job.note, users = new Set(jobs.map((one) => one.user)).size;
      return [
        jobs.length === 1 ? jobLink(job) : h("span", { class: "several" }, jobLink(job), h("a", { href: jobsAddress(whyQuery(reason)), class: "more" }, `and ${number(jobs.length - 1, 0)} more`)),
        users === 1 ? job.user : count(users, "user"), since(job.submitted_ms, now.at),
        job.phase === "held" ? phasePill("held") : h("span", { title: clock(job.expected_start_ms) }, until(job.expected_start_ms, now.at)),
        h("span", { class: "reason" }, reason)];
    })),
    groups.size > MOST_REASONS || now.more ? note(`${now.more ? "Of the newest jobs, those that wait" : `The first ${MOST_REASONS} of ${groups.size} reasons`}. `,
      h("a", { href: jobsAddress("state:waiting") }, `All ${count(all, "job")} that wait`)) : null);
}

function others(now: Now): HTMLElement | null {
  const onGpus = new Set(now.gpus.flatMap((gpu) => gpu.jobs));
  const alone = now.jobs.filter((job) => ["starting", "running", "stopping"].includes(job.phase) && !onGpus.has(job.number));
  if (alone.length === 0) return null;
  return card("Running without a GPU", {}, table("Jobs without a GPU", ["job", "user", "cores", "runs"], alone.slice(0, 50).map((job) =>
    [jobLink(job), job.user, number(job.cores), since(job.started_ms, now.at)]), [2]));
}

function endedLast(now: Now): HTMLElement {
  if (now.ended.length === 0) return card("Ended last", {}, note("No job has ended yet."));
  return card("Ended last", {}, table("Jobs that ended last", ["job", "user", "end", "ran", "slowdown"], now.ended.map((job) => [
    jobLink(job), job.user, h("span", {}, phasePill(job.phase), job.exit_code ? h("span", { class: "dim" }, ` exit ${job.exit_code}`) : null),
    since(job.started_ms, job.ended_ms ?? now.at), times(job.slowdown)]), [4]));
}

export const nowPage: MakePage = (at) => {
  const until = new Until();
  let heat: GpuHeatMap | null = null;
  const draw = () => {
    const now = live.now;
    if (!now) {
      show(at, h("h1", {}, "Now"), live.problem ? problem(live.problem.message) : note("Asking the server …"));
      return;
    }
    const jobs = new Map(now.jobs.map((job) => [job.number, job]));
    if (now.gpus.length > MANY_GPUS) heat ??= new GpuHeatMap();
    else heat = null;
    heat?.update(now);
    show(at,
      h("h1", { class: "visually-hidden" }, "Now"),
      live.problem ? problem(`${live.problem.message}: this is how it was at ${clock(now.at)}.`) : null,
      summary(now),
      now.gpus.length === 0 ? note("This server has no GPUs: it runs CPU-only jobs.") : null,
      heat ? heat.element : h("div", { class: "gpus" }, ...now.gpus.map((gpu) => gpuCard(gpu, jobs))),
      h("div", { class: "two" }, queue(now), h("div", {}, nodesCard(now), others(now), endedLast(now))),
      now.jobs.length === 0 && now.ended.length === 0
        ? card("The first job", {}, note("Submit one here, or in a terminal:"), h("pre", {}, `sharewell submit --name hello -- python3 train.py`)) : null);
  };
  until.add(live.onChange(draw));
  until.every(1000, draw);
  draw();
  return { title: "Now", stop: () => until.stop() };
};
