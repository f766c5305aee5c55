// Numbers as people read them. Unknown is a dash, never 0.
import type { Job, Text } from "./api_types";

export const UNKNOWN = "–";
type Maybe = number | null | undefined;

function known(value: Maybe): value is number {
  return value !== null && value !== undefined && Number.isFinite(value);
}

export function number(value: Maybe, digits = 1): string {
  if (!known(value)) return UNKNOWN;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

export function percent(value: Maybe, digits = 0): string {
  return known(value) ? `${(value * 100).toFixed(digits)} %` : UNKNOWN;
}

export function bytes(value: Maybe): string {
  if (!known(value)) return UNKNOWN;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (Math.abs(value) >= 1024 && at + 1 < units.length) {
    value /= 1024;
    ++at;
  }
  return `${value >= 100 || at === 0 ? value.toFixed(0) : value.toFixed(1)} ${units[at]}`;
}

export function times(value: Maybe): string {
  return known(value) ? `${value.toFixed(2)}×` : UNKNOWN;
}

/** "26 % slower than predicted", of a job whose speed alone was never seen; null: it is not, or nobody knows. */
export function slowerThanPredicted(job: Job): string | null {
  return job.slower_than_predicted === null ? null : `${percent(1 - 1 / job.slower_than_predicted)} slower than predicted`;
}

/** What a job that was started as a guest is kept to, and until when; null: it is none. */
export function guestInWords(job: Job): string | null {
  if (job.guest_memory_bytes === null) return null;
  const bounds = `at most ${percent(job.sm_share)} of the SMs and ${bytes(job.guest_memory_bytes)} of GPU memory`;
  return job.needs.source === "assumed"
    ? `${bounds}, after its neighbours, until it has told its step`
    : `it started as a guest, and keeps ${bounds} until its next start`;
}

/** "ResNet, batch 64, SGD, bf16 autocast, compiled", of a job that told of its step; null: it did not. */
export function toldInWords(job: Job): string | null {
  const told = job.told;
  if (told === null) return null;
  const parts = [told.modules, told.batch === null ? null : `batch ${number(told.batch, 0)}`, told.optimizer,
    told.autocast === null ? told.precision : `${told.autocast} autocast`,
    told.workers === null ? null : `${number(told.workers, 0)} loader worker${told.workers === 1 ? "" : "s"}`,
    told.compiled ? "compiled" : null, told.checkpointing ? "gradient checkpointing" : null, told.channels_last ? "channels last" : null,
    told.framework];
  const words = parts.filter((part) => part !== null).join(", ");
  return words === "" ? null : words;
}

export function duration(seconds: Maybe): string {
  if (!known(seconds)) return UNKNOWN;
  const s = Math.max(0, seconds);
  if (s < 1) return "under 1 s";
  if (s < 60) return `${Math.floor(s)} s`;
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  if (s < 3600) return `${Math.floor(s / 60)}m\u00a0${two(s % 60)}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h\u00a0${two((s % 3600) / 60)}m`;
  return `${Math.floor(s / 86400)}d\u00a0${two((s % 86400) / 3600)}h`;
}

export function since(from: Maybe, to = Date.now()): string {
  return known(from) ? duration((to - from) / 1000) : UNKNOWN;
}

export function clock(time: Maybe): string {
  if (!known(time)) return UNKNOWN;
  const date = new Date(time);
  const today = new Date().toDateString() === date.toDateString();
  const hour = date.toLocaleTimeString("en-GB");
  return today ? hour : `${date.toLocaleDateString("en-CA")} ${hour}`;
}

/** "in about 12m", for a time to come; it may be over by now. */
export function until(time: Maybe, now = Date.now()): string {
  if (!known(time)) return "unknown";
  return time <= now ? "any moment" : `in about ${duration((time - now) / 1000)}`;
}

export function plain(text: Text): string {
  return typeof text === "string" ? text : `(bytes ${text.bytes})`;
}

/** What people call it: its name, or the first words of its command. */
export function nameOf(job: Job): string {
  if (job.name) return job.name;
  return job.command.slice(0, 2).map(plain).map((word) => word.split("/").pop() ?? word).join(" ") || "(no name)";
}

/** As a shell would take it. */
export function shellWords(command: Text[]): string {
  return command.map(plain).map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}

export function count(many: number, one: string, more = `${one}s`): string {
  return `${number(many, 0)} ${many === 1 ? one : more}`;
}
