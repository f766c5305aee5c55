// What jobs are searched for: "state:waiting user:ann train.py". Each word has to be found, a word with a known name
// before ':' in that field alone.
import type { GivenGpu, Job, Phase } from "./api_types";
import { nameOf, shellWords } from "./format";

/** What the list keeps of a job: a few hundred bytes, of thousands of jobs. */
export interface JobRow {
  number: number;
  name: string;
  user: string;
  phase: Phase;
  command: string;
  gpus: GivenGpu[];
  gpusAsked: number;
  model: string;  // what trains, where that is known
  array: string | null;  // which array it is of: the same for all of its jobs
  submitted: number;
  began: number | null;
  ended: number | null;
  expected: number | null;
  reason: string;
  exit: number | null;
  words: string;  // all that is searched, in small letters
  models: string;  // what trains and which GPUs, in small letters
}

export type JobTest = (row: JobRow) => boolean;

/** Words for several phases at once; they are those of the tiles on the Now page. */
export const STATES: Record<string, Phase[]> = {
  running: ["starting", "running", "stopping"], waiting: ["waiting", "held"], over: ["finished", "failed", "cancelled"],
};
export const PHASES: Phase[] = ["running", "starting", "stopping", "waiting", "held", "finished", "failed", "cancelled"];
const FIELDS = ["user", "name", "state", "gpu", "model", "array", "why"];

export function rowOf(job: Job): JobRow {
  const command = shellWords(job.command), name = nameOf(job);
  const model = job.needs.workload ?? job.told?.modules ?? "";
  const cards = job.gpus.length > 0 ? [...new Set(job.gpus.map((gpu) => gpu.model))] : job.gpu_models;
  const models = [model, ...cards].join("\n").toLowerCase();
  return {
    number: job.number, name, user: job.user, phase: job.phase, command, gpus: job.gpus, gpusAsked: job.gpus_asked, model,
    array: job.array === null ? null : `${job.user} ${job.array.replace(/_[^_]*$/, "")}`,
    submitted: job.submitted_ms, began: job.resumed_ms ?? job.started_ms, ended: job.ended_ms, expected: job.expected_start_ms,
    reason: job.reason || job.note, exit: job.exit_code, models,
    words: [`#${job.number}`, name, job.user, job.phase, ...job.gpus.map((gpu) => `gpu ${gpu.index}`), models, command].join("\n").toLowerCase(),
  };
}

function phasesOf(value: string): Set<Phase> {
  return new Set(value.split(",").filter((one) => one !== "").flatMap((one) => STATES[one] ?? PHASES.filter((phase) => phase.startsWith(one))));
}

function fieldTest(field: string, value: string, rows: JobRow[]): JobTest {
  switch (field) {
    case "user": {
      // While it is typed its beginning does; "ann" is not "anna" where there is an ann.
      const exact = rows.some((row) => row.user.toLowerCase() === value);
      return (row) => (exact ? row.user.toLowerCase() === value : row.user.toLowerCase().includes(value));
    }
    case "state": {
      const phases = phasesOf(value);
      return (row) => phases.has(row.phase);
    }
    case "gpu": return (row) => row.gpus.some((gpu) => String(gpu.index) === value || gpu.uuid.toLowerCase() === value);
    case "model": return (row) => row.models.includes(value);
    case "array": return (row) => row.array !== null && row.array.toLowerCase().endsWith(` ${value}`);
    case "why": return (row) => row.reason.toLowerCase().includes(value);
    default: return (row) => row.name.toLowerCase().includes(value);
  }
}

export function testOf(query: string, rows: JobRow[]): JobTest {
  const tests: JobTest[] = [];
  for (const [whole, field = "", quoted, plain = ""] of query.toLowerCase().matchAll(/(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))/g)) {
    const value = quoted ?? plain;
    if (FIELDS.includes(field)) {
      tests.push(fieldTest(field, value, rows));
    } else if (/^#\d+$/.test(whole)) {
      tests.push((row) => row.number === Number(whole.slice(1)));
    } else if (!FIELDS.includes(whole.replace(/:$/, ""))) {
      const word = quoted !== undefined && field === "" ? quoted : whole;
      tests.push((row) => row.words.includes(word));
    }
  }
  return (row) => tests.every((test) => test(row));
}

/** The query with this state in the place of any other; "": of all states. */
export function withState(query: string, state: string): string {
  const rest = query.replaceAll(/(^|\s)state:\S*/g, " ").replaceAll(/\s+/g, " ").trim();
  return state === "" ? rest : `state:${state} ${rest}`.trim();
}

/** The state that the query names, where it is one of the words for several phases. */
export function stateIn(query: string): string | null {
  const found = /(?:^|\s)state:(\S*)/.exec(query)?.[1];
  return found === undefined ? "" : found in STATES ? found : null;
}

/** Of jobs that wait for this reason, as it can be written into a query. */
export function whyQuery(reason: string): string {
  return `state:waiting why:"${reason.split('"').sort((a, b) => b.length - a.length)[0] ?? ""}"`;
}
