/* The OpenAPI document as a page: each address, what it takes and what it answers. */
import { get } from "./api.js";
import { element } from "./numbers.js";

const dark = matchMedia("(prefers-color-scheme: dark)").matches;
document.documentElement.dataset.theme = dark ? "dark" : "light";
const document_ = await get("/api/openapi.json");
const place = document.getElementById("operations");
place.append(element("p", { text: document_.info.description }));

function table(names, rows) {
  const head = element("thead", {}, element("tr", {}, ...names.map((text) => element("th", { scope: "col", text }))));
  const body = element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((text) => element("td", { text })))));
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": names.join(", ") }, element("table", {}, head, body));
}

for (const [path, methods] of Object.entries(document_.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const card = element("section", { class: "card" }, element("h2", { text: `${method.toUpperCase()} ${path}` }), element("p", { text: operation.summary }));
    const words = operation.parameters ?? [];
    if (words.length) card.append(table(["Word", "Kind", "What it is"], words.map((one) => [one.name, one.schema.type, one.description])));
    const answers = Object.entries(operation.responses).map(([code, one]) => [code, one.description]);
    card.append(table(["Status", "Answer"], answers));
    place.append(card);
  }
}
