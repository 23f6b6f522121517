/* Lines across a chart that data are compared with, such as the memory that an accelerator has. */
import { shape, widthOf } from "./svg.js";

/* Limits are {value, label}, of the axis of values; `flat` bars lie, so that the line stands. */
export function limits(svg, at, rows, width, flat = false) {
  for (const { value, label } of rows) {
    const group = shape("g", { class: "limit" }, svg);
    if (flat) {
      const px = at.sx(value), left = px + widthOf(label, 12) > width;
      shape("path", { d: `M${px} ${at.y0}V${at.y1 - 6}` }, group);
      shape("text", { x: px + (left ? 4 : -4), y: at.y1 - 14, class: left ? "end" : "start" }, group, label);
    } else {
      const py = at.sy(value);
      shape("path", { d: `M${at.x0} ${py}H${at.x1}` }, group);
      shape("text", { x: at.x1 - 4, y: py - 7, class: "end" }, group, label);
    }
  }
}
