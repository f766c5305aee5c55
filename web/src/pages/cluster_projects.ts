// The projects of the server: what each may have of the GPUs, and what it has now (GET /projects).
import type { Projects } from "../lib/api_types";
import { csvButton, type Cell } from "../lib/csv";
import { number, percent } from "../lib/format";
import { card, note, table } from "../lib/parts";

/** Null: there are none. */
export function projectsCard({ projects, reclaim }: Projects): HTMLElement | null {
  if (projects.length === 0) return null;
  return card("Projects", { id: "projects" },
    table("Projects", ["project", "share", "GPUs of it", "GPUs in use now", "jobs that run", "waiting"], projects.map((one) =>
      [one.name, percent(one.share), number(one.gpus_of_share, 1), number(one.gpus_in_use, 1), number(one.running, 0), number(one.waiting, 0)]), [1, 2, 3, 4, 5]),
    note("Who is below its share goes first; what is not used is lent to the others" + (reclaim ? ", and taken back: jobs that ran for 10 minutes or more are stopped for it" : "") + ". Of a GPU that several jobs share, each has an equal part."),
    csvButton("projects", ["project", "share", "gpus_of_share", "gpus_in_use", "running", "waiting"], () => projects.map((one): Cell[] =>
      [one.name, one.share, one.gpus_of_share, one.gpus_in_use, one.running, one.waiting])));
}
