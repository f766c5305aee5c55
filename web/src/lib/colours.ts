// Colours that people with any colour vision tell apart (Okabe and Ito, tuned for both backgrounds), and never without
// a number or a word beside them. The names are classes of app.css.
export const COLOURS = 8;

/** A class for each of the jobs: its own colour, unless a neighbour has it already. */
export function jobColours(jobs: number[]): Map<number, string> {
  const taken = new Set<number>();
  const result = new Map<number, string>();
  for (const job of jobs) {
    let colour = job % COLOURS;
    for (let i = 0; i < COLOURS && taken.has(colour); ++i) colour = (colour + 1) % COLOURS;
    taken.add(colour);
    result.set(job, `c${colour}`);
  }
  return result;
}

export function cssColour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** 0 to 1, pale to dark: one of the nine classes h0..h8. */
export function heatClass(value: number | null): string {
  if (value === null) return "hx";
  return `h${Math.max(0, Math.min(8, Math.round(value * 8)))}`;
}
