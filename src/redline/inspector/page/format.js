// Numbers, money, times and sizes as people read them.
const COUNT = new Intl.NumberFormat("en");
const TIME = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const known = (show, otherwise = "–") => (value, digits) => (value === null || value === undefined ? otherwise : show(value, digits));

export const count = known((value) => COUNT.format(Math.round(value)));

/** 12.3k, 1.2M */
export const brief = known((value) => {
  const size = Math.abs(value);
  if (size < 1e3) return String(Math.round(value));
  return size < 1e6 ? `${(value / 1e3).toFixed(size < 1e4 ? 1 : 0)}k` : `${(value / 1e6).toFixed(size < 1e7 ? 1 : 0)}M`;
});

/** $0.0041, $12.30, $1,217.35; what rounds to nothing is $0.00, without a sign */
export const money = known((usd) => {
  const size = Math.round(Math.abs(usd) * 1e4) / 1e4;
  const digits = size && size < 0.1 ? 4 : 2;
  return `${usd < 0 && size ? "−" : ""}$${size.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
});

export const percent = known((share, digits = 0) => `${(100 * share).toFixed(digits)} %`);

export const when = known((timeMs) => TIME.format(timeMs), "");

/** 4 s, 12 min, 3 h, 5 days */
export const span = known((ms) => {
  const [size, unit] = [[1, "s"], [60, "min"], [3600, "h"], [86400, "days"]].findLast(([size]) => size === 1 || ms >= 1500 * size);
  return `${Math.round(Math.max(0, ms) / 1000 / size)} ${unit}`;
}, "");

/** 4.1 MB */
export const bytes = known((size) => (size < 1e6 ? `${Math.ceil(size / 1e3)} kB` : `${(size / 1e6).toFixed(1)} MB`));

export const counted = (number, what) => `${count(number)} ${what}${number === 1 ? "" : "s"}`;
