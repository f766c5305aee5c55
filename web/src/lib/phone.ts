// Screens too narrow for pictures that need width: they show lists there. phone.css has the same bound.
const narrow = matchMedia("(max-width: 640px)");
const touch = matchMedia("(max-width: 900px)");

export function onPhone(): boolean {
  return narrow.matches;
}

/** A finger needs more room than a pointer. */
export function forFingers(): boolean {
  return touch.matches;
}

/** Also when a phone is turned. */
export function onTurn(listener: () => void): () => void {
  for (const query of [narrow, touch]) query.addEventListener("change", listener);
  return () => {
    for (const query of [narrow, touch]) query.removeEventListener("change", listener);
  };
}
