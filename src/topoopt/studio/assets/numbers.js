/* Numbers as people write them. */
export const unknown = "unknown";

function digits(value, count = 3) {
  return value >= 10 ** (count - 1) ? Math.round(value).toLocaleString("en-US") : String(+value.toPrecision(count));
}

export function seconds(value) {
  if (value === null || value === undefined) return unknown;
  if (value >= 1) return `${digits(value)} s`;
  if (value >= 1e-3) return `${digits(value * 1e3)} ms`;
  return `${digits(value * 1e6)} µs`;
}

export function dollars(value) {
  if (value === null || value === undefined) return unknown;
  for (const [scale, unit] of [[1e9, "G$"], [1e6, "M$"], [1e3, "k$"]]) {
    if (value >= scale) return `${digits(value / scale)} ${unit}`;
  }
  return `${value >= 0.01 || value === 0 ? digits(value) : value.toPrecision(3)} $`;
}

export function rate(bps) {
  return bps >= 1e12 ? `${digits(bps / 1e12)} Tb/s` : `${digits(bps / 1e9)} Gb/s`;
}

export function watts(value) {
  if (value === null || value === undefined) return unknown;
  return value >= 1e6 ? `${digits(value / 1e6)} MW` : value >= 1e3 ? `${digits(value / 1e3)} kW` : `${digits(value)} W`;
}

export function percent(share) {
  return share === null || share === undefined ? unknown : `${(100 * share).toFixed(Math.abs(share) < 0.1 ? 1 : 0)} %`;
}

/* Round values from low to high, about as many as wanted. */
export function ticks(low, high, wanted = 5) {
  const raw = (high - low) / wanted;
  if (!(raw > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= raw);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high * (1 + 1e-9); at += step) found.push(+at.toPrecision(12));
  return found;
}

export function element(name, attributes = {}, ...children) {
  const one = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") one.textContent = value;
    else if (value !== null && value !== undefined && value !== false) one.setAttribute(key, value === true ? "" : value);
  }
  one.append(...children);
  return one;
}
