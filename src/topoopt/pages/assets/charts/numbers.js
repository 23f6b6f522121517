/* The points of a figure as a table, for those who want them or do not see them drawn. */
import { element } from "./svg.js";
import { said } from "./units.js";

const MOST = 1500;

const inUnit = (axis, value) => (typeof value === "string" ? value : said(value === null ? null : value * (axis.scale ?? 1), axis.unit ?? "", 6));

const ROWS = {
  lines: (figure) => [
    ["series", figure.x.label || "x", figure.y.label || "y"],
    ...figure.series.flatMap((one) => one.x.map((x, index) => [one.name, inUnit(figure.x, x), inUnit(figure.y, one.y[index])])),
  ],
  bars: (figure) => [
    [figure.label || "", ...figure.series.map((one) => one.name)],
    ...figure.words.map((word, index) => [word, ...figure.series.map((one) => inUnit(figure.value, one.y[index]))]),
  ],
  timeline: (figure) => [
    ["what", "from", "to"],
    ...figure.bars.map(([, start, finish, , label]) => [label, said(start, "s", 6), said(finish, "s", 6)]),
  ],
  stages: (figure) => [["stage", "busy"], ...figure.stages.map((one) => [`${one.name}: ${one.lines.join("; ")}`, said(one.busy_s, "s")])],
};

/* The points of a figure as rows, the first with the headings; none of a drawing without points. */
export function rowsOf(figure) { return ROWS[figure.kind]?.(figure) ?? []; }

export function addNumbers(place, figure) {
  const all = rowsOf(figure);
  if (all.length < 2 || all.length > MOST) return;
  const details = element("details", "", null, "numbers");
  element("summary", "The numbers", details);
  details.addEventListener("toggle", () => {
    if (details.childElementCount > 1) return;
    const scroll = element("div", "", details, "scroll");
    Object.assign(scroll, { tabIndex: 0 });
    const table = element("table", "", scroll);
    all.forEach((row, index) => {
      const line = table.insertRow();
      for (const cell of row) element(index ? "td" : "th", cell, line);
    });
  });
  place.after(details);
}
