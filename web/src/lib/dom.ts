// Elements from code. Every string becomes a text node, never markup: a script in a job's name stays text.

type Child = Node | string | number | null | undefined | false;
type Handler = (event: Event) => void;
export type Props = Record<string, string | number | boolean | null | undefined | Handler>;

const SVG = "http://www.w3.org/2000/svg";
const HANDLERS = ["onclick", "onchange", "oninput", "onsubmit", "onkeydown", "ondrop", "ondragover", "ondragleave",
                  "onpointermove", "onpointerleave"] as const;

function fill(element: Element, props: Props, children: Child[]): void {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") {
      (element as unknown as Record<string, Handler>)[name] = value;
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(typeof child === "number" ? String(child) : child);
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {},
                                                          ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, props, children);
  return element;
}

export function svg(tag: string, props: Props = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS(SVG, tag) as SVGElement;
  fill(element, props, children);
  return element;
}

/** A length in percent, by CSSOM: the page's policy allows no style attributes. */
export function wide<T extends HTMLElement>(element: T, share: number): T {
  element.style.width = `${(Math.max(0, Math.min(1, share)) * 100).toFixed(2)}%`;
  return element;
}

function sameKind(a: Node, b: Node): boolean {
  if (a.nodeType !== b.nodeType || a.nodeName !== b.nodeName) return false;
  return !(a instanceof Element && b instanceof Element) || a.getAttribute("data-key") === b.getAttribute("data-key");
}

function morphElement(old: Element, fresh: Element): void {
  if (old.hasAttribute("data-keep") && fresh.hasAttribute("data-keep")) return;  // it looks after itself
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== "open" && name !== "style") old.removeAttribute(name);
  }
  for (const { name, value } of [...fresh.attributes]) {
    if (name !== "style" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old instanceof HTMLElement && fresh instanceof HTMLElement && old.style.cssText !== fresh.style.cssText) {
    old.style.cssText = fresh.style.cssText;
  }
  const from = fresh as unknown as Record<string, unknown>, to = old as unknown as Record<string, unknown>;
  for (const name of HANDLERS) to[name] = from[name];
  morphChildren(old, fresh);
}

function removeUntil(at: ChildNode | null, end: ChildNode | null): void {
  while (at && at !== end) {
    const gone: ChildNode = at;
    at = at.nextSibling;
    gone.remove();
  }
}

/** `stay`: what stands for elements that are in `old` already and are to stay as they are. */
function morphChildren(old: Element, fresh: Element, stay = new Map<Node, Element>()): void {
  const wanted = [...fresh.childNodes];
  const staying = new Set<Node>(stay.values());
  let at: ChildNode | null = old.firstChild;
  for (const next of wanted) {
    const stays = stay.get(next);
    if (stays) {
      removeUntil(at, stays);
      at = stays.nextSibling;
    } else if (at && !staying.has(at) && sameKind(at, next)) {
      const kept: ChildNode = at;
      at = at.nextSibling;
      if (kept instanceof Element && next instanceof Element) morphElement(kept, next);
      else if (kept.nodeValue !== next.nodeValue) kept.nodeValue = next.nodeValue;
    } else {
      old.insertBefore(next, at);
    }
  }
  removeUntil(at, null);
}

/** Makes the children of `target` what `fresh` are, and leaves alone what is the same: focus and scroll stay. Of `fresh`,
    elements that are children of it already look after themselves. */
export function show(target: Element, ...fresh: Child[]): void {
  const holder = document.createElement(target.nodeName);
  const stay = new Map<Node, Element>();
  fill(holder, {}, fresh.map((child) => {
    if (!(child instanceof Element) || child.parentNode !== target) return child;
    const place = document.createComment("");
    stay.set(place, child);
    return place;
  }));
  morphChildren(target, holder, stay);
}

/** Tells those who listen to the page. */
export function announce(text: string): void {
  const live = document.getElementById("live");
  if (live && live.textContent !== text) live.textContent = text;
}
