// The log of a job, as it is written. Bytes become text, never markup.
import { hasToken, onToken, readLog, wordsOf } from "../lib/api";
import { h, show } from "../lib/dom";
import { note, problem } from "../lib/parts";
import type { Until } from "../lib/page";

const AT_FIRST = 64 * 1024;
const MOST_KEPT = 400_000;  // characters
const EVERY = 900;

export function logView(job: number, until: Until): HTMLElement {
  const text = h("pre", { class: "log", tabindex: 0, role: "region", "aria-label": "Log", id: "log" });
  const said = h("div");
  const buttons = h("div", { class: "segmented", role: "group", "aria-label": "Which stream" });
  let stream: "out" | "err" = "out";
  let next: number | null = null;
  let ended = false, asking = false;

  const drawButtons = () => show(buttons, ...(["out", "err"] as const).map((one) =>
    h("button", { type: "button", "aria-pressed": String(one === stream), onclick: () => {
      stream = one;
      restart();
    } }, one === "out" ? "stdout" : "stderr")));

  const restart = () => {
    next = null;
    ended = false;
    text.textContent = "";
    show(said);
    drawButtons();
    void more();
  };

  const more = async () => {
    if (asking || ended) return;
    if (!hasToken()) {
      show(said, note("Logs are shown to the job's owner and to admins: sign in (above) to read it."));
      return;
    }
    asking = true;
    const asked = stream;
    try {
      const part = await readLog(job, asked, next ?? -AT_FIRST, AT_FIRST, until.abort.signal);
      if (asked === stream && !until.over) {
        const atEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 20;
        if (next !== null && part.first > next) text.append(`\n… ${part.first - next} bytes are not kept any more …\n`);
        next = part.next;
        ended = part.ended;
        if (part.text) text.append(part.text);
        if ((text.textContent ?? "").length > MOST_KEPT) text.textContent = (text.textContent ?? "").slice(-MOST_KEPT);
        if (atEnd) text.scrollTop = text.scrollHeight;
        show(said, ended ? note(text.textContent ? "That is all of it." : "It wrote nothing.") : null);
      }
    } catch (error) {
      if (!until.over && asked === stream) show(said, problem(wordsOf(error)));
    }
    asking = false;
    if (asked !== stream) void more();
  };

  until.add(onToken(restart));
  until.every(EVERY, () => void more());
  restart();
  return h("div", { "data-keep": true }, buttons, said, text);
}
