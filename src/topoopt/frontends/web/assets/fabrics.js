/* The fabrics of an answer: buttons that choose which one is looked into, and all numbers as a table. */
import { dollars, element, percent, rate, seconds, unknown, watts } from "./numbers.js";

const WIDE = ["Fabric", "Split"];

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
  const unit = `A million ${answer.unit}s`;
  const columns = [
    ["Fabric", (row) => row.description], ["Iteration", (row) => seconds(row.iteration_time_s), 1], ["Above bound", (row) => percent(row.gap), 1],
    ["Network", (row) => dollars(row.cost_usd), 1], ["Power", (row) => watts(row.power_w), 1],
    ["An hour", (row) => dollars(row.usd_per_hour), 1],
    [unit, (row) => dollars(row.usd_per_unit === null ? null : row.usd_per_unit * 1e6), 1],
    ["A server has", (row) => rate(row.server_bandwidth_bps), 1], ["Split", (row) => row.configuration], ["Remark", (row) => row.note],
  ].filter(([, of]) => answer.fabrics.some((row) => ![unknown, ""].includes(of(row))));
  const cell = (tag, [name, , number], text) => element(tag, { class: number ? "number" : WIDE.includes(name) ? "wide" : null, scope: tag === "th" ? "col" : null, text });
  const head = element("thead", {}, element("tr", {}, ...columns.map((one) => cell("th", one, one[0]))));
  const body = element("tbody", {}, ...answer.fabrics.map((row) => element(
    "tr", { class: row.fabric === chosen ? "chosen" : null }, ...columns.map((one) => cell("td", one, one[1](row))))));
  place.replaceChildren(element("table", {}, head, body));
}
