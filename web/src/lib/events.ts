// The event stream: read with fetch, as EventSource cannot send a token. Comes back by itself after the last event that
// was heard, so that nothing is missed.
import { ApiError, authorised, onToken } from "./api";
import type { Event as JobEvent } from "./api_types";

export type Connection = "connecting" | "live" | "lost" | "refused";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 5000;
// The server writes a comment every 15 s.
const SILENCE = 40000;

export class EventStream {
  state: Connection = "connecting";
  lostSince: number | null = null;
  private last: string | null = null;
  private wait = FIRST_WAIT;
  private abort: AbortController | null = null;
  private wake: (() => void) | null = null;
  private readonly heard = new Set<(event: JobEvent | null) => void>();
  private readonly changed = new Set<() => void>();

  constructor() {
    onToken(() => this.again());
    window.addEventListener("online", () => this.again());
    void this.run();
  }

  /** `null`: something was missed, look at all of it anew. */
  onEvent(listener: (event: JobEvent | null) => void): () => void {
    this.heard.add(listener);
    return () => this.heard.delete(listener);
  }

  onState(listener: () => void): () => void {
    this.changed.add(listener);
    return () => this.changed.delete(listener);
  }

  private again(): void {
    this.wait = FIRST_WAIT;
    this.abort?.abort();
    this.wake?.();
  }

  private become(state: Connection): void {
    if (state === "live") this.lostSince = null;
    else if (this.lostSince === null) this.lostSince = Date.now();
    if (state === this.state) return;
    this.state = state;
    for (const listener of this.changed) listener();
  }

  private async run(): Promise<void> {
    for (;;) {
      try {
        await this.read();
        this.become("lost");
      } catch (error) {
        this.become(error instanceof ApiError && error.status === 401 ? "refused" : "lost");
      }
      await new Promise<void>((resolve) => {
        this.wake = resolve;
        setTimeout(resolve, this.wait);
      });
      this.wake = null;
      this.wait = Math.min(this.wait * 1.6, LONGEST_WAIT);
    }
  }

  private async read(): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    let timer = setTimeout(() => abort.abort(), SILENCE);
    try {
      const headers = authorised(this.last === null ? {} : { "Last-Event-ID": this.last });
      const response = await fetch("/api/v1/events", { headers, signal: abort.signal, cache: "no-store",
                                                       credentials: "omit" });
      if (!response.ok || !response.body) throw new ApiError(response.status, "no events");
      this.become("live");
      this.wait = FIRST_WAIT;
      for (const listener of this.heard) listener(null);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        clearTimeout(timer);
        timer = setTimeout(() => abort.abort(), SILENCE);
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) this.take(block);
      }
    } finally {
      clearTimeout(timer);
      abort.abort();
    }
  }

  private take(block: string): void {
    let data = "", kind = "";
    for (const line of block.split("\n")) {
      if (line.startsWith("id: ")) this.last = line.slice(4);
      else if (line.startsWith("event: ")) kind = line.slice(7);
      else if (line.startsWith("data: ")) data += line.slice(6);
    }
    if (data === "") return;
    let event: JobEvent | null = null;
    try {
      if (kind !== "gap") event = JSON.parse(data) as JobEvent;
    } catch {
      // Not understood: look at all of it anew.
    }
    for (const listener of this.heard) listener(event);
  }
}
