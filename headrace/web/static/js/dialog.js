// Questions, and short notes at the edge of the page.

import { hasToken, onToken, setToken } from "./api.js";
import { el, text } from "./dom.js";

const SHOWN = 6000; // milliseconds for which a note stays

/**
 * Show a dialog; resolve with the chosen action's `value`, or null when it is closed.
 * An action that has `run` is only done when that resolves; what it raises is shown in the dialog.
 */
export function dialog(title, content, actions) {
  const heading = el("h2", { id: "dialog-title" }, title);
  const trouble = el("p", { class: "trouble", role: "alert", hidden: true });
  const form = el("form", { method: "dialog" }, heading, content, trouble);
  const box = el("dialog", { "aria-labelledby": "dialog-title" }, form);
  return new Promise((resolve) => {
    let result = null;
    const act = async (action) => {
      try {
        result = action.run ? await action.run() : (action.value ?? null);
        box.close();
      } catch (error) {
        trouble.hidden = false;
        text(trouble, error.message);
      }
    };
    const buttons = actions.map((action, number) => {
      const main = number === actions.length - 1;
      const kind = action.danger ? "danger" : main ? "main" : "quiet";
      return el("button", { type: main ? "submit" : "button", class: kind, on: main ? {} : { click: () => act(action) } }, action.label);
    });
    form.append(el("div", { class: "actions" }, buttons));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      act(actions.at(-1));
    });
    box.addEventListener("close", () => {
      box.remove();
      resolve(result);
    });
    document.body.append(box);
    box.showModal();
  });
}

/** Ask before something is done: `run` does it, and its failure is shown in the question. */
export function confirm(title, question, label, run, danger = false) {
  return dialog(title, el("p", {}, question), [
    { label: "Cancel" },
    { label, danger, run: async () => (await run(), true) },
  ]);
}

/** Say something that needs no answer. */
export function toast(message, kind = "good") {
  const note = el("p", { class: `toast ${kind}` }, message);
  document.getElementById("toasts").append(note);
  setTimeout(() => note.remove(), SHOWN);
}

/** Return a listener that does something which may fail; then a note says why. */
export function attempt(work) {
  return async () => {
    try {
      await work();
    } catch (error) {
      if (error.name !== "AbortError") toast(error.message, "bad");
    }
  };
}

let asked = false;

/** Ask for the token, once, however many requests were refused; `again` where somebody asks for the question. */
export async function askToken(again = false) {
  if ((asked && again !== true) || document.getElementById("token")) return;
  asked = true;
  const told = hasToken()
    ? "The server refused this tab’s token: it is not, or no longer, the right one."
    : "The server needs its token, and this tab has none.";
  const field = el("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false" });
  const where = el(
    "p",
    {},
    "Open the address that ",
    el("code", {}, "headrace ui"),
    " printed, or paste the token here. It is in the file ",
    el("code", {}, "ui.token"),
    " in Headrace’s home, the folder ",
    el("code", {}, ".headrace"),
    " unless told otherwise.",
  );
  const content = [el("p", {}, told), where, el("label", { for: "token" }, "Token"), field];
  const answered = new AbortController();
  onToken("token", () => ((asked = false), field.closest("dialog")?.close()), answered.signal); // also by the address
  await dialog("Token needed", content, [{ label: "Later" }, { label: "Use this token", run: () => use(field.value) }]);
  answered.abort();
}

function use(value) {
  if (!value.trim()) throw new Error("Paste the token first.");
  setToken(/#token=([^&\s]+)/.exec(value)?.[1] ?? value); // the whole address will do as well
  return true;
}
