/* A matrix as colors, row 0 on top: one hue, from the color of the page to what stands out from it. */
import { follow } from "./hover.js";
import { isDark, shape, widthOf } from "./svg.js";
import { logTicks, niceTicks, said, tickTexts } from "./units.js";

const SHADES = ["#08306b", "#08519c", "#2171b5", "#4292c6", "#6baed6", "#9ecae1", "#c6dbef", "#deebf7"];
const LEVELS = 40;

/* The color of a share from 0 to 1. */
export function shade(share) {
  const place = Math.min(Math.max(share, 0), 1) * (SHADES.length - 1), low = Math.min(Math.floor(place), SHADES.length - 2);
  const channel = (color, at) => parseInt(color.slice(at, at + 2), 16);
  const mixed = [1, 3, 5].map((at) => Math.round(channel(SHADES[low], at) + (place - low) * (channel(SHADES[low + 1], at) - channel(SHADES[low], at))));
  return `rgb(${mixed.join(" ")})`;
}

export function drawHeatmap(place, svg, figure, state, width) {
  const { value } = figure, rows = figure.rows.map((row) => unpacked(row, figure.levels));
  const down = rows.length, across = Math.max(1, ...rows.map((row) => row.length));
  const left = 30 + widthOf(String(down), 12.5), top = 6, foot = 96;
  const cell = Math.min((width - left - 12) / across, Math.max((figure.height - foot) / down, (width - left - 12) / across / 4));
  const wide = width - left - 12, step = across >= down * 2 ? wide / across : Math.min(cell, wide / across);
  const tall = across >= down * 2 ? Math.min(34, Math.max(step, 12)) : step;
  const x0 = left, y0 = top, x1 = x0 + step * across, y1 = y0 + tall * down;
  svg.setAttribute("height", y1 + foot);
  svg.setAttribute("viewBox", `0 0 ${width} ${y1 + foot}`);
  const unit = value.scale ?? 1;
  const present = rows.flat().filter((one) => one !== null && one !== 0 && (!figure.log || one > 0)).map((one) => one * unit);
  const own = [figure.log ? Math.min(...present) : Math.min(0, ...present), present.length ? Math.max(...present) : 1];
  const [least, most] = figure.range?.map((end) => end * unit) ?? own;
  const share = (one) => (figure.log ? Math.log(one / least) / Math.log(most / least) : (one - least) / (most - least || 1));
  const color = (part) => shade(isDark() ? part : 1 - part);
  const paths = Array.from({ length: LEVELS + 1 }, () => "");
  rows.forEach((row, down_) => row.forEach((one, over) => {
    if (one === null || one === 0 || (figure.log && one < 0)) return;
    paths[Math.round(share(one * unit) * LEVELS)] += `M${(x0 + over * step).toFixed(2)} ${(y0 + down_ * tall).toFixed(2)}h${step.toFixed(2)}v${tall.toFixed(2)}h${(-step).toFixed(2)}Z`;
  }));
  paths.forEach((d, level) => { if (d) shape("path", { d, fill: color(level / LEVELS), "shape-rendering": "crispEdges" }, svg); });
  shape("rect", { x: x0, y: y0, width: x1 - x0, height: y1 - y0, class: "frame" }, svg);
  const middle = (at, from, size) => from + (at + 0.5) * size;
  for (const tick of niceTicks(0, across - 1, Math.max(2, (x1 - x0) / 54), true)) shape("text", { x: middle(tick, x0, step), y: y1 + 13, class: "tick" }, svg, String(tick));
  for (const tick of niceTicks(0, down - 1, Math.max(1, (y1 - y0) / 30), true)) shape("text", { x: x0 - 6, y: middle(tick, y0, tall), class: "tick end" }, svg, String(tick));
  shape("text", { x: (x0 + x1) / 2, y: y1 + 31, class: "label" }, svg, figure.x_label);
  shape("text", { transform: `translate(9 ${(y0 + y1) / 2}) rotate(-90)`, class: "label" }, svg, figure.y_label);
  colorBar(svg, figure, { x: x0, y: y1 + 48, width: Math.max(x1 - x0, 120) }, { least, most, share, color });
  follow(place, svg, (px, py) => {
    const over = Math.floor((px - x0) / step), below = Math.floor((py - y0) / tall);
    if (!(over >= 0 && over < across && below >= 0 && below < down)) return null;
    const one = rows[below][over], label = value.label ? `${value.label}: ` : "";
    return {
      x: middle(over, x0, step), y: y0 + below * tall,
      lines: [`${figure.y_label} ${below}, ${figure.x_label} ${over}`, `${label}${said(one === null ? null : one * unit, value.unit, 5)}`],
      mark: (layer) => shape("rect", { x: x0 + over * step, y: y0 + below * tall, width: step, height: tall, class: "outline" }, layer),
    };
  }, () => []);
}

/* The values of a row that says how often which level comes. */
function unpacked(row, levels) {
  const values = [];
  for (let at = 0; at < row.length; at += 2) for (let n = row[at + 1]; n > 0; n -= 1) values.push(levels[row[at]]);
  return values;
}

function colorBar(svg, figure, place, { least, most, share, color }) {
  const parts = 48;
  for (let n = 0; n < parts; n += 1) {
    shape("rect", { x: place.x + (n * place.width) / parts, y: place.y, width: place.width / parts + 0.6, height: 9, fill: color(n / (parts - 1)) }, svg);
  }
  const about = Math.max(2, Math.floor(place.width / 80));
  const counts = figure.levels.every((level) => level === null || Number.isInteger(level)) && most <= 20; /* of things, none between two */
  const ticks = figure.log ? logTicks(least, most, about) : niceTicks(least, most, about, counts);
  const texts = tickTexts(ticks, figure.value.unit, figure.log);
  let free = -1e9;
  ticks.forEach((tick, index) => {
    const at = place.x + share(tick) * place.width, half = widthOf(texts[index], 12.5) / 2;
    if (at - half < free) return;
    free = at + half + 8;
    shape("text", { x: at, y: place.y + 20, class: "tick" }, svg, texts[index]);
  });
  const label = [figure.value.label, figure.log ? "log scale" : ""].filter(Boolean).join(", ");
  if (label) shape("text", { x: place.x + place.width / 2, y: place.y + 38, class: "label" }, svg, label);
}
