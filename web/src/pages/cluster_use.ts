// What GET /usage tells, as cards: what sharing saved, and who used, wasted and waited how much.
import type { SavingsSide, Usage } from "../lib/api_types";
import { csvButton, type Cell } from "../lib/csv";
import { h } from "../lib/dom";
import { count, duration, number, percent, UNKNOWN } from "../lib/format";
import { bar, card, note, table } from "../lib/parts";

const MOST_USERS = 30;

export function hours(value: number | null): string {
  const size = Math.abs(value ?? 0);
  return number(value, size < 1 ? 3 : size < 10 ? 2 : 1);
}

function energy(value: number | null): string {
  return value === null ? "unknown" : `${number(value, 2)} kWh`;
}

/** What is saved may be below 0: then sharing cost it. */
function signed(value: number | null): string {
  return value !== null && value < 0 ? `−${duration(-value)}` : value === 0 ? "0 s" : duration(value);
}

export function savingsCard(usage: Usage): HTMLElement {
  const { savings } = usage;
  if (savings.jobs === 0) return card("What sharing saved", { id: "savings" }, note("No job held a GPU in this time."));
  const { really, exclusive, saved } = savings;
  const row = (name: string, text: (side: SavingsSide) => string) => [name, text(really), text(exclusive), h("b", {}, text(saved))];
  const share = exclusive.gpu_hours > 0 ? saved.gpu_hours / exclusive.gpu_hours : null;
  return card("What sharing saved", { id: "savings" },
    h("p", {}, h("b", { class: "saved" }, `${hours(saved.gpu_hours)} GPU hours`), ` of the ${hours(exclusive.gpu_hours)} that exclusive slots would have held (${percent(share)}); energy: `,
      h("b", {}, energy(saved.energy_kwh)), ". ", `${count(savings.jobs, "job")} held GPUs, and ${number(savings.shared, 0)} of them shared one.`),
    table("What sharing saved", ["", "really", "exclusive slots", "saved"], [
      row("GPU hours held", (side) => hours(side.gpu_hours)), row("energy of held GPUs", (side) => energy(side.energy_kwh)),
      row("makespan", (side) => signed(side.makespan_seconds)), row("completion time, mean", (side) => signed(side.jct_mean_seconds)),
      row("waiting, mean", (side) => signed(side.wait_mean_seconds))], [1, 2, 3]),
    note(savings.how), ...savings.remarks.map((remark) => note(remark)),
    csvButton("savings", ["", "really", "exclusive", "saved"], () => (Object.keys(really) as (keyof SavingsSide)[]).map((name): Cell[] =>
      [name, really[name], exclusive[name], saved[name]])));
}

export function usersCard(usage: Usage): HTMLElement {
  const { users, all } = usage;
  if (users.length === 0) return card("By user", { id: "users" }, note("No job in this time."));
  const columns = ["user", "jobs", "GPU hours", "share", "given and idle", "failed or cancelled", "waited, mean", "waited, median", "speed against alone"];
  return card("By user", { id: "users" },
    table("Use, waste and waiting by user", columns, users.slice(0, MOST_USERS).map((row) => {
      const share = all.gpu_hours > 0 ? row.gpu_hours / all.gpu_hours : null;
      return [row.user ?? "", number(row.jobs, 0), hours(row.gpu_hours), h("div", { class: "share" }, percent(share), bar(share ?? 0, percent(share))),
        row.idle_gpu_hours === null ? "unknown" : `${hours(row.idle_gpu_hours)} of ${hours(row.known_gpu_hours)}`, hours(row.failed_gpu_hours),
        duration(row.wait_mean_seconds), duration(row.wait_median_seconds), percent(row.speed_mean)];
    }), [1, 2, 4, 5, 6, 7, 8]),
    users.length > MOST_USERS ? note(`The first ${MOST_USERS} of ${number(users.length, 0)} users are shown; the CSV has all.`) : null,
    h("p", {}, "Fairness of users (Jain's index, 1 is even): ", h("b", { id: "jain" }, usage.fairness_jain === null ? UNKNOWN : number(usage.fairness_jain, 3)),
      usage.fairness_jain === null ? " (it takes two users with finished jobs)." : "."),
    note("GPU hours are a job's run time times its GPUs: two jobs that share a GPU for an hour have two. Given and idle is what a job was seen to leave idle while it had its GPU alone, of the hours of which that is known. Speed is the time that a finished job would have taken alone over the time from its submission to its end."),
    usage.cut ? note("There are more jobs or users than are counted here: the oldest jobs are missing.") : null,
    csvButton("users", ["user", "jobs", "failed", "gpu_hours", "known_gpu_hours", "idle_gpu_hours", "failed_gpu_hours", "wait_mean_seconds", "wait_median_seconds", "speed_mean"],
      () => users.map((row): Cell[] => [row.user ?? "", row.jobs, row.failed, row.gpu_hours, row.known_gpu_hours, row.idle_gpu_hours, row.failed_gpu_hours,
                                        row.wait_mean_seconds, row.wait_median_seconds, row.speed_mean])));
}

/** The GPUs' time that was held, shared and busy, in all of the time. */
export function useTiles(usage: Usage): HTMLElement {
  const tile = (id: string, value: string, words: string) => h("div", { class: "tile", id }, h("b", {}, value), h("span", {}, words));
  return h("div", { class: "tiles" },
    tile("tile-held", percent(usage.held), "of GPU time held"), tile("tile-shared", percent(usage.shared), "shared by several"),
    tile("tile-busy", percent(usage.busy), "busy, where sampled"), tile("tile-idle", usage.all.idle_gpu_hours === null ? UNKNOWN : `${hours(usage.all.idle_gpu_hours)} h`, "GPU hours given and idle"),
    tile("tile-failed", `${hours(usage.all.failed_gpu_hours)} h`, "GPU hours of failed or cancelled jobs"), tile("tile-saved", usage.savings.jobs === 0 ? UNKNOWN : `${hours(usage.savings.saved.gpu_hours)} h`, "GPU hours saved by sharing"));
}
