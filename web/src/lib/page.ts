// A page: shows itself inside an element and stops when it is told to.
export interface Page {
  title: string;
  stop(): void;
}

export type MakePage = (at: HTMLElement, argument: string) => Page;

/** Everything a page has under way, ended together. */
export class Until {
  private readonly ends: (() => void)[] = [];
  readonly abort = new AbortController();

  add(end: () => void): void {
    this.ends.push(end);
  }

  every(milliseconds: number, work: () => void): void {
    const timer = setInterval(() => {
      if (!document.hidden) work();
    }, milliseconds);
    this.add(() => clearInterval(timer));
  }

  get over(): boolean {
    return this.abort.signal.aborted;
  }

  stop(): void {
    this.abort.abort();
    for (const end of this.ends) end();
  }
}
