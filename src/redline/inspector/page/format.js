// Numbers, money, times and sizes as people read them.

const COUNT = new Intl.NumberFormat("en");
const TIME = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** 12,345; a dash where nothing is known. */
export function count(value) {
  return value === null || value === undefined ? "–" : COUNT.format(Math.round(value));
}

/** 12.3k, 1.2M: for places where there is little room. */
export function brief(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size < 1000) return String(Math.round(value));
  if (size < 1e6) return `${(value / 1e3).toFixed(size < 1e4 ? 1 : 0)}k`;
  return `${(value / 1e6).toFixed(size < 1e7 ? 1 : 0)}M`;
}

/** $0.0041, $12.30 */
export function money(usd) {
  if (usd === null || usd === undefined) return "–";
  const size = Math.abs(usd);
  return `${usd < 0 ? "−" : ""}$${size.toFixed(size && size < 0.1 ? 4 : 2)}`;
}

/** A share as a percentage. */
export function percent(share, digits = 0) {
  return share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`;
}

/** The day and the time of day, in this browser's time zone. */
export function when(timeMs) {
  return timeMs === null || timeMs === undefined ? "" : TIME.format(new Date(timeMs));
}

/** How long: 4 s, 12 min, 3 h, 5 days. */
export function span(ms) {
  if (ms === null || ms === undefined) return "";
  const seconds = Math.max(0, ms / 1000);
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

/** 4.1 MB */
export function bytes(size) {
  if (size === null || size === undefined) return "–";
  return size < 1e3 ? `${size} B` : size < 1e6 ? `${(size / 1e3).toFixed(0)} kB` : `${(size / 1e6).toFixed(1)} MB`;
}

/** 1 message, 2 messages */
export function counted(number, what) {
  return `${count(number)} ${what}${number === 1 ? "" : "s"}`;
}
