// Small pieces that several pages have.
import type { Job, Phase } from "./api_types";
import { h, wide, type Props } from "./dom";
import { nameOf, UNKNOWN } from "./format";

type Child = Node | string | number | null | undefined | false;

export function jobLink(job: Job | number): HTMLElement {
  const number = typeof job === "number" ? job : job.number;
  const words = typeof job === "number" ? `job ${number}` : nameOf(job);
  return h("a", { href: `#/job/${number}`, class: "joblink" }, h("span", { class: "mono dim" }, `#${number}`), " ", words);
}

export function phasePill(phase: Phase): HTMLElement {
  return h("span", { class: `pill p-${phase}`, "data-phase": phase }, phase);
}

export function card(title: Child, props: Props, ...children: Child[]): HTMLElement {
  return h("section", { ...props, class: `card ${String(props["class"] ?? "")}` },
           title ? h("h2", {}, title) : null, ...children);
}

export function facts(rows: [string, Child][]): HTMLElement {
  return h("dl", { class: "facts" }, ...rows.flatMap(([name, value]) => [
    h("dt", {}, name), h("dd", {}, value === null || value === undefined ? UNKNOWN : value),
  ]));
}

/** `text` says what the bar shows. */
export function bar(share: number, text: string, kind = ""): HTMLElement {
  return h("div", { class: "bar", role: "img", "aria-label": text }, wide(h("span", { class: `fill ${kind}` }), share));
}

/** On a phone each row is a block of its own, and each cell says of which column it is. */
export function table(caption: string, columns: string[], rows: Child[][], right: number[] = []): HTMLElement {
  const cell = (tag: "td" | "th", index: number, child: Child) =>
    h(tag, { class: right.includes(index) ? "right" : null, scope: tag === "th" ? "col" : null, "data-label": tag === "td" ? columns[index] : null }, child);
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h("table", {},
      h("caption", { class: "visually-hidden" }, caption),
      h("thead", {}, h("tr", {}, ...columns.map((name, i) => cell("th", i, name)))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((child, i) => cell("td", i, child)))))));
}

export function note(...children: Child[]): HTMLElement {
  return h("p", { class: "note" }, ...children);
}

export function problem(words: string): HTMLElement {
  return h("p", { class: "problem", role: "alert" }, words);
}
