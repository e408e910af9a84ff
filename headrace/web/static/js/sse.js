// Server-sent events by fetch, because an EventSource cannot send the token.

import { ApiError, checked, headers, parseJson } from "./api.js";

/** Split a stream of text into events; `push` takes a piece of it and returns those that are complete. */
export class Parser {
  #rest = "";

  push(piece) {
    const told = [];
    this.#rest = (this.#rest + piece).replaceAll("\r\n", "\n"); // the whole, because a piece may end between the two
    let from = 0;
    for (let end; (end = this.#rest.indexOf("\n\n", from)) >= 0; from = end + 2) {
      const event = parsed(this.#rest.slice(from, end));
      if (event) told.push(event);
    }
    this.#rest = this.#rest.slice(from);
    return told;
  }
}

function parsed(block) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
  }
  return data.length ? { name, data: parseJson(data.join("\n")) } : null;
}

/**
 * Read one connection to its end: `onEvent(name, data)` for each event, `onOpen()` when it stands.
 * With `silence`, a connection that says nothing for so many milliseconds, not even a comment, counts as lost.
 */
export async function read(url, { onEvent, onOpen, signal, silence = 0 }) {
  const ours = new AbortController();
  const stop = () => ours.abort();
  signal.addEventListener("abort", stop);
  let timer = 0;
  const heard = () => {
    clearTimeout(timer);
    if (silence) timer = setTimeout(stop, silence);
  };
  try {
    heard();
    const answer = await checked(await fetch(url, { headers: headers(), signal: ours.signal, cache: "no-store" }));
    onOpen?.();
    const parser = new Parser();
    const pieces = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let piece; !(piece = await pieces.read()).done; ) {
      heard();
      for (const event of parser.push(piece.value)) onEvent(event.name, event.data);
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

const PAUSES = [300, 700, 1500, 3000, 5000]; // milliseconds before the next attempt

/**
 * Keep a stream open until `signal` ends it. `url()` is asked anew for each connection, so that it can say from where.
 * `onState("open" | "lost" | "refused", error)` tells how it goes; a refused token is not tried again: `wake()` does.
 * What `onEvent` raises is not a matter of the connection: it is told, and the stream goes on.
 */
export function follow(url, { onEvent, onState, signal, silence }) {
  let wake = () => {};
  let failures = 0;
  const told = (name, data) => {
    if (signal.aborted) return; // what is still on its way would come once more by the next connection
    failures = 0;
    try {
      onEvent(name, data);
    } catch (error) {
      console.error(error);
    }
  };
  const run = async () => {
    while (!signal.aborted) {
      let state = "lost";
      try {
        await read(url(), { signal, silence, onEvent: told, onOpen: () => onState?.("open") });
      } catch (error) {
        if (signal.aborted) return;
        const refused = error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;
        state = refused ? "refused" : "lost";
        onState?.(state, error);
      }
      if (signal.aborted) return;
      const pause = state === "refused" ? null : PAUSES[Math.min(failures++, PAUSES.length - 1)];
      await new Promise((resolve) => {
        wake = resolve;
        signal.addEventListener("abort", resolve, { once: true });
        if (pause !== null) setTimeout(resolve, pause);
      });
    }
  };
  run();
  return { wake: () => wake() };
}

/** Keep a stream open as `follow` does, but only while the page is seen: a browser has six connections for all its tabs. */
export function followSeen(url, { signal, ...options }) {
  let opened = null;
  const close = () => {
    opened?.abort();
    opened = null;
  };
  const turn = () => {
    if (document.hidden) return close();
    if (opened) return;
    opened = new AbortController();
    follow(url, { ...options, signal: opened.signal });
  };
  document.addEventListener("visibilitychange", turn, { signal });
  signal.addEventListener("abort", close);
  turn();
}
