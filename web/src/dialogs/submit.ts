// Submit a job from the page. The command is split into words as a shell would, without running one.
import { post, wordsOf } from "../lib/api";
import type { Considered, Needs, Submission, Submitted } from "../lib/api_types";
import { h, show } from "../lib/dom";
import { clock, until } from "../lib/format";
import { note, problem } from "../lib/parts";
import { openDialog } from "./dialog";

/** Words of a command line: quotes keep blanks, a backslash keeps the next character. Null: a quote is not closed. */
export function splitWords(line: string): string[] | null {
  const words: string[] = [];
  let word = "", begun = false, quote = "";
  for (let i = 0; i < line.length; ++i) {
    const c = line[i] ?? "";
    if (quote) {
      if (c === quote) quote = "";
      else if (c === "\\" && quote === '"' && i + 1 < line.length) word += line[++i];
      else word += c;
    } else if (c === "'" || c === '"') {
      quote = c;
      begun = true;
    } else if (c === "\\" && i + 1 < line.length) {
      word += line[++i];
      begun = true;
    } else if (/\s/.test(c)) {
      if (begun) words.push(word);
      word = "";
      begun = false;
    } else {
      word += c;
      begun = true;
    }
  }
  if (quote) return null;
  if (begun) words.push(word);
  return words;
}

interface Given {
  needs?: Needs;
  what?: string;
}

export function openSubmit(given: Given = {}): void {
  openDialog("Submit a job", (close) => {
    const field = (id: string, props: Record<string, string | number | boolean> = {}) =>
      h("input", { id: `submit-${id}`, autocomplete: "off", spellcheck: "false", ...props });
    const labelled = (words: string, input: HTMLElement, help = "") =>
      h("div", { class: "field" }, h("label", { for: input.id }, words), input, help ? h("small", {}, help) : null);
    const name = field("name"), command = field("command", { required: true, class: "mono", placeholder: "python3 train.py --lr 0.1" });
    const folder = field("folder", { class: "mono", placeholder: "the home folder" });
    const gpus = field("gpus", { type: "number", min: 0, max: 64, value: 1 });
    const cores = field("cores", { type: "number", min: 1, step: 1, placeholder: "as needed" });
    const time = field("time", { type: "number", min: 1, step: 1, placeholder: "none" });
    const exclusive = field("exclusive", { type: "checkbox" }), held = field("held", { type: "checkbox" });
    const said = h("div", { "aria-live": "polite" });

    const read = (): Submission | string => {
      const words = splitWords(command.value);
      if (words === null) return "a quote in the command is not closed";
      if (words.length === 0) return "give a command";
      const asked: Submission = { command: words, gpus: Number(gpus.value || 1), held: held.checked,
                                  exclusive: exclusive.checked };
      if (name.value) asked.name = name.value;
      if (folder.value) asked.folder = folder.value;
      if (cores.value) asked.cores = Number(cores.value);
      if (time.value) asked.time_limit_seconds = Number(time.value) * 60;
      if (given.needs) asked.needs = given.needs;
      return asked;
    };
    const send = async (dry: boolean) => {
      const asked = read();
      if (typeof asked === "string") return show(said, problem(asked));
      try {
        if (dry) {
          const answer = await post<Considered>("/api/v1/jobs", asked, { dry_run: 1 });
          const job = answer.jobs[0];
          const start = answer.forecast?.start_ms;
          show(said, note(`It would start ${start === null || start === undefined ? "at a time that nobody can tell" : `${until(start)} (${clock(start)})`}. `,
                          answer.forecast?.why ?? "", job ? ` What it needs is ${job.needs.source}: ${job.needs.from}.` : ""));
        } else {
          const answer = await post<Submitted>("/api/v1/jobs", asked);
          close();
          location.hash = `#/job/${answer.jobs[0]?.number ?? ""}`;
        }
      } catch (error) {
        show(said, problem(wordsOf(error)));
      }
    };
    return [
      h("form", { onsubmit: (event) => {
        event.preventDefault();
        void send(false);
      } },
      given.what ? note(`It needs what was predicted for ${given.what}.`) : null,
      labelled("Command", command, "No shell is involved: for pipes and && write sh -c '…'."),
      h("div", { class: "fields" }, labelled("Name", name), labelled("Folder", folder)),
      h("div", { class: "fields" }, labelled("GPUs", gpus, "0: CPU only"), labelled("Cores", cores),
        labelled("Time limit, minutes", time)),
      h("div", { class: "checks" },
        h("label", {}, exclusive, "share its GPU with nobody"), h("label", {}, held, "hold it until it is released")),
      said,
      h("div", { class: "buttons" }, h("button", { class: "primary", type: "submit" }, "Submit"),
        h("button", { class: "quiet", type: "button", onclick: () => void send(true) }, "When would it start?"))),
    ];
  });
}
