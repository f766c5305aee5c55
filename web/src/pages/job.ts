// One job: its life, where it is and why, what was believed of it beside what was seen, its speed, its samples and its log.
import { ApiError, get, hasToken, onToken, post, wordsOf } from "../lib/api";
import type { Job, Neighbours, Samples, Speed, Why } from "../lib/api_types";
import { Chart, type ChartData } from "../lib/charts";
import { h, show } from "../lib/dom";
import { bytes, clock, duration, guestInWords, nameOf, number, percent, plain, shellWords, slowerThanPredicted, times, toldInWords, until as untilTime, UNKNOWN } from "../lib/format";
import { live } from "../lib/live";
import { Until, type MakePage } from "../lib/page";
import { card, facts, jobLink, note, phasePill, problem, table } from "../lib/parts";
import { confirmed } from "../dialogs/dialog";
import { adviceFor } from "./job_advice";
import { lifeOf } from "./job_life";
import { neighboursCard } from "./job_neighbours";
import { logView } from "./job_log";
import { chartsOf } from "./job_samples";
import { metricCharts, speedChart, speedLegend, speedWords } from "./job_speed";

const SAMPLES_EVERY = 5000;

function isOver(job: Job): boolean {
  return job.phase === "finished" || job.phase === "failed" || job.phase === "cancelled";
}

function actionsOf(job: Job): [string, string][] {
  if (isOver(job)) return [];
  if (job.phase === "held") return [[job.paused ? "resume" : "release", job.paused ? "Resume" : "Release"], ["cancel", "Cancel"]];
  if (job.phase === "waiting") return [["hold", "Hold"], ["cancel", "Cancel"]];
  if (job.phase === "running") return [["pause", "Pause"], ["cancel", "Cancel"]];
  return [["cancel", "Cancel"]];
}

function believedAndSeen(job: Job): HTMLElement {
  const { needs, seen } = job;
  const rows: [string, string, string][] = [
    ["GPU busy", percent(needs.busy), percent(seen?.busy)],
    ["SMs", percent(needs.sm), percent(seen?.sm)],
    ["GPU bandwidth", percent(needs.dram), UNKNOWN],
    ["GPU memory", needs.gpu_memory_upper_bytes === null ? bytes(needs.gpu_memory_bytes) : `${bytes(needs.gpu_memory_bytes)} (at most ${bytes(needs.gpu_memory_upper_bytes)})`, bytes(seen?.gpu_memory_bytes)],
    ["CPU cores", needs.cores_upper === null ? number(needs.cpu_cores) : `${number(needs.cpu_cores)} (at most ${number(needs.cores_upper)})`, number(seen?.cores)],
    ["host memory", bytes(needs.host_memory_bytes), bytes(seen?.host_memory_bytes)],
    ["power", needs.power_watts === null ? UNKNOWN : `${number(needs.power_watts, 0)} W`, seen?.power_watts == null ? UNKNOWN : `${number(seen.power_watts, 0)} W`],
    ["steps a second", number(needs.steps_per_second, 2), number(job.steps_per_second, 2)],
    ["steps a second, alone", needs.pace_source === "observed" ? number(needs.steps_per_second, 2) : UNKNOWN, number(job.steps_per_second_alone, 2)],
    ["time alone", duration(needs.duration_seconds), isOver(job) ? duration(job.alone_time_seconds) : UNKNOWN],
  ];
  return card("Believed and seen", {},
    table("What was believed of the job and what was seen", ["", needs.source, "seen"], rows.map((row) => [...row]), [1, 2]),
    note(needs.from, needs.gpu ? ` (on ${needs.gpu})` : ""));
}

function placeOf(job: Job, all: Map<number, Job>): HTMLElement {
  const others = live.now?.gpus.filter((gpu) => gpu.jobs.includes(job.number)).flatMap((gpu) => gpu.jobs) ?? [];
  const beside = [...new Set(isOver(job) ? job.beside : [...others, ...(others.length > 0 ? [] : job.beside)])].filter((one) => one !== job.number);
  return card("Where it is", {}, facts([
    ["user", `${job.user}, uid ${job.uid}`],
    ...(job.project ? [["project", job.project] as [string, string]] : []),
    ["environment", h("span", { class: "mono words" }, Object.keys(job.environment).sort().join(", ") || "none, or not yours to see")],
    [job.phase === "waiting" || isOver(job) ? "GPUs, last" : "GPUs", job.gpus.length > 0 ? job.gpus.map((gpu) => `${gpu.index} (${gpu.model})`).join(", ") : `asked for ${job.gpus_asked}`],
    ["cores", job.cores > 0 ? number(job.cores) : `asked for ${number(job.cores_asked)}`],
    ["SMs it may use", job.gpus.length > 0 ? percent(job.sm_share) : UNKNOWN],
    ...(guestInWords(job) === null ? [] : [["guest", guestInWords(job) ?? UNKNOWN] as [string, string]]),
    ["neighbours", beside.length > 0 ? h("span", {}, ...beside.flatMap((one, i) => [i > 0 ? ", " : "", jobLink(all.get(one) ?? one)])) : "none"],
    ["what they cost it", job.slowdown === null ? "unknown: how fast it is alone was not seen" : `${times(job.slowdown)} its time alone`],
    ...(job.slower_than_predicted === null ? [] : [["pace", slowerThanPredicted(job) ?? UNKNOWN] as [string, string]]),
    ["steps", job.steps === null ? UNKNOWN : `${number(job.steps, 0)}${job.steps_by === "watcher" ? ", counted by the watcher inside of it" : ""}`],
    ...(toldInWords(job) === null ? [] : [["trains (told by the job itself)", toldInWords(job) ?? UNKNOWN] as [string, string]]),
    ["time limit", job.time_limit_seconds === null ? "none" : duration(job.time_limit_seconds)],
    ["starts", `${job.attempt}${job.ooms > 0 ? `, out of GPU memory ${job.ooms} times` : ""}`],
    ["exit code", job.exit_code === null ? UNKNOWN : String(job.exit_code)],
    ["folder", plain(job.folder) ? h("span", { class: "mono" }, plain(job.folder)) : "its user's home"],
    ["command", h("span", { class: "mono words" }, shellWords(job.command))],
  ]));
}

function whyCard(job: Job, why: Why | null): HTMLElement {
  const title = isOver(job) ? "What became of it" : job.phase === "waiting" || job.phase === "held" ? "Why it waits" : "Why it is there";
  return card(title, { id: "why" },
    why === null ? note("Asking …") : why.why.length === 0 ? note("Unknown: nothing is recorded.") : h("ul", { class: "plain" }, ...why.why.map((words) => h("li", {}, words))),
    job.phase === "waiting" ? note(`Expected start: ${untilTime(job.expected_start_ms)}${job.expected_start_ms ? ` (${clock(job.expected_start_ms)})` : ""}.`) : null);
}

export const jobPage: MakePage = (at, argument) => {
  const id = Number(argument);
  const until = new Until();
  const charts = new Map<string, Chart>(), metrics = new Map<string, Chart>();
  const head = h("div"), body = h("div"), samplesAt = h("div", { class: "charts" }), samplesSaid = h("div"), besideAt = h("div"), speedSaid = h("div"), speedAt = h("div"), speedKey = h("div"), metricsCard = h("div"), metricsAt = h("div", { class: "charts" });
  let job: Job | null = null, why: Why | null = null, neighbours: Neighbours | null = null, speed: Speed | null = null, speedDrawn: Chart | null = null, said = "", asking = false;

  const act = async (action: string) => {
    try {
      job = await post<Job>(`/api/v1/jobs/${id}/${action}`);
      said = "";
      live.soon();
    } catch (error) {
      said = wordsOf(error);
    }
    draw();
  };

  const draw = () => {
    if (!job) return;
    const now = Date.now();
    const shown = job;
    const all = new Map((live.now?.jobs ?? []).map((one) => [one.number, one]));
    const advice = adviceFor(shown);
    show(head,
      h("div", { class: "title" }, h("h1", {}, h("span", { class: "dim" }, `#${shown.number} `), nameOf(shown)), phasePill(shown.phase),
        hasToken() ? h("div", { class: "buttons" }, ...actionsOf(shown).map(([action, words]) => h("button", { type: "button", id: `act-${action}`, onclick: () =>
          (action === "cancel" ? confirmed(`Cancel job ${shown.number}?`, "Cancel it", () => void act(action)) : void act(action)) }, words))) : null),
      said ? problem(said) : null,
      shown.note && !why?.why.includes(shown.note) ? note(shown.note) : null,
      card(null, { "aria-label": "Timeline" }, lifeOf(shown, now)));
    show(body,
      h("div", { class: "half" }, h("div", {}, whyCard(shown, why), advice.length > 0
        ? card("Advice", { id: "advice" }, h("ul", { class: "plain" }, ...advice.map((words) => h("li", {}, words)))) : null,
        placeOf(shown, all)), believedAndSeen(shown)));
    show(speedSaid, speedWords(shown, speed, isOver(shown)));
    show(speedKey, ...(speed === null ? [] : speedLegend(speed, all)));
    show(besideAt, neighboursCard(neighbours, all));
  };

  const ask = async () => {
    if (asking) return;
    asking = true;
    try {
      [job, why] = await Promise.all([
        get<Job>(`/api/v1/jobs/${id}`, {}, until.abort.signal), get<Why>(`/api/v1/jobs/${id}/why`, {}, until.abort.signal)]);
      document.title = `#${id} ${nameOf(job)} · Sharewell`;
      draw();
    } catch (error) {
      if (!until.over && !job) show(head, h("h1", {}, `Job ${argument}`), problem(wordsOf(error)));
    }
    asking = false;
  };

  const put = (data: ChartData, among: Map<string, Chart>, into: HTMLElement, name: string) => {
    const chart = among.get(name);
    if (chart) return chart.update(data);
    const made = new Chart(data, `job-${id}`);
    among.set(name, made);
    into.append(made.element);
    made.make();
  };

  const drawSpeed = () => {
    const data = speed === null ? null : speedChart(speed);
    draw();
    const told = speed === null ? new Map<string, ChartData>() : metricCharts(speed);
    if (told.size > 0 && metrics.size === 0) show(metricsCard, card("Told by the job", { id: "metrics" }, metricsAt));
    told.forEach((metric, name) => put(metric, metrics, metricsAt, name));
    if (data === null) return;
    if (speedDrawn) return speedDrawn.update(data);
    speedDrawn = new Chart(data, `job-${id}`);
    speedAt.append(speedDrawn.element);
    speedDrawn.make();
  };

  let lastSamples = 0, sampling = false;
  const askSamples = async () => {
    // On a busy server one round may take longer than the time to the next.
    if (sampling || !job || (isOver(job) && lastSamples > (job.ended_ms ?? 0) + 8000)) return;
    sampling = true;
    try {
      speed = await get<Speed>(`/api/v1/jobs/${id}/speed`, {}, until.abort.signal);
      if (!until.over) drawSpeed();
    } catch (error) {
      if (!until.over && speed === null) show(speedSaid, problem(wordsOf(error)));
    }
    try {
      const [samples, beside] = await Promise.all([
        get<Samples>(`/api/v1/jobs/${id}/samples`, {}, until.abort.signal),
        get<Neighbours>(`/api/v1/jobs/${id}/neighbours`, {}, until.abort.signal)]);
      neighbours = beside;
      lastSamples = Date.now();
      if (until.over || !job) return;
      const drawn = chartsOf(job, samples);
      for (const data of drawn.charts) put(data, charts, samplesAt, data.title);
      show(samplesSaid,
        drawn.charts.length === 0 ? note("Unknown: the store has no samples of this time yet.") : note(
          "Lines named after the job are its own; the others are of its GPU or machine, with whatever else ran there. ",
          "The dashed line is what was believed, up to its 95 % bound."),
        drawn.missing.length > 0 ? note(`Unknown, as nothing sampled it: ${drawn.missing.join(", ")}.`) : null);
    } catch (error) {
      if (!until.over) show(samplesSaid, error instanceof ApiError && error.status === 501 ? note("Unknown: this server offers no samples.") : problem(wordsOf(error)));
    }
    sampling = false;
  };

  show(head, note("Asking the server …"));
  at.append(head, body, card("Speed over its life", { id: "speed" }, speedSaid, speedAt, speedKey), metricsCard, besideAt, card("Samples", { id: "samples" }, samplesSaid, samplesAt), card("Log", { id: "log-card" }, logView(id, until)));
  until.add(live.stream.onEvent((event) => {
    if (event === null || event.job === id || event.job === 0) void ask();
  }));
  until.add(live.onChange(() => void ask()));
  until.add(onToken(() => void ask()));
  until.every(1000, draw);
  until.every(SAMPLES_EVERY, () => void askSamples());
  const recolour = () => [...charts.values(), ...metrics.values(), ...(speedDrawn ? [speedDrawn] : [])].forEach((chart) => chart.make());
  window.addEventListener("themechange", recolour);
  until.add(() => window.removeEventListener("themechange", recolour));
  until.add(() => {
    charts.forEach((chart) => chart.destroy());
    metrics.forEach((chart) => chart.destroy());
    speedDrawn?.destroy();
  });
  void ask().then(askSamples);
  return { title: `Job ${argument}`, stop: () => until.stop() };
};
