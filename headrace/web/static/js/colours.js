// Light and dark, and the colours of the style sheet for what is drawn on a canvas.

const KEPT = "headrace.theme";
const CHOICES = ["system", "light", "dark"];
const told = new EventTarget();
const prefers = matchMedia("(prefers-color-scheme: dark)");
const known = new Map();
let probe = null;

prefers.addEventListener("change", changed);

/** Return what was chosen: system, light or dark. */
export function theme() {
  return document.documentElement.dataset.theme ?? "system";
}

/** Choose the next theme, and keep it. */
export function switchTheme() {
  const next = CHOICES[(CHOICES.indexOf(theme()) + 1) % CHOICES.length];
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem(KEPT, next);
  } catch {
    // it lasts until the page is loaded again
  }
  changed();
}

function changed() {
  known.clear();
  told.dispatchEvent(new Event("theme"));
}

/** Call back when the colours change. */
export function onTheme(listener, signal) {
  told.addEventListener("theme", () => listener(), { signal });
}

/** Return the colour that a custom property such as `accent` has now. */
export function colour(name) {
  if (!known.has(name)) {
    probe ??= document.body.appendChild(Object.assign(document.createElement("i"), { hidden: true }));
    probe.style.color = `var(--${name})`;
    known.set(name, getComputedStyle(probe).color);
  }
  return known.get(name);
}

/** Return the colour with so much of it, from 0 to 1. */
export function faint(name, part) {
  return `color-mix(in srgb, ${colour(name)} ${part * 100}%, transparent)`;
}
