// What is so now: GPUs, nodes, jobs that are not over and those that ended last. Asked anew after every event, a few
// times a second at most, and now and then for figures that have no events.
import { ApiError, get, onToken } from "./api";
import type { Gpu, Gpus, Job, Jobs, Nodes, Server } from "./api_types";
import { EventStream } from "./events";

export type Node = Nodes["nodes"][number];

export interface Now {
  server: Server;
  gpus: Gpu[];
  nodes: Node[];
  jobs: Job[];  // not over, newest first
  counts: Record<string, number>;
  more: boolean;  // there are more jobs than were asked for
  ended: Job[];
  at: number;
}

const EVENT_PAUSE = 120;
const FIGURES_EVERY = 4000;
const MOST_JOBS = 2000;
/** Above so many GPUs the page shows a heat map, and needs no job of every GPU. */
export const MANY_GPUS = 64;

class Live {
  readonly stream = new EventStream();
  now: Now | null = null;
  problem: ApiError | null = null;
  private readonly changed = new Set<() => void>();
  private due: ReturnType<typeof setTimeout> | null = null;
  private asking = false;
  private askAgain = false;
  private all = true;

  constructor() {
    this.stream.onEvent(() => this.soon());
    onToken(() => this.soon());
    setInterval(() => {
      if (!document.hidden) this.soon(false);
    }, FIGURES_EVERY);
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.soon();
    });
    this.soon();
  }

  onChange(listener: () => void): () => void {
    this.changed.add(listener);
    return () => this.changed.delete(listener);
  }

  /** `all`: also what changes with events alone. */
  soon(all = true): void {
    this.all ||= all;
    this.due ??= setTimeout(() => {
      this.due = null;
      void this.ask();
    }, EVENT_PAUSE);
  }

  private async ask(): Promise<void> {
    if (this.asking) {
      this.askAgain = true;
      return;
    }
    this.asking = true;
    const kept = this.all ? null : this.now;
    this.all = false;
    try {
      const [server, gpus, nodes] = await Promise.all([
        kept?.server ?? get<Server>("/api/v1"), get<Gpus>("/api/v1/gpus"), get<Nodes>("/api/v1/nodes"),
      ]);
      const many = gpus.gpus.length > MANY_GPUS;
      const [live, ended] = await Promise.all([
        get<Jobs>("/api/v1/jobs", { live: 1, limit: many ? 200 : MOST_JOBS }),
        kept ? { jobs: kept.ended } : get<Jobs>("/api/v1/jobs", { phase: "finished,failed,cancelled", limit: 8 }),
      ]);
      this.now = { server, gpus: gpus.gpus, nodes: nodes.nodes, jobs: live.jobs, counts: live.counts,
                   more: live.next !== null, ended: ended.jobs, at: Date.now() };
      this.problem = null;
    } catch (error) {
      this.problem = error instanceof ApiError ? error : new ApiError(0, String(error));
      this.all = true;
    }
    this.asking = false;
    for (const listener of this.changed) listener();
    if (this.askAgain) {
      this.askAgain = false;
      this.soon(false);
    }
  }
}

export const live = new Live();
