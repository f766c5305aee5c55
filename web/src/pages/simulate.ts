// Simulate: this server's own history and queue under other policies, beside what really happened.
import { hasToken, post, wordsOf } from "../lib/api";
import type { WhatIf } from "../lib/api_types";
import { h, show } from "../lib/dom";
import { count, duration, number, percent, times, UNKNOWN } from "../lib/format";
import { Until, type MakePage } from "../lib/page";
import { bar, card, note, problem, table } from "../lib/parts";

const POLICIES: [string, string][] = [
  ["slot", "whole GPUs, nobody shares"], ["sharewell", "beside others, within their bounds"], ["complement", "beside jobs whose demands do not collide"],
  ["pack", "first fit on predicted use"], ["reactive", "profile first, then share"], ["match", "GPU generations by gain"],
];

/** Further members that the server sends; unknown where it does not. */
type Row = WhatIf["policies"][number] & { jobs?: number; finished?: number; busy?: number | null; ooms?: number };

function results(answer: WhatIf & { really?: Row | null }): HTMLElement {
  const rows: Row[] = [...(answer.really ? [{ ...answer.really, name: answer.really.name || "really" }] : []), ...(answer.policies as Row[])];
  const most = (pick: (row: Row) => number | null | undefined) => Math.max(1e-9, ...rows.map((row) => pick(row) ?? 0));
  const measured = (row: Row, pick: (row: Row) => number | null | undefined) => {
    const value = pick(row) ?? null;
    return h("div", {}, duration(value), value === null ? null : bar(value / most(pick), duration(value)));
  };
  const base = rows.find((row) => row.name === "slot");
  return card(`${count(answer.jobs, "job")}, policies side by side`, { id: "results" },
    table("Policies side by side", ["policy", "makespan", "completion time, mean", "queueing, mean", "slowdown by neighbours, mean", "GPU busy", "out of memory"], rows.map((row) => [
      h("b", {}, row.name), measured(row, (one) => one.makespan_seconds), measured(row, (one) => one.jct_mean_seconds),
      measured(row, (one) => one.queueing_mean_seconds), times(row.slowdown_mean), percent(row.busy), row.ooms === undefined ? UNKNOWN : number(row.ooms, 0)]), [4, 5, 6]),
    base?.jct_mean_seconds ? h("ul", { class: "plain" }, ...rows.filter((row) => row !== base && row.jct_mean_seconds !== null).map((row) =>
      h("li", {}, `${row.name === "really" ? "In reality jobs were done" : `Under ${row.name} jobs are done`} ${times((base.jct_mean_seconds ?? 0) / (row.jct_mean_seconds ?? 1))} as fast as under slot, in the mean.`))) : null,
    ...answer.remarks.map((remark) => note(remark)));
}

export const simulatePage: MakePage = (at) => {
  const until = new Until();
  const said = h("div", { "aria-live": "polite" }), result = h("div");
  const days = h("input", { type: "number", id: "simulate-days", min: 0.01, step: "any", value: 7 });
  const boxes = POLICIES.map(([name, words]) => {
    const box = h("input", { type: "checkbox", value: name, id: `policy-${name}` });
    box.checked = name === "slot" || name === "sharewell";
    return { box, label: h("label", {}, box, h("b", {}, name), h("span", { class: "dim" }, words)) };
  });
  let busy = false;
  const run = async () => {
    if (busy) return;
    if (!hasToken()) return show(said, problem("Simulations cost the server work: give a token first (above)."));
    const policies = boxes.filter(({ box }) => box.checked).map(({ box }) => box.value);
    if (policies.length === 0) return show(said, problem("choose at least one policy"));
    busy = true;
    const began = Date.now();
    const tell = () => show(said, h("div", { class: "working" }, h("span", { class: "spinner" }),
      `The simulator plays the jobs under ${count(policies.length, "policy", "policies")}: ${duration((Date.now() - began) / 1000)}`));
    tell();
    const timer = setInterval(tell, 500);
    until.add(() => clearInterval(timer));
    try {
      const answer = await post<WhatIf>("/api/v1/whatif", { policies, days: Number(days.value) }, {}, until.abort.signal);
      clearInterval(timer);
      show(said, note(`Done in ${duration((Date.now() - began) / 1000)}.`));
      result.replaceChildren(results(answer));
    } catch (error) {
      clearInterval(timer);
      if (!until.over) show(said, problem(wordsOf(error)));
    }
    busy = false;
  };
  at.append(h("h1", {}, "Simulate"),
    h("p", { class: "dim" }, "What would another policy have done? This server's own jobs and queue are played again. For a trace file: ", h("code", {}, "sharewell simulate"), "."),
    card(null, {}, h("div", { class: "checks" }, ...boxes.map(({ label }) => label)),
      h("div", { class: "fields narrow" }, h("div", { class: "field" }, h("label", { for: "simulate-days" }, "Days back"), days)),
      h("button", { class: "primary", type: "button", id: "simulate-run", onclick: () => void run() }, "Simulate"), said), result);
  return { title: "Simulate", stop: () => until.stop() };
};
