// Predict: drop a model's file, see what it would need, where it would go and beside whom.
import { hasToken, onToken, post, wordsOf } from "../lib/api";
import type { Considered, Needs, Prediction } from "../lib/api_types";
import { h, show } from "../lib/dom";
import { bytes, clock, duration, number, percent, until as untilTime, UNKNOWN } from "../lib/format";
import { live } from "../lib/live";
import { Until, type MakePage } from "../lib/page";
import { card, facts, note, problem } from "../lib/parts";
import { coreCurve, curvePoints } from "../lib/plots";
import { openSubmit } from "../dialogs/submit";

const MOST = 16 * 1024 * 1024;

function needsCard(needs: Needs, name: string, curve: number[][]): HTMLElement {
  return card(`What ${name} needs, alone on ${needs.gpu ?? "its GPU"}`, { id: "prediction" }, facts([
    ["GPU memory", h("b", {}, bytes(needs.gpu_memory_bytes))],
    ["at most (95 %)", bytes(needs.gpu_memory_upper_bytes)],
    ["GPU busy", percent(needs.busy)],
    ["SMs", percent(needs.sm)],
    ["GPU bandwidth", percent(needs.dram)],
    ["CPU cores", `${number(needs.cpu_cores)}${needs.cores_upper === null ? "" : ` (at most ${number(needs.cores_upper)})`}`],
    ["host memory", bytes(needs.host_memory_bytes)],
    ["steps a second", number(needs.steps_per_second, 2)],
    ["power", needs.power_watts === null ? UNKNOWN : `${number(needs.power_watts, 0)} W`],
    ["one kernel", needs.kernel_seconds === null ? UNKNOWN : `${number(needs.kernel_seconds * 1e6, 1)} µs`],
    ["kernels a step", number(needs.kernels_per_step, 0)],
    ["time alone", duration(needs.duration_seconds)],
  ]), note(needs.from), coreCurve("Share of its speed by cores", curvePoints(curve), needs.cpu_cores),
  note("Reckoned by the predictor from the CPU time of a step; nothing was measured. The dashed line is what it uses."),
  h("div", { class: "buttons" }, h("button", { class: "primary", type: "button", onclick: () => openSubmit({ needs, what: name }) }, "Submit a job with these needs")));
}

function placeCard(answer: Considered | string): HTMLElement {
  if (typeof answer === "string") return card("Where it would go", {}, problem(answer));
  const forecast = answer.forecast;
  const gpus = forecast?.gpus ?? [];
  const residents = gpus.flatMap((gpu) => live.now?.gpus.find((one) => one.uuid === gpu.uuid)?.jobs ?? []);
  return card("Where it would go", { id: "placement" }, facts([
    ["start", forecast?.start_ms == null ? "unknown" : `${untilTime(forecast.start_ms)} (${clock(forecast.start_ms)})`],
    ["GPU", gpus.length > 0 ? gpus.map((gpu) => `${gpu.index} (${gpu.model})`).join(", ") : "unknown"],
    ["on it now", residents.length > 0 ? residents.map((one) => `#${one}`).join(", ") : "nobody"],
    ["why", forecast?.why || UNKNOWN],
  ]), note("A dry run: nothing was submitted."));
}

export const predictPage: MakePage = (at) => {
  const until = new Until();
  const said = h("div", { "aria-live": "polite" }), result = h("div", { class: "half" });
  const input = (id: string, props: Record<string, string | number>) => h("input", { id: `predict-${id}`, ...props });
  const file = h("input", { type: "file", id: "predict-file", "aria-label": "Model file" });
  const batch = input("batch", { type: "number", min: 1, value: 64 });
  const workers = input("workers", { type: "number", min: 0, value: 4 });
  const gpu = input("gpu", { placeholder: "this server's" });
  const choice = (id: string, values: string[]) => h("select", { id: `predict-${id}` }, ...values.map((value) => h("option", { value }, value)));
  const precision = choice("precision", ["fp32", "tf32", "bf16", "fp16"]), optimizer = choice("optimizer", ["sgd", "adamw", "plain-sgd"]);
  let given: File | null = null;

  const predict = async () => {
    if (!given) return;
    if (!hasToken()) return show(said, problem("Predictions cost the server work: sign in first (above)."));
    if (given.size > MOST) return show(said, problem(`${given.name} has ${bytes(given.size)}, and the server takes 16 MiB. A model exported without its weights is small.`));
    const name = given.name;
    show(said, h("div", { class: "working" }, h("span", { class: "spinner" }), `Reading ${name} …`));
    result.replaceChildren();
    try {
      const { needs, core_curve: curve } = await post<Prediction>("/api/v1/predictions", given as Blob, {
        name, batch: batch.value, precision: precision.value, workers: workers.value, gpu: gpu.value, optimizer: optimizer.value }, until.abort.signal);
      show(said);
      result.append(needsCard(needs, name, curve));
      try {
        result.append(placeCard(await post<Considered>("/api/v1/jobs", { command: ["true"], needs, name }, { dry_run: 1 }, until.abort.signal)));
      } catch (error) {
        if (!until.over) result.append(placeCard(wordsOf(error)));
      }
    } catch (error) {
      if (!until.over) show(said, problem(wordsOf(error)));
    }
  };
  const take = (next: File | undefined) => {
    if (!next) return;
    given = next;
    void predict();
  };
  file.onchange = () => take(file.files?.[0]);
  const zone = h("div", { class: "drop",
    ondragover: (event) => {
      event.preventDefault();
      zone.classList.add("over");
    },
    ondragleave: () => zone.classList.remove("over"),
    ondrop: (event) => {
      event.preventDefault();
      zone.classList.remove("over");
      take((event as DragEvent).dataTransfer?.files[0]);
    } },
    h("p", {}, h("b", {}, "Drop a model here"), ": ONNX, .pt2, a list of layers, or a config.json"), file);
  const labelled = (words: string, field: HTMLElement) => h("div", { class: "field" }, h("label", { for: field.id }, words), field);
  at.append(h("h1", {}, "Predict"), h("p", { class: "dim" }, "What a model would need, before it ran once. Of the file the server keeps the graph, to learn from later runs of it."),
    card(null, {}, zone, h("div", { class: "fields" }, labelled("Batch", batch), labelled("Precision", precision), labelled("Optimizer", optimizer),
      labelled("Loader workers", workers), labelled("GPU model", gpu)),
    h("button", { type: "button", onclick: () => void predict() }, "Predict again"), said), result);
  until.add(onToken(() => void predict()));
  return { title: "Predict", stop: () => until.stop() };
};
