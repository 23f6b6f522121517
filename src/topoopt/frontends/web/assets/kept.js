/* Saved scenarios, at most four, compared with the first one. They are in the address, too. */
import { get } from "./api.js";
import { dollars, element, percent, seconds } from "./numbers.js";

const MOST = 4, LETTERS = "ABCD";

export class Kept {
  constructor(place, button, onChange, onOpen) {
    this.place = place;
    this.button = button;
    this.onChange = onChange;
    this.onOpen = onOpen;
    this.rows = [];
  }

  get addresses() { return this.rows.map((row) => row.words); }

  get dots() {
    return this.rows.map((row, index) => {
      const best = bestOf(row.answer);
      return { letter: LETTERS[index], usd: best.cost_usd, s: best.iteration_time_s, said: `${row.answer.job}, ${best.title}` };
    });
  }

  async fromAddress() {
    for (const words of new URLSearchParams(location.hash.slice(1)).getAll("keep").slice(0, MOST)) {
      try {
        this.rows.push({ words, answer: await get(`/api/estimate?${words}`) });
      } catch { /* a question that is refused by now is not kept */ }
    }
    this.show();
  }

  keep(words, answer) {
    const text = new URLSearchParams(words).toString();
    if (this.rows.length >= MOST || this.rows.some((row) => row.words === text)) return;
    this.rows.push({ words: text, answer });
    this.show();
    this.onChange();
  }

  drop(index) {
    this.rows.splice(index, 1);
    this.show();
    this.onChange();
    (this.place.querySelector("button") ?? this.button).focus();
  }

  /* The difference of a figure from the first scenario's, of the same unit. */
  beside(index, name) {
    const [first, row] = [this.rows[0].answer, this.rows[index].answer];
    const [one, other] = [bestOf(first)[name], bestOf(row)[name]];
    if (!index || one === null || other === null || first.unit !== row.unit) return "";
    return ` (${other >= one ? "+" : "−"}${percent(Math.abs(other / one - 1))})`;
  }

  show() {
    this.place.hidden = !this.rows.length;
    this.button.disabled = this.rows.length >= MOST;
    this.button.textContent = this.rows.length >= MOST ? "Limit reached (4)" : "Save scenario";
    this.place.textContent = "";
    this.place.append(element("h2", { text: "Saved scenarios" }), element("p", { class: "caption", text: "Differences are from scenario A." }));
    const names = ["", "Job", "Ports", "Network", "Iteration", "Network cost", "Cost per 1M", ""];
    const head = element("thead", {}, element("tr", {}, ...names.map((text) => element(text ? "th" : "td", { scope: text ? "col" : null, text }))));
    const body = element("tbody");
    this.rows.forEach((row, index) => {
      const { answer } = row, best = bestOf(answer), letter = LETTERS[index];
      const open = element("button", { type: "button", text: "Open", "aria-label": `Open scenario ${letter}` });
      open.addEventListener("click", () => this.onOpen(Object.fromEntries(new URLSearchParams(row.words))));
      const drop = element("button", { type: "button", text: "Remove", "aria-label": `Remove scenario ${letter}` });
      drop.addEventListener("click", () => this.drop(index));
      const cells = [
        letter, `${answer.job} on ${answer.accelerators.toLocaleString("en-US")} ${answer.accelerator.toUpperCase()}`,
        `${answer.question.degree} × ${answer.question.bandwidth}`, best.title, seconds(best.iteration_time_s) + this.beside(index, "iteration_time_s"),
        dollars(best.cost_usd) + this.beside(index, "cost_usd"),
        best.usd_per_unit === null ? "unknown" : `${dollars(best.usd_per_unit * 1e6)} ${answer.unit}s${this.beside(index, "usd_per_unit")}`,
      ];
      body.append(element("tr", {}, ...cells.map((text) => element("td", { text })), element("td", {}, open, " ", drop)));
    });
    this.place.append(element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Saved scenarios, table" }, element("table", {}, head, body)));
  }
}

export function bestOf(answer) {
  return answer.fabrics.find((row) => row.fabric === answer.best) ?? answer.fabrics[0];
}
