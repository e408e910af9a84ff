// Numbers, times and sizes as people read them.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const TENTH = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const NONE = "–";
let ahead = 0; // milliseconds by which the server's clock is ahead of this one

/** Take the server's time, against which all spans are reckoned. */
export function setClock(iso) {
  const told = Date.parse(iso);
  if (Number.isFinite(told)) ahead = told - Date.now();
}

/** Return the server's time in milliseconds. */
export function now() {
  return Date.now() + ahead;
}

const missing = (value) => value === null || value === undefined || Number.isNaN(value);

/** Return a count in full: 12,345. */
export function count(value) {
  return missing(value) ? NONE : WHOLE.format(value);
}

/** Return a number in short: 12.3K. */
export function short(value) {
  if (missing(value)) return NONE;
  return Math.abs(value) < 10_000 ? (Math.abs(value) < 100 ? TENTH : WHOLE).format(value) : SHORT.format(value);
}

/** Return a rate: 1,234/s. */
export function rate(value) {
  return missing(value) ? NONE : `${short(value)}/s`;
}

/** Return a count with its noun: 1 event, 2 events. */
export function many(value, noun, nouns = `${noun}s`) {
  return `${count(value)} ${value === 1 ? noun : nouns}`;
}

/** Return bytes: 1.2 MB. */
export function bytes(value) {
  if (missing(value)) return NONE;
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${(value < 10 && unit ? TENTH : WHOLE).format(value)} ${units[unit]}`;
}

/** Return a span of seconds: 340 ms, 4.2 s, 3 min 20 s, 2 h 5 min, 3 d 4 h. */
export function span(seconds) {
  if (missing(seconds)) return NONE;
  if (seconds < 0) return `−${span(-seconds)}`;
  if (seconds < 1) return `${WHOLE.format(seconds * 1000)} ms`;
  if (seconds < 10) return `${TENTH.format(seconds)} s`;
  const parts = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = parts.findIndex(([, size]) => Math.round(seconds) >= size);
  const [unit, size] = parts[first];
  const whole = Math.floor(Math.round(seconds) / size);
  const rest = parts[first + 1] && Math.floor((Math.round(seconds) % size) / parts[first + 1][1]);
  return `${whole} ${unit}${rest ? ` ${rest} ${parts[first + 1][0]}` : ""}`;
}

/** Return how long ago something was, by the server's clock. */
export function ago(iso) {
  const seconds = since(iso);
  if (seconds === null) return NONE;
  if (seconds < -1) return `in ${span(-seconds)}`;
  return seconds < 1 ? "just now" : `${span(Math.round(seconds))} ago`;
}

/** Return how many seconds have passed since a moment, or null. */
export function since(iso) {
  const moment = typeof iso === "number" ? iso * 1000 : Date.parse(iso);
  return iso === null || iso === undefined || Number.isNaN(moment) ? null : (now() - moment) / 1000;
}

/** Return the time of day, with milliseconds if asked. */
export function clock(iso, fine = false) {
  const moment = typeof iso === "number" ? new Date(iso) : new Date(iso ?? NaN);
  if (Number.isNaN(moment.getTime())) return NONE;
  const two = (value) => String(value).padStart(2, "0");
  const plain = `${two(moment.getHours())}:${two(moment.getMinutes())}:${two(moment.getSeconds())}`;
  return fine ? `${plain}.${String(moment.getMilliseconds()).padStart(3, "0")}` : plain;
}

/** Return date and time of day: 2024-05-01 10:00:05. */
export function moment(iso) {
  const when = new Date(iso ?? NaN);
  if (Number.isNaN(when.getTime())) return NONE;
  const two = (value) => String(value).padStart(2, "0");
  return `${when.getFullYear()}-${two(when.getMonth() + 1)}-${two(when.getDate())} ${clock(iso)}`;
}

/** Return any value of an event or a row on one line, cut where it is long. */
export function line(value, most = 400) {
  if (value === null || value === undefined) return "null";
  const told = typeof value === "string" ? value : JSON.stringify(value);
  return (told.length > most ? `${told.slice(0, most)}…` : told).replace(/[\r\n\t]+/g, " ");
}
