// Simulate: this server's own history and queue, or a trace that somebody brings, under other policies, beside what
// really happened.
import { get, hasToken, post, wordsOf } from "../lib/api";
import type { WhatIf, WhatIfState } from "../lib/api_types";
import { announce, h, show } from "../lib/dom";
import { count, duration, number } from "../lib/format";
import { Until, type MakePage } from "../lib/page";
import { bar, card, note, problem } from "../lib/parts";
import { results } from "./simulate_results";

const POLICIES: [string, string][] = [
  ["slot", "whole GPUs, nobody shares"], ["sharewell", "beside others, within their bounds"], ["complement", "beside jobs whose demands do not collide"],
  ["pack", "first fit on predicted use"], ["reactive", "profile first, then share"], ["match", "GPU generations by gain"],
];
const PROGRESS_EVERY = 500;

function progressWords(state: WhatIfState | null, policies: string[]): HTMLElement {
  if (state?.policy == null || state.policies == null || state.jobs_done == null || state.jobs == null) return h("span", {}, state?.state === "waiting" ? "Waits for its turn" : "Asking the server");
  const name = policies[state.policy] ?? "";
  const done = (state.policy + state.jobs_done / Math.max(1, state.jobs)) / Math.max(1, state.policies);
  const words = `${name}, policy ${state.policy + 1} of ${state.policies}: ${number(state.jobs_done, 0)} of ${count(state.jobs, "job")} played`;
  return h("span", { class: "progress" }, words, bar(done, `${(done * 100).toFixed(0)} % done`));
}

export const simulatePage: MakePage = (at) => {
  const until = new Until();
  const said = h("div", { id: "simulate-said" }), result = h("div");
  const trace = h("input", { type: "file", id: "simulate-trace", accept: ".csv,.json,.txt,text/csv" });
  const days = h("input", { type: "number", id: "simulate-days", min: 0.01, step: "any", value: 7 });
  const boxes = POLICIES.map(([name, words]) => {
    const box = h("input", { type: "checkbox", value: name, id: `policy-${name}` });
    box.checked = name === "slot" || name === "sharewell";
    return { box, label: h("label", {}, box, h("b", {}, name), h("span", { class: "dim" }, words)) };
  });
  let busy = false;
  const run = async () => {
    if (busy) return;
    if (!hasToken()) return show(said, problem("Simulations cost the server work: sign in first (above)."));
    const policies = boxes.filter(({ box }) => box.checked).map(({ box }) => box.value);
    if (policies.length === 0) return show(said, problem("choose at least one policy"));
    busy = true;
    const began = Date.now();
    const follow = crypto.getRandomValues(new Uint32Array(4)).join("-");
    let state: WhatIfState | null = null, asking = false;
    const tell = () => show(said, h("div", { class: "working" }, h("span", { class: "spinner" }), progressWords(state, policies),
      h("span", { class: "dim" }, duration((Date.now() - began) / 1000))));
    tell();
    announce("The simulation has begun.");
    const timer = setInterval(() => {
      if (asking) return;
      asking = true;
      get<WhatIfState>(`/api/v1/whatif/${follow}`, {}, until.abort.signal).then((one) => { state = one; }, () => undefined /* the answer itself will tell */).finally(() => {
        asking = false;
        if (busy) tell();
      });
    }, PROGRESS_EVERY);
    until.add(() => clearInterval(timer));
    try {
      const file = trace.files?.[0];
      const answer = file
        ? await post<WhatIf>("/api/v1/simulate", file, { policies: policies.join(","), name: file.name, follow }, until.abort.signal)
        : await post<WhatIf>("/api/v1/whatif", { policies, days: Number(days.value), follow }, {}, until.abort.signal);
      result.replaceChildren(...results(answer));
      show(said, note(`Done in ${duration((Date.now() - began) / 1000)}.`));
      announce("The simulation is done.");
    } catch (error) {
      if (!until.over) show(said, problem(wordsOf(error)));
    }
    clearInterval(timer);
    busy = false;
  };
  at.append(h("h1", {}, "Simulate"),
    h("p", { class: "dim" }, "What would another policy have done? This server's own jobs and queue are played again, or a trace of your own on this server's machines. The first policy is what the others are compared with."),
    card(null, {}, h("div", { class: "checks" }, ...boxes.map(({ label }) => label)),
      h("div", { class: "fields simulate" }, h("div", { class: "field" }, h("label", { for: "simulate-days" }, "Days back"), days),
        h("div", { class: "field" }, h("label", { for: "simulate-trace" }, "A trace instead (at most 4 MiB)"), trace)),
      h("button", { class: "primary", type: "button", id: "simulate-run", onclick: () => void run() }, "Simulate"), said), result);
  return { title: "Simulate", stop: () => until.stop() };
};
