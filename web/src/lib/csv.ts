// The data of a chart or table as a CSV file, made in the page when it is asked for.
import { h } from "./dom";

export type Cell = string | number | null;

/** A text that a spreadsheet would take for a formula is marked as text. */
function cell(value: Cell): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvText(columns: string[], rows: Cell[][]): string {
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

/** `rows` is asked when somebody wants them. */
export function csvButton(name: string, columns: string[], rows: () => Cell[][]): HTMLElement {
  const save = () => {
    const at = URL.createObjectURL(new Blob([csvText(columns, rows())], { type: "text/csv" }));
    const link = h("a", { href: at, download: `${name}.csv` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(at), 10_000);
  };
  return h("button", { type: "button", class: "quiet csv", "data-csv": name, onclick: save }, "data as CSV");
}
