// Where the page is: what stands behind '#'. A page that filters writes its filter there without being made anew.
let shown: string | null = null;

/** Has the address changed since it was last asked or written? */
export function moved(): boolean {
  if (location.hash === shown) return false;
  shown = location.hash;
  return true;
}

export function readdress(hash: string): void {
  if (hash === location.hash) return;
  history.replaceState(null, "", hash);
  shown = location.hash;
}

/** "#/jobs?q=…": the Jobs page, searched for this. */
export function jobsAddress(query: string, sort = ""): string {
  const words = new URLSearchParams();
  if (query) words.set("q", query);
  if (sort) words.set("sort", sort);
  const text = words.toString().replaceAll("%3A", ":");
  return text ? `#/jobs?${text}` : "#/jobs";
}
