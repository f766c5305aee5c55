// Jobs: all of them, searched while one types. What is searched for and sorted by stands in the address. Of thousands
// of lines only those in sight are made.
import { jobsAddress, readdress } from "../lib/address";
import { announce, h, show } from "../lib/dom";
import { forFingers, onPhone, onTurn } from "../lib/phone";
import { jobList } from "../lib/job_list";
import { stateIn, STATES, testOf, withState, type JobRow } from "../lib/job_query";
import { number } from "../lib/format";
import { Until, type MakePage } from "../lib/page";
import { note, phasePill, problem } from "../lib/parts";
import { COLUMNS, detailOf, folded, gpusOf, lineOf, manyOf, nameOfArray, numbersOf, phasesOf, sorted, submittedOf, timeOf, type Line } from "./jobs_rows";

const NEWEST = "-number";
const MARGIN = 3;  // lines above and below what is in sight
const ADDRESS_PAUSE = 400;

/** As jobs.css and phone.css have it: only where all lines are equally high does one know which are in sight. */
function lineHeight(): number {
  return onPhone() ? 88 : forFingers() ? 46 : 36;
}

function cell(name: string, ...children: (Node | string | null)[]): HTMLElement {
  const words = children.filter((child) => typeof child === "string").join("");
  return h("span", { role: "gridcell", class: `j-${name}`, title: words.length > 14 ? words : null }, ...children);
}

function jobCells(row: JobRow, now: number): HTMLElement[] {
  return [
    cell("number", h("a", { href: `#/job/${row.number}`, class: "mono", tabindex: -1, "aria-label": `job ${row.number}` }, `#${row.number}`)),
    h("span", { role: "gridcell", class: "j-name", title: row.command }, h("b", {}, row.name), h("span", { class: "mono dim" }, row.command)),
    cell("user", row.user), cell("state", phasePill(row.phase)), cell("gpu", gpusOf(row)), cell("model", row.model),
    cell("submitted", submittedOf(row)), cell("time", timeOf(row, now)), cell("detail", detailOf(row, now)),
  ];
}

function arrayCells(line: Line): HTMLElement[] {
  const first = line.jobs[0] as JobRow;
  const cards = new Set(line.jobs.flatMap((job) => job.gpus.map((gpu) => gpu.uuid)));
  return [
    cell("number", h("span", { class: "fold", "aria-hidden": "true" }, line.open ? "▾" : "▸"), h("span", { class: "mono" }, `${number(line.jobs.length, 0)} jobs`)),
    h("span", { role: "gridcell", class: "j-name", title: first.command }, h("b", {}, nameOfArray(line.jobs)), h("span", { class: "mono dim" }, `array ${numbersOf(line.jobs)}`)),
    cell("user", first.user),
    h("span", { role: "gridcell", class: "j-states" }, ...phasesOf(line.jobs).map(([phase, many]) => h("span", { class: `pill p-${phase}` }, `${number(many, 0)} ${phase}`))),
    cell("detail", cards.size > 0 ? `on ${number(cards.size, 0)} GPU${cards.size === 1 ? "" : "s"}` : ""),
  ];
}

export const jobsPage: MakePage = (at, argument) => {
  const until = new Until();
  const asked = new URLSearchParams(argument.replace(/^\?/, ""));
  let query = asked.get("q") ?? "", sort = asked.get("sort") ?? NEWEST;
  const opened = new Set<string>();
  const said = new WeakMap<Element, string>();  // what a line was made from
  let round = 0;  // rises when jobs have changed, and with the time
  let lines: Line[] = [], found = 0, chosen = 0, first = -1, last = -1;

  const field = h("input", { type: "search", id: "job-search", autocomplete: "off", spellcheck: "false", "aria-label": "Search jobs", "aria-describedby": "search-help",
                             placeholder: onPhone() ? "Search jobs" : "Search: name, user, number, GPU, model, command   ( / )", value: query });
  const head = h("div", { class: "job-columns", role: "row" });
  const body = h("div", { role: "rowgroup", class: "job-lines" });
  const list = h("div", { role: "treegrid", class: "job-list", id: "job-list", tabindex: 0, "aria-label": "Jobs" }, h("div", { role: "rowgroup" }, head), body);
  const states = h("div", { class: "segmented", role: "group", "aria-label": "State" });
  const order = h("select", { id: "job-order", "aria-label": "Sort by" });
  const told = h("p", { class: "note", id: "jobs-told" }), below = h("div"), empty = h("div");

  let addressDue: ReturnType<typeof setTimeout> | undefined;
  const writeAddress = () => {
    clearTimeout(addressDue);
    readdress(jobsAddress(query.trim(), sort === NEWEST ? "" : sort));
  };
  const search = (next: string) => {
    query = next;
    lines = [];
    chosen = 0;
    find();
    // Browsers stop a page that writes its address at every key.
    clearTimeout(addressDue);
    addressDue = setTimeout(writeAddress, ADDRESS_PAUSE);
  };

  const find = () => {
    const now = Date.now(), kept = lines[chosen]?.key;
    const rows = jobList.rows;
    const hits = rows.filter(testOf(query, rows));
    found = hits.length;
    const inOrder = sorted(hits, sort, now);
    // Who asks for one array wants its jobs.
    lines = query.includes("array:") ? inOrder.map((row) => lineOf(row)) : folded(inOrder, opened);
    const place = kept === undefined ? -1 : lines.findIndex((line) => line.key === kept);  // others may have come before it
    chosen = Math.max(0, Math.min(place < 0 ? chosen : place, lines.length - 1));
    drawFrame(rows);
    drawLines();
  };

  const drawFrame = (rows: JobRow[]) => {
    const state = stateIn(query);
    const many = new Map<string, number>();
    for (const row of rows) many.set(row.phase, (many.get(row.phase) ?? 0) + 1);
    const button = (words: string, name: string, count: number) =>
      h("button", { type: "button", "data-state": name, "aria-pressed": String(state === name), onclick: () => {
        field.value = withState(query, name);
        search(field.value);
      } }, words, h("span", { class: "dim" }, ` ${number(count, 0)}`));
    show(states, button("all", "", rows.length), ...Object.entries(STATES).map(([name, phases]) =>
      button(name, name, phases.reduce((sum, phase) => sum + (many.get(phase) ?? 0), 0))));
    show(head, ...COLUMNS.map((column) => {
      const here = sort.replace(/^-/, "") === column.name, falling = sort.startsWith("-");
      return h("span", { role: "columnheader", class: `j-${column.name}`, "aria-sort": here ? (falling ? "descending" : "ascending") : null },
        h("button", { type: "button", class: "plain-button", "data-sort": column.name, onclick: () => {
          sort = here ? (falling ? column.name : `-${column.name}`) : column.name;
          writeAddress();
          find();
        } }, column.title, here ? h("span", { "aria-hidden": "true" }, falling ? " ↓" : " ↑") : null));
    }), h("span", { role: "columnheader", class: "j-detail" }, "why, or how it ended"));
    const words = found === 0 && rows.length > 0 ? "No job is like that." : manyOf(found, rows.length);
    show(told, jobList.loading && rows.length === 0 ? "Asking the server …" : rows.length === 0 && !jobList.problem ? "There are no jobs yet." : words,
      jobList.more ? h("span", {}, ", the newest. ", h("button", { type: "button", class: "quiet", onclick: () => jobList.older() }, jobList.loading ? "asking …" : "look further back")) : null);
    show(empty, jobList.problem ? problem(jobList.problem) : null);
    list.setAttribute("aria-rowcount", String(lines.length + 1));
  };

  /** The lines in sight, and as much empty room as the others would take. */
  const drawLines = (anew = true) => {
    const high = lineHeight();
    const top = body.getBoundingClientRect().top;
    const from = Math.max(0, Math.min(lines.length, Math.floor(-top / high) - MARGIN));
    const to = Math.min(lines.length, Math.ceil((window.innerHeight - top) / high) + MARGIN);
    if (!anew && from === first && to === last) return;
    first = from;
    last = to;
    const now = Date.now();
    body.style.paddingTop = `${from * high}px`;
    body.style.paddingBottom = `${Math.max(0, lines.length - Math.max(to, from)) * high}px`;
    // A line that is there already and says the same stays, as long as they stand in the same order.
    const there = new Map([...body.children].map((child, at) => [child.getAttribute("data-key"), { child, at }]));
    let after = -1;
    show(body, ...lines.slice(from, to).map((line) => {
      const old = there.get(line.key);
      if (!old || old.at < after || said.get(old.child) !== versionOf(line)) return lineElement(line, now);
      after = old.at;
      return old.child;
    }));
    [...body.children].forEach((child, i) => {
      const place = from + i, line = lines[place];
      if (!line) return;
      said.set(child, versionOf(line));
      child.id = `line-${place}`;
      child.setAttribute("aria-rowindex", String(place + 2));
      child.setAttribute("aria-selected", String(place === chosen));
    });
    pointOut();
  };
  const versionOf = (line: Line) => `${round} ${line.open} ${line.inside} ${line.jobs.length} ${line.jobs[0]?.number}`;
  const lineElement = (line: Line, now: number) => {
    const group = line.jobs.length > 1;
    return h("div", { role: "row", "data-key": line.key, class: `job-line${group ? " is-array" : ""}${line.inside ? " inside" : ""}`,
                      "aria-level": line.inside ? 2 : 1, "aria-expanded": group ? String(line.open) : null, onclick: (event) => {
                        if (event.target instanceof Element && event.target.closest("a")) return;
                        choose(lines.findIndex((one) => one.key === line.key));
                        act(lines[chosen]);
                      } },
             ...(group ? arrayCells(line) : jobCells(line.jobs[0] as JobRow, now)));
  };
  const pointOut = () => {
    if (lines.length > 0 && chosen >= first && chosen < last) list.setAttribute("aria-activedescendant", `line-${chosen}`);
    else list.removeAttribute("aria-activedescendant");
  };

  const choose = (place: number) => {
    chosen = Math.max(0, Math.min(place, lines.length - 1));
    const high = lineHeight(), y = body.getBoundingClientRect().top + chosen * high;
    const above = (document.getElementById("header")?.getBoundingClientRect().bottom ?? 0) + high;
    if (y < above) window.scrollBy(0, y - above);
    else if (y + high > window.innerHeight - 70) window.scrollBy(0, y + 2 * high - window.innerHeight + 70);
    drawLines();
  };
  const act = (line: Line | undefined) => {
    const job = line?.jobs[0];
    if (!line || !job) return;
    if (line.jobs.length > 1) return turn(line, !line.open);
    writeAddress();
    location.hash = `#/job/${job.number}`;
  };
  const turn = (line: Line, open: boolean) => {
    const array = line.jobs[0]?.array;
    if (line.jobs.length < 2 || array === null || array === undefined) return;
    if (open) opened.add(array);
    else opened.delete(array);
    find();
  };

  list.onkeydown = (event) => {
    if (event.target !== list || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(window.innerHeight / lineHeight()) - 4);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -lines.length, End: lines.length };
    const step = steps[event.key], line = lines[chosen];
    if (step !== undefined) {
      if (event.key === "ArrowUp" && chosen === 0) field.focus();
      else choose(chosen + step);
    } else if (event.key === "Enter") {
      act(line);
    } else if (line && (event.key === "ArrowRight" || event.key === "ArrowLeft")) {
      turn(line, event.key === "ArrowRight");
    } else {
      return;
    }
    event.preventDefault();
  };
  field.oninput = () => search(field.value);
  field.onkeydown = (event) => {
    if (event.key === "ArrowDown" || event.key === "Enter") {
      event.preventDefault();
      if (event.key === "Enter" && found === 1) return act(lines[0]);
      list.focus();
      choose(event.key === "Enter" ? chosen : 0);
    } else if (event.key === "Escape") {
      if (field.value === "") field.blur();
      field.value = "";
      search("");
    }
  };
  const slash = (event: KeyboardEvent) => {
    const typing = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
    if (event.key !== "/" || typing || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    field.focus();
    field.select();
  };
  show(order, ...COLUMNS.flatMap((column) => [["", ""], ["-", ", falling"]].map(([sign, words]) =>
    h("option", { value: `${sign}${column.name}` }, `${column.title}${words}`))));
  order.value = sort;
  order.onchange = () => {
    sort = order.value;
    writeAddress();
    find();
  };

  at.append(h("h1", { class: "visually-hidden" }, "Jobs"),
    h("div", { class: "job-search" }, field, states, h("div", { class: "phone-only" }, order)),
    h("p", { class: "visually-hidden", id: "search-help" }, "Words are looked for in number, name, user, state, GPU, model and command. user:ann, state:waiting, gpu:3, model:H200, array:ID and why:reason look in one of them. Arrow keys walk over the jobs, Enter opens one."),
    told, empty, list, below);
  show(below, note("Also ", ...["user:ann", "state:failed", "gpu:3", "model:H200", "array:ID", "why:\"no GPU\""].flatMap((words, i) => [i > 0 ? ", " : "", h("code", {}, words)]), "; ",
    h("span", {}, "/ searches, arrow keys and Enter walk and open.")));
  const scrolled = () => drawLines(false);
  window.addEventListener("scroll", scrolled, { passive: true });
  window.addEventListener("resize", scrolled);
  document.addEventListener("keydown", slash);
  until.add(() => {
    clearTimeout(addressDue);
    window.removeEventListener("scroll", scrolled);
    window.removeEventListener("resize", scrolled);
    document.removeEventListener("keydown", slash);
  });
  until.add(onTurn(find));
  until.add(jobList.watch(() => {
    ++round;
    find();
  }));
  let words = "";
  until.every(1500, () => {
    ++round;
    drawLines();
    const next = manyOf(found, jobList.rows.length);
    if (words !== "" && words !== next && document.activeElement === field) announce(next);
    words = next;
  });
  find();
  return { title: "Jobs", stop: () => until.stop() };
};
