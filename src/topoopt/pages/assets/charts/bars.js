/* Bars of several series, beside each other or on top of each other, standing or lying. */
import { follow } from "./hover.js";
import { legend } from "./legend.js";
import { limits } from "./limits.js";
import { plane } from "./plane.js";
import { colorOf, shape } from "./svg.js";
import { said } from "./units.js";

export function drawBars(place, svg, figure, state, width, redraw) {
  const hidden = (state.hidden ??= new Set());
  const shown = figure.series.filter((one) => !hidden.has(one.name));
  if (figure.series.length > 1 || figure.stacked) place.insertBefore(legend(place, entries(figure), hidden, redraw), svg);
  const named = { label: figure.label, words: figure.words };
  const [x, y] = figure.horizontal ? [figure.value, named] : [named, figure.value];
  const at = plane(svg, width, figure.height, x, y, figure.horizontal && figure.limits.length ? 16 : 0);
  const along = figure.horizontal ? at.sy : at.sx, value = figure.horizontal ? at.sx : at.sy;
  const step = Math.abs(figure.horizontal ? at.y0 - at.y1 : at.x1 - at.x0) / Math.max(figure.words.length, 1);
  const thick = Math.min(step * 0.72, figure.stacked ? 46 : 46 * Math.max(shown.length, 1));
  const each = figure.stacked ? thick : thick / Math.max(shown.length, 1);
  const floor = value(figure.value.log ? figure.value.low : 0);
  const ends = figure.words.map(() => ({ up: 0, down: 0 }));
  shown.forEach((one, number) => {
    const group = shape("g", {}, at.data);
    group.style.color = colorOf(one.color);
    one.y.forEach((size, index) => {
      if (size === null || (figure.value.log && !(size > 0))) return;
      const side = size >= 0 ? "up" : "down";
      const from = figure.stacked ? value(ends[index][side]) : floor;
      const to = figure.stacked ? value((ends[index][side] += size)) : value(size);
      const begin = along(index) - thick / 2 + (figure.stacked ? 0 : number * each);
      const low = Math.min(from, to), long = Math.max(Math.abs(to - from), size === 0 ? 0 : 0.8);
      const broad = Math.max(each - (figure.stacked ? 0 : 1.5), 1);
      const area = figure.horizontal ? { x: low, y: begin, width: long, height: broad } : { x: begin, y: low, width: broad, height: long };
      shape("rect", { ...area, class: one.hollow ? "hollow" : "fill bar" }, group);
    });
  });
  shape("path", { d: figure.horizontal ? `M${floor} ${at.y0}V${at.y1}` : `M${at.x0} ${floor}H${at.x1}`, class: "axis" }, svg);
  limits(svg, at, figure.limits, width, figure.horizontal);
  const stops = figure.words.map((word, index) => stop(figure, shown, word, index, at, along(index), step));
  follow(place, svg, (px, py) => under(figure, stops, at, px, py, step), () => stops);
}

/* What all series say of a word. */
function stop(figure, shown, word, index, at, middle, step) {
  const { unit, scale } = figure.value;
  const told = (size) => said(size * (scale ?? 1), unit ?? "", 5);
  const parts = shown.filter((one) => one.y[index] !== null);
  const lines = parts.map((one) => `${one.name}: ${told(one.y[index])}${one.labels ? `, ${one.labels[index]}` : ""}`);
  if (figure.stacked && parts.length > 1) lines.push(`together: ${told(parts.reduce((sum, one) => sum + one.y[index], 0))}`);
  const area = figure.horizontal
    ? { x: at.x0, y: middle - step / 2, width: at.x1 - at.x0, height: step }
    : { x: middle - step / 2, y: at.y1, width: step, height: at.y0 - at.y1 };
  return {
    x: figure.horizontal ? (at.x0 + at.x1) / 2 : middle, y: figure.horizontal ? middle - step / 3 : at.y1 + 14,
    lines: [word, ...lines], mark: (layer) => shape("rect", { ...area, class: "band" }, layer),
  };
}

function under(figure, stops, at, px, py, step) {
  if (px < 0 || px > at.x1 + 16 || py < at.y1 - 8 || py > at.y0 + 40) return null;
  const index = Math.floor((figure.horizontal ? py - at.y1 : px - at.x0) / step);
  const found = stops[index];
  return found ? { ...found, ...(figure.horizontal ? { x: px } : { y: py }) } : null;
}

const entries = (figure) => figure.series.map((one) => ({ name: one.name, color: one.color, hollow: one.hollow }));
