/* The marks of points, a shape for each name; hollow ones are figures of others. */
import { shape } from "./svg.js";

const OUTLINES = {
  square: (r) => `M${-r} ${-r}H${r}V${r}H${-r}Z`,
  "triangle-up": (r) => `M0 ${-1.25 * r}L${1.15 * r} ${0.85 * r}H${-1.15 * r}Z`,
  diamond: (r) => `M0 ${-1.35 * r}L${1.35 * r} 0L0 ${1.35 * r}L${-1.35 * r} 0Z`,
  "triangle-down": (r) => `M0 ${1.25 * r}L${1.15 * r} ${-0.85 * r}H${-1.15 * r}Z`,
  cross: (r) => { const a = 0.45 * r, b = 1.25 * r; return `M${-a} ${-b}H${a}V${-a}H${b}V${a}H${a}V${b}H${-a}V${a}H${-b}V${-a}H${-a}Z`; },
  x: (r) => { const a = 0.55 * r, b = 1.15 * r; return `M0 ${-a}L${b - a} ${-b}L${b} ${-b + a}L${a} 0L${b} ${b - a}L${b - a} ${b}L0 ${a}L${a - b} ${b}L${-b} ${b - a}L${-a} 0L${-b} ${a - b}L${a - b} ${-b}Z`; },
  star: (r) => {
    const points = Array.from({ length: 10 }, (_, n) => {
      const far = n % 2 ? 0.6 * r : 1.5 * r, turn = (Math.PI * n) / 5;
      return `${(far * Math.sin(turn)).toFixed(2)} ${(-far * Math.cos(turn)).toFixed(2)}`;
    });
    return `M${points.join("L")}Z`;
  },
};

/* Draws a mark in the current color of its parent. */
export function marker(parent, x, y, name, hollow = false, r = 4) {
  const outline = OUTLINES[name];
  const look = { class: hollow ? "hollow mark" : "fill mark" };
  if (!outline) return shape("circle", { cx: x, cy: y, r, ...look }, parent);
  return shape("path", { d: outline(r), transform: `translate(${x} ${y})`, ...look }, parent);
}
