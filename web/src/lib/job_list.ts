// All jobs that the server tells of, newest first, as far back as somebody wanted: asked page by page once, and afterwards
// only what events say has changed. While the Jobs page is left, what changes is noted, and asked when it is opened again.
import { get, wordsOf } from "./api";
import type { Job, Jobs } from "./api_types";
import { rowOf, type JobRow } from "./job_query";
import { live } from "./live";

const A_PAGE = 1000;
const AT_FIRST = 5000;
const EVENT_PAUSE = 150;
// Above so many changed jobs it is less work to ask for all.
const MOST_SINGLE = 40;
const ALL_EVERY = 60_000;

class JobList {
  problem = "";
  /** There are older ones. */
  more = false;
  loading = false;
  private readonly known = new Map<number, JobRow>();
  private sorted: JobRow[] | null = null;
  private wanted = AT_FIRST;
  private readonly changed = new Set<number>();
  private listener: (() => void) | null = null;
  private hears = false;
  private missed = true;  // something may have changed that no event told of
  private due: ReturnType<typeof setTimeout> | null = null;

  /** Newest first. */
  get rows(): JobRow[] {
    this.sorted ??= [...this.known.values()].sort((a, b) => b.number - a.number);
    return this.sorted;
  }

  /** Until the returned function is called, what is known is kept as it is at the server. */
  watch(listener: () => void): () => void {
    this.listener = listener;
    this.hear();
    // Reasons and expected starts change without events.
    const end = live.onChange(() => this.take(live.now?.jobs ?? []));
    const timer = setInterval(() => {
      if (!document.hidden && live.now?.more) void this.all();
    }, ALL_EVERY);
    if (live.stream.state !== "connecting") this.soon();
    return () => {
      this.listener = null;
      end();
      clearInterval(timer);
    };
  }

  private hear(): void {
    if (this.hears) return;
    this.hears = true;
    live.stream.onEvent((event) => {
      if (event === null) this.missed = true;
      else if (event.job !== 0) this.changed.add(event.job);
      if (this.listener) this.soon();
    });
    // Events first, jobs then: nothing falls between.
    live.stream.onState(() => this.soon());
  }

  older(): void {
    this.wanted += AT_FIRST;
    void this.all();
  }

  private take(jobs: Job[]): void {
    if (jobs.length === 0) return;
    for (const job of jobs) this.known.set(job.number, rowOf(job));
    this.sorted = null;
    this.listener?.();
  }

  private async all(): Promise<void> {
    if (this.loading) return;
    this.loading = true;
    this.missed = false;
    this.changed.clear();
    try {
      let below: number | undefined, read = 0;
      do {
        const page: Jobs = await get<Jobs>("/api/v1/jobs", { limit: A_PAGE, below });
        read += page.jobs.length;
        below = page.jobs.length > 0 ? page.next ?? undefined : undefined;
        this.more = page.next !== null;
        this.take(page.jobs);
      } while (below !== undefined && read < this.wanted && this.listener !== null);
      this.missed ||= below !== undefined && read < this.wanted;
      this.problem = "";
    } catch (error) {
      this.missed = true;
      this.problem = wordsOf(error);
    }
    this.loading = false;
    this.listener?.();
    if (this.changed.size > 0 || (this.missed && this.problem === "")) this.soon();
  }

  private soon(): void {
    this.due ??= setTimeout(() => {
      this.due = null;
      void this.ask();
    }, EVENT_PAUSE);
  }

  private async ask(): Promise<void> {
    if (this.loading || this.listener === null) return;  // what is under way asks afterwards
    if (this.missed || this.changed.size > MOST_SINGLE) return this.all();
    const numbers = [...this.changed];
    this.changed.clear();
    const jobs = await Promise.all(numbers.map((number) => get<Job>(`/api/v1/jobs/${number}`).catch(() => null)));
    this.take(jobs.filter((job) => job !== null));
  }
}

export const jobList = new JobList();
