/* Numbers as a person reads them: 20 ms, 1.5 GB, $83 k; and where the ticks of an axis stand. */
const LARGE = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
const LONG = [[3600, "h"], [60, "min"]]; /* from two of them on, but for powers of ten */
const SMALL = [[1e-3, "m"], [1e-6, "µ"], [1e-9, "n"], [1e-12, "p"]];
const PREFIXED = new Set(["B", "b/s", "W", "$"]);

const trimmed = (value, digits) => String(+value.toPrecision(digits)).replace("-", "−");

/* The prefix that suits values up to this one: how much it is of the unit, and its letter. */
function prefixOf(most, unit, powers = false) {
  const size = Math.abs(most);
  const long = unit === "s" && !powers && LONG.find(([scale]) => size >= 2 * scale);
  if (long) return long;
  if (unit === "s") return size === 0 || size >= 1 ? [1, ""] : SMALL.find(([scale]) => size >= scale * (1 - 1e-9)) ?? SMALL.at(-1);
  const least = PREFIXED.has(unit) ? 1 : 10; /* a plain number has no prefix below 10,000 */
  return LARGE.find(([scale]) => size >= scale * least * (1 - 1e-9)) ?? [1, ""];
}

function written(number, prefix, unit) {
  if (unit === "$") return `$${number}${prefix ? ` ${prefix === "G" ? "B" : prefix}` : ""}`;
  const whole = prefix === "h" || prefix === "min" ? prefix : `${prefix}${unit}`;
  return `${number}${whole ? ` ${whole}` : ""}`;
}

/* A value in its unit, with the prefix that suits it; of powers of ten long times stay seconds. */
export function said(value, unit = "", digits = 4, powers = false) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return written("0", "", unit);
  const [scale, prefix] = prefixOf(value, unit, powers);
  return written(trimmed(value / scale, digits), prefix, unit);
}

/* The texts of ticks, all with one prefix; on an axis by logarithms each with its own. */
export function tickTexts(ticks, unit, log = false) {
  if (log) return ticks.map((tick) => said(tick, unit, 3, true));
  const most = Math.max(0, ...ticks.map(Math.abs));
  const [scale, prefix] = prefixOf(most, unit);
  return ticks.map((tick) => (tick === 0 ? "0" : written(trimmed(tick / scale, 7), prefix, unit)));
}

/* How much of the unit a tick should be a round number of: a minute or an hour of long times. */
export const roundIn = (most, unit) => (unit === "s" && Math.abs(most) >= 120 ? prefixOf(most, unit)[0] : 1);

/* Round values between two, about so many. */
export function niceTicks(low, high, about, whole = false) {
  const rough = (high - low) / Math.max(about, 1);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough * (1 - 1e-9)) ?? 10 * power;
  if (whole) step = Math.max(1, Math.round(step));
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n += 1) ticks.push(+(n * step).toPrecision(12));
  return ticks;
}

/* Powers of ten, and 2 and 5 of each where there is room. */
export function logTicks(low, high, about) {
  const from = Math.floor(Math.log10(low)), to = Math.ceil(Math.log10(high));
  const decades = Math.log10(high / low);
  for (const digits of decades * 3 <= about * 1.6 ? [[1, 2, 5]] : [[1], [1, 2, 5]]) {
    const every = digits.length > 1 ? 1 : Math.max(1, Math.ceil(decades / about));
    const ticks = [];
    for (let power = from; power <= to; power += 1) {
      if ((power - from) % every) continue;
      for (const digit of digits) {
        const tick = digit * 10 ** power;
        if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push(+tick.toPrecision(12));
      }
    }
    if (ticks.length >= 2) return ticks;
  }
  return niceTicks(low, high, about);
}
