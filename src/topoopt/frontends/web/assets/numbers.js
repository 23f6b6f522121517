/* Numbers as the report writes them, and what is not known in a word; elements with attributes. */
import { said } from "./charts/units.js";

export const unknown = "unknown";

const written = (unit) => (value) => (value === null || value === undefined ? unknown : said(value, unit, 3));

export const seconds = written("s");
export const dollars = written("$");
export const rate = written("b/s");
export const watts = written("W");

export function percent(share) {
  return share === null || share === undefined ? unknown : `${(100 * share).toFixed(Math.abs(share) < 0.1 ? 1 : 0)}%`;
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
