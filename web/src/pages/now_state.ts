// What a GPU is doing, in one word, and where its jobs are listed.
import type { Gpu } from "../lib/api_types";
import { jobsAddress } from "../lib/address";

/** Below this share of the time at work, a GPU that somebody has is wasted. */
const WASTED_BELOW = 0.05;

export type State = "sick" | "drained" | "idle" | "wasted" | "taken" | "working" | "unknown";

export const STATE_WORDS: Record<State, string> = {
  sick: "sick", drained: "drained", idle: "idle", wasted: "wasted: given and idle", taken: "used by others",
  working: "at work", unknown: "in use",
};

export function stateOf(gpu: Gpu): State {
  if (gpu.problem) return "sick";
  if (gpu.drained) return "drained";
  if (gpu.jobs.length === 0) return gpu.strangers.some((one) => one.busy) ? "taken" : "idle";
  if (gpu.busy === null) return "unknown";
  return gpu.busy < WASTED_BELOW ? "wasted" : "working";
}

/** The Jobs page with who is on it; of an idle GPU, with who was. */
export function jobsOn(gpu: Gpu): string {
  return jobsAddress(`${gpu.jobs.length > 0 ? "state:running " : ""}gpu:${gpu.index}`);
}
