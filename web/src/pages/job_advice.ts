// What its own figures say about a job. Each sentence rests on numbers that stand on the same page.
import type { Job } from "../lib/api_types";
import { bytes, duration, number, percent, slowerThanPredicted } from "../lib/format";

const ENOUGH = 0.95;

export function adviceFor(job: Job): string[] {
  const words: string[] = [];
  const { needs, seen } = job;
  if (needs.source === "assumed") {
    words.push("Nothing was known of it, so it was given a GPU of its own. Name its model file (sharewell submit --model) or a profile (--profile), and it can share from its first run on; from its second run on, what was measured is used.");
  }
  const enough = needs.cpu_curve?.filter(([, share]) => (share ?? 0) >= ENOUGH).map(([cores]) => cores ?? 0).sort((a, b) => a - b)[0];
  if (enough !== undefined && enough < job.cores) {
    words.push(`${number(enough)} cores would do: with them it has ${percent(ENOUGH)} of its speed, and it has ${number(job.cores)}.`);
  } else if (seen?.cores != null && job.cores_asked !== null && seen.cores * 1.5 < job.cores_asked) {
    words.push(`It asked for ${number(job.cores_asked)} cores and was seen to use ${number(seen.cores)}.`);
  }
  if (seen?.busy != null && seen.cores != null && seen.busy < 0.6 && job.cores > 0 && seen.cores > 0.85 * job.cores) {
    words.push(`It is bound by its loader: its ${number(job.cores)} cores are all at work, and its GPU is busy for ${percent(seen.busy)} of the time. More cores or more loader workers may help.`);
  } else if (seen?.busy != null && seen.busy < 0.5) {
    words.push(`Its GPU is busy for ${percent(seen.busy)} of the time: there is room for a neighbour, or for a larger batch.`);
  }
  if (seen?.gpu_memory_bytes != null && job.gpu_memory_asked_bytes !== null && seen.gpu_memory_bytes * 1.5 < job.gpu_memory_asked_bytes) {
    words.push(`It asked for ${bytes(job.gpu_memory_asked_bytes)} of GPU memory and was seen to hold ${bytes(seen.gpu_memory_bytes)}.`);
  }
  if (job.ooms > 0) words.push("It ran out of GPU memory beside others, and runs alone since.");
  if (job.time_limit_seconds === null && job.phase === "running") {
    words.push("It has no time limit. With one (--time), the server can tell others when their turn should come.");
  }
  if (job.slowdown !== null && job.slowdown > 1.02) {
    const lost = job.alone_time_seconds === null ? 0 : job.run_time_seconds - job.alone_time_seconds;
    words.push(`Neighbours made it ${percent(1 - 1 / job.slowdown)} slower than alone${lost > 1 ? `: ${duration(lost)} so far` : ""}.`);
  }
  const slower = slowerThanPredicted(job);
  if (slower !== null) words.push(`It is ${slower}. Whether that is the prediction's error or its neighbours' doing is not known: it was not seen alone.`);
  return words;
}
