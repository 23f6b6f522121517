/* Arcs around a center: 0 degrees on top, and clockwise. */
import { follow } from "./hover.js";
import { legend } from "./legend.js";
import { colorOf, shape } from "./svg.js";

export function drawPolar(place, svg, figure, state, width, redraw) {
  const hidden = (state.hidden ??= new Set());
  place.insertBefore(legend(place, [...figure.kinds, ...figure.circles.map((one) => ({ name: one.name, color: "plain", line: true, dash: "dash" }))], hidden, redraw), svg);
  const radius = Math.min(width / 2 - 46, figure.height / 2 - 26), cx = width / 2, cy = figure.height / 2;
  const at = (degrees, far) => {
    const turn = (degrees * Math.PI) / 180;
    return [cx + far * radius * Math.sin(turn), cy - far * radius * Math.cos(turn)];
  };
  const point = (degrees, far) => at(degrees, far).map((one) => one.toFixed(2)).join(" ");
  shape("circle", { cx, cy, r: radius, class: "frame" }, svg);
  for (const [degrees, text] of figure.ticks) {
    const [x, y] = at(degrees, 1), [tx, ty] = at(degrees, 1 + 14 / radius);
    shape("path", { d: `M${cx} ${cy}L${x} ${y}`, class: "spoke" }, svg);
    const side = Math.abs(tx - cx) < 8 ? "" : tx > cx ? " start" : " end";
    shape("text", { x: tx, y: ty, class: `tick${side}` }, svg, text);
  }
  figure.arcs.forEach(([start, wide, inner, outer, kind]) => {
    if (hidden.has(figure.kinds[kind].name)) return;
    const end = start + Math.min(wide, 359.99), far = Math.min(wide, 359.99) > 180 ? 1 : 0;
    const d = `M${point(start, inner)}L${point(start, outer)}A${outer * radius} ${outer * radius} 0 ${far} 1 ${point(end, outer)}L${point(end, inner)}A${inner * radius} ${inner * radius} 0 ${far} 0 ${point(start, inner)}Z`;
    shape("path", { d, class: "fill" }, svg).style.color = colorOf(figure.kinds[kind].color);
  });
  for (const one of figure.circles) {
    if (!hidden.has(one.name)) shape("circle", { cx, cy, r: one.radius * radius, class: "around dash" }, svg);
  }
  const found = ([start, wide, inner, outer, kind, label]) => {
    const [x, y] = at(start + wide / 2, outer);
    return { x, y, lines: [figure.kinds[kind].name, label] };
  };
  follow(place, svg, (px, py) => {
    const far = Math.hypot(px - cx, py - cy) / radius;
    const degrees = ((Math.atan2(px - cx, cy - py) * 180) / Math.PI + 360) % 360;
    const met = figure.arcs.find(([start, wide, inner, outer]) => inner <= far && far <= outer && (degrees - start + 720) % 360 <= wide);
    return met ? found(met) : null;
  }, () => figure.arcs.map(found));
}
