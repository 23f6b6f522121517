/* Where the time goes: a bar for each fabric, and all numbers as a table. */
import { dollars, element, percent, rate, seconds, watts } from "./numbers.js";
import { nameOf } from "./pareto.js";

const PARTS = {
  compute_s: ["computing", 0], bubble_s: ["waiting for other stages", 6], tp_s: ["tensor parallel", 1], cp_s: ["context parallel", 4],
  ep_s: ["experts, all to all", 3], pp_s: ["between stages", 5], dp_s: ["gradients and weights", 2], communication_s: ["communication", 1],
};

export function drawParts(place, answer, chosen, onChoose) {
  const most = Math.max(...answer.fabrics.map((row) => row.iteration_time_s));
  const used = new Set(answer.fabrics.flatMap((row) => Object.keys(row.parts_s)));
  const focused = document.activeElement?.dataset?.fabric;
  place.textContent = "";
  for (const row of [...answer.fabrics].sort((a, b) => a.iteration_time_s - b.iteration_time_s)) {
    const said = Object.entries(row.parts_s).map(([part, time]) => `${PARTS[part]?.[0] ?? part} ${seconds(time)}`).join(", ");
    const button = element("button", {
      type: "button", text: nameOf(row.fabric), "aria-pressed": String(row.fabric === chosen), "data-fabric": row.fabric,
    });
    button.addEventListener("click", () => onChoose(row.fabric));
    const bar = element("div", { class: "bar", role: "img", "aria-label": `${nameOf(row.fabric)}: ${said}` });
    for (const part of Object.keys(PARTS)) {
      if (!row.parts_s[part]) continue;
      const piece = element("span", { title: `${PARTS[part][0]}: ${seconds(row.parts_s[part])}` });
      piece.style.width = `${(100 * row.parts_s[part]) / most}%`;
      piece.style.background = `var(--c${PARTS[part][1]})`;
      bar.append(piece);
    }
    place.append(element("div", { class: "row" }, button, bar, element("span", { class: "time", text: seconds(row.iteration_time_s) })));
    if (row.fabric === focused) button.focus();
  }
  const legend = element("ul", { class: "legend" });
  for (const [part, [name, color]] of Object.entries(PARTS)) {
    if (!used.has(part)) continue;
    const swatch = element("i");
    swatch.style.background = `var(--c${color})`;
    legend.append(element("li", {}, swatch, name));
  }
  place.append(legend);
}

export function drawNumbers(place, answer, chosen) {
  const unit = answer.unit === "token" ? "$ a million tokens" : "$ a million samples";
  const columns = [
    ["Fabric", (row) => row.label], ["Iteration", (row) => seconds(row.iteration_time_s), 1], ["Above bound", (row) => percent(row.gap), 1],
    ["Network", (row) => dollars(row.network_usd), 1], ["Power", (row) => watts(row.power_w), 1],
    ["$ an hour", (row) => dollars(row.usd_per_hour), 1],
    [unit, (row) => dollars(row.usd_per_unit === null ? null : row.usd_per_unit * 1e6), 1],
    ["A server has", (row) => rate(row.server_bandwidth_bps), 1], ["Split", (row) => row.configuration], ["Remark", (row) => row.note],
  ].filter(([name, of]) => answer.fabrics.some((row) => !["unknown", ""].includes(of(row))));
  const cell = (tag, [name, of, number], text) => element(tag, { class: number ? "number" : null, scope: tag === "th" ? "col" : null, text });
  const head = element("thead", {}, element("tr", {}, ...columns.map((one) => cell("th", one, one[0]))));
  const body = element("tbody", {}, ...answer.fabrics.map((row) => element(
    "tr", { class: row.fabric === chosen ? "chosen" : null }, ...columns.map((one) => cell("td", one, one[1](row))))));
  place.textContent = "";
  place.append(element("table", {}, head, body));
}
