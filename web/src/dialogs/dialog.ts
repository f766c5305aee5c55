import { h } from "../lib/dom";

/** A modal dialog: Escape closes it, and focus goes back to where it was. */
export function openDialog(title: string, make: (close: () => void) => Node[]): void {
  const before = document.activeElement;
  const dialog = h("dialog", { "aria-labelledby": "dialog-title" });
  const close = () => dialog.close();
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (before instanceof HTMLElement) before.focus();
  });
  dialog.append(h("div", { class: "dialog-head" }, h("h2", { id: "dialog-title" }, title),
                  h("button", { class: "quiet", type: "button", "aria-label": "Close", onclick: close }, "✕")), ...make(close));
  document.getElementById("dialogs")?.append(dialog);
  dialog.showModal();
}

export function confirmed(question: string, yes: string, act: () => void): void {
  openDialog(question, (close) => [
    h("div", { class: "buttons" },
      h("button", { class: "primary", type: "button", onclick: () => {
        close();
        act();
      } }, yes),
      h("button", { class: "quiet", type: "button", onclick: close }, "No")),
  ]);
}
