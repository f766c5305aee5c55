// The frame of every page: where one can go, whether the connection lives, who one is, light or dark. Pages are named by
// the address behind '#', so that each can be linked.
import { get, hasToken, onToken, setToken, signIn, wordsOf } from "./lib/api";
import type { Limits } from "./lib/api_types";
import { moved } from "./lib/address";
import { announce, h, show } from "./lib/dom";
import { duration } from "./lib/format";
import { live } from "./lib/live";
import type { MakePage, Page } from "./lib/page";
import { openDialog } from "./dialogs/dialog";
import { openSubmit } from "./dialogs/submit";
import { clusterPage } from "./pages/cluster";
import { jobPage } from "./pages/job";
import { jobsPage } from "./pages/jobs";
import { nowPage } from "./pages/now";
import { predictPage } from "./pages/predict";
import { simulatePage } from "./pages/simulate";
import { workloadsPage } from "./pages/workloads";

const PAGES: [string, string, MakePage][] = [
  ["now", "Now", nowPage],
  ["jobs", "Jobs", jobsPage],
  ["cluster", "Cluster", clusterPage],
  ["workloads", "Workloads", workloadsPage],
  ["predict", "Predict", predictPage],
  ["simulate", "Simulate", simulatePage],
];

let page: Page | null = null;
let here = "";
let user: string | null = null;

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no #${id}`);
  return found;
}

/** "#code=..." is how a link signs in: it is taken out of the address before anything else happens. */
function takeCode(): string | null {
  const code = /^#code=([0-9a-f]+)$/.exec(location.hash)?.[1] ?? null;
  if (code) history.replaceState(null, "", "#/now");
  return code;
}

async function useCode(code: string): Promise<void> {
  try {
    user = await signIn(code);
    announce(`You are ${user}.`);
  } catch (error) {
    openDialog("This link did not sign you in", (close) => [
      h("p", { class: "problem", role: "alert" }, wordsOf(error)),
      h("div", { class: "buttons" }, h("button", { class: "primary", type: "button", onclick: close }, "Close"))]);
  }
  drawHeader();
}

async function learnUser(): Promise<void> {
  try {
    user = (await get<Limits>("/api/v1/limits")).user;
  } catch {
    user = null;  // the sign-in is over, or the server is away
  }
  drawHeader();
}

function go(): void {
  const code = takeCode();
  if (code) void useCode(code);
  if (!moved()) return;
  const [, name = "", argument = ""] = /^#?\/?([^/?]*)\/?(.*)$/.exec(location.hash) ?? [];
  here = name || "now";
  page?.stop();
  const main = element("main");
  main.replaceChildren();
  const make = here === "job" ? jobPage : PAGES.find(([path]) => path === here)?.[2];
  if (make) {
    page = make(main, argument);
  } else {
    page = null;
    main.append(h("h1", {}, "There is no such page"), h("p", {}, h("a", { href: "#/now" }, "What happens now")));
  }
  document.title = page ? `${page.title} · Sharewell` : "Sharewell";
  window.scrollTo(0, 0);
  drawHeader();
}

function connection(): HTMLElement {
  const words = { connecting: "connecting", live: "live", lost: "no connection", refused: "wants a token" }[live.stream.state];
  const gone = live.stream.state === "lost" && live.stream.lostSince !== null ? (Date.now() - live.stream.lostSince) / 1000 : 0;
  const since = gone >= 1 ? ` for ${duration(gone)}` : "";
  return h("span", { class: `connection is-${live.stream.state}`, id: "connection", "data-state": live.stream.state, title: words + since },
           h("span", { class: "dot", "aria-hidden": "true" }), h("span", { class: "told" }, words, h("span", { class: "wide-only" }, since)));
}

function theme(): "light" | "dark" {
  const chosen = document.documentElement.dataset["theme"];
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function turnTheme(): void {
  document.documentElement.dataset["theme"] = theme() === "dark" ? "light" : "dark";
  drawHeader();
  window.dispatchEvent(new window.Event("themechange"));
}

function drawHeader(): void {
  const server = live.now?.server;
  const other = theme() === "dark" ? "light" : "dark";
  show(element("header"),
    h("a", { class: "brand", href: "#/now", "aria-label": "Sharewell" }, h("span", { class: "logo", "aria-hidden": "true" },
      h("i"), h("i"), h("i")), h("span", { class: "brand-name" }, "Sharewell")),
    h("nav", { "aria-label": "Pages" }, ...PAGES.map(([path, title]) =>
      h("a", { href: `#/${path}`, "aria-current": here === path ? "page" : here === "job" && path === "jobs" ? "true" : null }, title))),
    h("span", { class: "spacer" }),
    server ? h("span", { class: "where", title: `version ${server.version}` }, server.node, h("span", { class: "dim" }, ` · ${server.policy}`)) : null,
    connection(),
    h("button", { class: "quiet", id: "token", onclick: openToken,
                  "aria-label": hasToken() ? `Sign ${user ?? "this user"} out` : "Read-only · sign in" },
      ...(hasToken() ? [user ?? "signed in"] : [h("span", { class: "wide-only" }, "Read-only · "), "sign in"])),
    h("button", { class: "quiet", id: "theme", onclick: turnTheme, "aria-label": `Switch to ${other} colours`,
                  title: `Switch to ${other} colours` }, theme() === "dark" ? "☀" : "☾"),
    h("button", { class: "primary", id: "submit", onclick: () => (hasToken() ? openSubmit() : openToken()) },
      "Submit", h("span", { class: "wide-only" }, " a job")));
}

function openToken(): void {
  if (hasToken()) {
    user = null;
    setToken("");
    announce("You are signed out; the page is read-only.");
    return;
  }
  openDialog("Sign in", (close) => {
    const field = h("input", { type: "password", id: "token-field", autocomplete: "off", required: true,
                               spellcheck: "false" });
    const said = h("div");
    return [
      h("form", { onsubmit: (event) => {
        event.preventDefault();
        void enter(field.value.trim(), said, close);
      } },
      h("p", {}, "Signed in you can submit, cancel and hold jobs, read your logs, predict and simulate, until this page ",
        "is closed."),
      h("p", {}, "On the server's machine ", h("code", {}, "sharewell dashboard"), " prints a link that signs you in. ",
        "Elsewhere give a token, which ", h("code", {}, "sharewell token create"), " makes there."),
      h("label", { for: "token-field" }, "Token"), field, said,
      h("div", { class: "buttons" }, h("button", { class: "primary", type: "submit" }, "Use it"))),
    ];
  });
}

async function enter(value: string, said: HTMLElement, close: () => void): Promise<void> {
  setToken(value);
  try {
    user = (await get<Limits>("/api/v1/limits")).user;
    close();
    announce(`You are ${user}.`);
    drawHeader();
  } catch (error) {
    setToken("");
    show(said, h("p", { class: "problem", role: "alert" }, wordsOf(error)));
  }
}

export function begin(): void {
  document.querySelector(".skip")?.addEventListener("click", (event) => {
    event.preventDefault();
    element("main").focus();
  });
  window.addEventListener("hashchange", go);
  live.onChange(drawHeader);
  live.stream.onState(() => {
    drawHeader();
    announce(live.stream.state === "live" ? "Connected." : "The connection is lost; the page tries again.");
  });
  onToken(drawHeader);
  setInterval(() => {
    if (live.stream.state !== "live") drawHeader();
  }, 1000);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    drawHeader();
    window.dispatchEvent(new window.Event("themechange"));
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const chosen = PAGES[Number(event.key) - 1];
    if (chosen) location.hash = `#/${chosen[0]}`;
  });
  drawHeader();
  go();
  if (hasToken()) void learnUser();
}
