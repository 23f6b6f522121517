/* Money against time: a dot for each fabric, the line of those that no other beats, small letters for what was kept. */
import { dollars, element, seconds, ticks } from "./numbers.js";

const SVG = "http://www.w3.org/2000/svg";
const HIGH = 360, LEFT = 66, RIGHT = 20, TOP = 16, BELOW = 46;
let WIDE = 560; /* of the place, so that letters have their size on a phone, too */

function make(name, attributes, parent) {
  const one = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  parent?.append(one);
  return one;
}

export const NAMES = {
  topoopt: "TopoOpt", "ideal-switch": "Non-blocking", "fat-tree": "Half the ports", rail: "Rails",
  "oversub-fat-tree": "Fat-tree 2:1", expander: "Expander", torus: "Torus",
};
const COLORS = { topoopt: 0, "fat-tree": 1, "ideal-switch": 2, torus: 3, "oversub-fat-tree": 4, expander: 5, rail: 7 };
export const colorOf = (fabric) => `var(--c${COLORS[fabric] ?? 6})`;
export const nameOf = (fabric) => NAMES[fabric] ?? fabric;

/* Room around what there is: axes begin where the data is. */
function range(values) {
  const low = Math.min(...values), high = Math.max(...values);
  const room = Math.max((high - low) * 0.12, high * 0.02);
  return [Math.max(low - room, 0), high + room];
}

export function drawPareto(place, answer, kept, chosen, onChoose) {
  const rows = answer.fabrics.filter((row) => row.network_usd !== null);
  place.textContent = "";
  WIDE = Math.min(Math.max(place.clientWidth, 280), 760);
  if (!rows.length) {
    place.append(element("p", { class: "caption", text: "The price list has none of these ports: there is no price to draw." }));
    return;
  }
  const others = kept.filter((one) => one.usd !== null);
  const [x0, x1] = range([...rows.map((row) => row.network_usd), ...others.map((one) => one.usd)]);
  const [y0, y1] = range([...rows.flatMap((row) => [row.iteration_time_s, row.most_time_s]), ...others.map((one) => one.s)]);
  const x = (usd) => LEFT + ((usd - x0) / (x1 - x0)) * (WIDE - LEFT - RIGHT);
  const y = (time) => HIGH - BELOW - ((time - y0) / (y1 - y0)) * (HIGH - TOP - BELOW);
  const said = rows.map((row) => `${nameOf(row.fabric)}: ${seconds(row.iteration_time_s)}, ${dollars(row.network_usd)}`).join("; ");
  const svg = make("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `Network price and iteration time. ${said}` }, place);
  for (const at of ticks(x0, x1, 4)) {
    make("line", { class: "grid", x1: x(at), x2: x(at), y1: TOP, y2: HIGH - BELOW }, svg);
    make("text", { class: "tick", x: x(at), y: HIGH - BELOW + 16, "text-anchor": "middle" }, svg).textContent = dollars(at);
  }
  for (const at of ticks(y0, y1, 5)) {
    make("line", { class: "grid", x1: LEFT, x2: WIDE - RIGHT, y1: y(at), y2: y(at) }, svg);
    make("text", { class: "tick", x: LEFT - 6, y: y(at) + 4, "text-anchor": "end" }, svg).textContent = seconds(at);
  }
  make("text", { x: (LEFT + WIDE - RIGHT) / 2, y: HIGH - 8, "text-anchor": "middle" }, svg).textContent = "price of the network";
  make("text", { x: -(TOP + HIGH - BELOW) / 2, y: 12, transform: "rotate(-90)", "text-anchor": "middle" }, svg).textContent = "time of an iteration";
  const front = rows.filter((row) => row.on_front).sort((a, b) => a.network_usd - b.network_usd);
  const path = front.map((row, index) => index
    ? `H${x(row.network_usd)}V${y(row.iteration_time_s)}` : `M${x(row.network_usd)} ${y(row.iteration_time_s)}`).join("");
  make("path", { class: "front", d: path }, svg);
  const taken = [];
  for (const row of [...rows].sort((a, b) => a.iteration_time_s - b.iteration_time_s)) {
    const at = [x(row.network_usd), y(row.iteration_time_s)], color = colorOf(row.fabric);
    if (row.most_time_s > row.iteration_time_s * 1.002) {
      make("line", { x1: at[0], x2: at[0], y1: at[1], y2: y(row.most_time_s) }, svg).style.stroke = color;
    }
    const dot = make("circle", { class: row.fabric === chosen ? "dot chosen" : "dot", cx: at[0], cy: at[1], r: 7 }, svg);
    dot.style.fill = row.wired ? "var(--card)" : color;
    if (row.wired) { dot.style.stroke = color; dot.style.strokeWidth = 3; }
    dot.addEventListener("click", () => onChoose(row.fabric));
    make("title", {}, dot).textContent = `${row.label}: ${seconds(row.iteration_time_s)}, ${dollars(row.network_usd)}`;
    label(svg, at, nameOf(row.fabric), taken);
  }
  for (const one of others) {
    const at = [x(one.usd), y(one.s)];
    make("rect", { x: at[0] - 7, y: at[1] - 7, width: 14, height: 14, rx: 3, fill: "var(--card)", stroke: "var(--ink)" }, svg);
    make("text", { x: at[0], y: at[1] + 4, "text-anchor": "middle" }, svg).textContent = one.letter;
  }
}

/* A name beside a dot, where no other name is. */
function label(svg, [px, py], text, taken) {
  const wide = text.length * 6.6;
  const places = [[12, 4], [12, -12], [12, 20], [-12 - wide, 4], [-12 - wide, -12], [-12 - wide, 20], [12, 34], [-12 - wide, 34]];
  const fits = ([dx, dy]) => px + dx >= LEFT && px + dx + wide <= WIDE && !taken.some(
    (one) => px + dx < one[0] + one[2] && one[0] < px + dx + wide && Math.abs(one[1] - (py + dy)) < 14);
  const [dx, dy] = places.find(fits) ?? places[0];
  taken.push([px + dx, py + dy, wide]);
  make("text", { x: px + dx, y: py + dy }, svg).textContent = text;
}
