/* The names of what is drawn, each with its color; a click hides it or shows it again. */
import { colorOf, element, shape } from "./svg.js";
import { marker } from "./marks.js";

/* Entries are {name, color, dash, mark, hollow, line}; `hidden` is the set of names that are not drawn. */
export function legend(place, entries, hidden, changed) {
  const list = element("div", "", place, "legend");
  for (const entry of entries) {
    const button = element("button", "", list);
    button.type = "button";
    button.setAttribute("aria-pressed", String(!hidden.has(entry.name)));
    const key = shape("svg", { width: 26, height: 14, "aria-hidden": "true" }, button);
    key.style.color = colorOf(entry.color);
    if (entry.line) shape("path", { d: "M1 7H25", class: `stroke ${entry.dash ?? "solid"}` }, key);
    if (entry.mark) marker(key, 13, 7, entry.mark, entry.hollow, 4.2);
    if (!entry.line && !entry.mark) shape("rect", { x: 7, y: 1, width: 12, height: 12, rx: 2, class: entry.hollow ? "hollow" : "fill" }, key);
    element("span", entry.name, button);
    button.addEventListener("click", () => {
      if (hidden.has(entry.name)) hidden.delete(entry.name);
      else hidden.add(entry.name);
      changed();
    });
  }
  return list;
}
