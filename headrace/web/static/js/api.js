// The server's HTTP API: the token, requests, and what went wrong in words.

const KEPT = "headrace.token";
const events = new EventTarget();
let token = "";

/** What the server refused or could not do; `status` is 0 where it did not answer at all. */
export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }
}

/** Take the token from the address, and out of it; return whether it had one. */
export function takeToken() {
  const found = /^#token=([^&]+)/.exec(location.hash);
  if (!found) return false;
  history.replaceState(null, "", "#/overview");
  setToken(decoded(found[1]));
  return true;
}

/** Use the token that this tab had before it was loaded again. */
export function recallToken() {
  try {
    token = sessionStorage.getItem(KEPT) ?? "";
  } catch {
    token = "";
  }
}

function decoded(value) {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** Use another token from now on, and keep it for this tab. */
export function setToken(value) {
  token = value.trim();
  try {
    sessionStorage.setItem(KEPT, token);
  } catch {
    // it lasts until the page is loaded again
  }
  events.dispatchEvent(new Event("token"));
}

/** Whether this tab has a token, right or wrong. */
export function hasToken() {
  return token !== "";
}

/** Call back when the token changes (`token`), or is refused or missing (`refused`). */
export function onToken(kind, listener, signal) {
  events.addEventListener(kind, listener, { signal });
}

/** Return what every request carries. */
export function headers() {
  // A header holds no other letters; a token that has some is wrong anyhow.
  return token ? { Authorization: `Bearer ${token.replace(/[^\x21-\x7e]/g, "?")}` } : {};
}

/** Raise what an answer tells if it is no good one; a refused token is asked for. */
export async function checked(answer) {
  if (answer.ok) return answer;
  let told = "";
  try {
    told = (await answer.json()).error ?? "";
  } catch {
    // not JSON: the status must do
  }
  if (answer.status === 401) events.dispatchEvent(new Event("refused"));
  throw new ApiError(told || `The server answered ${answer.status} ${answer.statusText}.`, answer.status);
}

/** Return `/api/…` with the query: what is empty is left out. */
export function address(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `/api/${path}${search ? `?${search}` : ""}`;
}

async function request(method, url, body, signal) {
  const given = body === undefined ? {} : { "Content-Type": "application/json" };
  let answer;
  try {
    answer = await fetch(url, {
      method,
      headers: { ...headers(), ...given },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      cache: "no-store",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server does not answer.", 0);
  }
  return parseJson(await (await checked(answer)).text());
}

const LONG = /\d{16}/; // digits from which a number may be more than a double holds

/** Parse JSON; whole numbers beyond 2^53 keep their digits, and are written as they were. */
export function parseJson(text) {
  if (!JSON.rawJSON || !LONG.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value, { source }) => {
    const unsafe = typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source);
    return unsafe ? JSON.rawJSON(source) : value;
  });
}

/** Ask for something: `get("topics/orders/events", {limit: 50})`. */
export function get(path, query = {}, signal = undefined) {
  return request("GET", address(path, query), undefined, signal);
}

/** Have something done. */
export function post(path, body = {}, signal = undefined) {
  return request("POST", address(path), body, signal);
}
