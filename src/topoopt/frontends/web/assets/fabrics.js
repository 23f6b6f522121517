/* The fabrics of an answer: buttons that choose which one is looked into, and all numbers as a table. */
import { dollars, element, percent, rate, seconds, unknown, watts } from "./numbers.js";

const WIDE = ["Network"];

export function drawChoices(place, answer, chosen, onChoose) {
  const focused = document.activeElement?.dataset?.fabric;
  place.replaceChildren(...answer.fabrics.map((row) => {
    const button = element("button", { type: "button", text: row.title, title: row.description, "aria-pressed": String(row.fabric === chosen), "data-fabric": row.fabric });
    button.addEventListener("click", () => onChoose(row.fabric));
    return button;
  }));
  if (focused) place.querySelector(`[data-fabric="${focused}"]`)?.focus();
}

export function drawNumbers(place, answer, chosen) {
  const columns = columnsOf(answer);
  const cell = (tag, [name, , number], text) => element(tag, { class: number ? "number" : WIDE.includes(name) ? "wide" : null, scope: tag === "th" ? "col" : null, text });
  const head = element("thead", {}, element("tr", {}, ...columns.map((one) => cell("th", one, one[0]))));
  const body = element("tbody", {}, ...answer.fabrics.map((row) => element(
    "tr", { class: row.fabric === chosen ? "chosen" : null }, ...columns.map((one) => {
      const written = cell("td", one, one[1](row));
      if (one[0] === "Network") written.append(...[row.fabric === answer.best && "recommended", row.configuration, row.note].filter(Boolean).map((text) => element("small", { text })));
      if (one[0] === "Iteration" && row.estimated_s !== null) written.append(element("small", { class: "estimated", text: `estimated ${seconds(row.estimated_s)}` }));
      return written;
    }))));
  place.replaceChildren(element("table", {}, head, body));
}

function columnsOf(answer) {
  return [
    ["Network", (row) => row.title], ["Iteration", (row) => seconds(row.iteration_time_s), 1], ["Above bound", (row) => percent(row.gap), 1],
    ["Network cost", (row) => dollars(row.cost_usd), 1], ["Power", (row) => watts(row.power_w), 1],
    ["Cost per hour", (row) => dollars(row.usd_per_hour), 1],
    [`Cost per 1M ${answer.unit}s`, (row) => dollars(row.usd_per_unit === null ? null : row.usd_per_unit * 1e6), 1],
    ["Per server", (row) => rate(row.server_bandwidth_bps), 1],
  ].filter(([, of]) => answer.fabrics.some((row) => ![unknown, ""].includes(of(row))));
}

/* All results with all digits, as rows for a spreadsheet. */
export function resultRows(answer) {
  const names = ["fabric", "title", "description", "iteration_time_s", "estimated_s", "gap", "cost_usd", "power_w", "usd_per_hour", "usd_per_unit", "server_bandwidth_bps", "configuration", "on_front"];
  return [names, ...answer.fabrics.map((row) => names.map((name) => row[name]))];
}
