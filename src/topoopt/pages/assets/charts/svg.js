/* Elements of SVG and of HTML, and how wide a text is. */
const SPACE = "http://www.w3.org/2000/svg";

export function shape(name, attributes = {}, parent = null, text = null) {
  const one = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  if (text !== null) one.textContent = text;
  if (parent) parent.append(one);
  return one;
}

export function element(name, text = "", parent = null, className = "") {
  const one = document.createElement(name);
  one.textContent = text;
  if (className) one.className = className;
  if (parent) parent.append(one);
  return one;
}

let pen = null;

export function widthOf(text, size = 12.5) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

/* A text that is no wider than so many pixels. */
export function shortened(text, most, size = 12.5) {
  if (widthOf(text, size) <= most) return text;
  let letters = text.length;
  while (letters > 1 && widthOf(`${text.slice(0, letters)}…`, size) > most) letters -= 1;
  return `${text.slice(0, letters)}…`;
}

export const isDark = () => getComputedStyle(document.documentElement).colorScheme === "dark";

/* The color of a series: its number among those of the page, which are light or dark as that is. */
export const colorOf = (color) => (color === "plain" ? "var(--plain)" : `var(--c${color})`);
