/* Answers that were kept, at most four, beside the present one. They are in the address, too. */
import { get } from "./api.js";
import { dollars, element, seconds } from "./numbers.js";

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

  show() {
    this.place.hidden = !this.rows.length;
    this.button.disabled = this.rows.length >= MOST;
    this.button.textContent = this.rows.length >= MOST ? "Four are kept" : "Keep this";
    this.place.textContent = "";
    this.place.append(element("h2", { text: "Kept" }));
    const names = ["", "Job", "Ports", "Network", "Iteration", "Price", "A million", ""];
    const head = element("thead", {}, element("tr", {}, ...names.map((text) => element(text ? "th" : "td", { scope: text ? "col" : null, text }))));
    const body = element("tbody");
    this.rows.forEach((row, index) => {
      const { answer } = row, best = bestOf(answer), letter = LETTERS[index];
      const open = element("button", { type: "button", text: "Open", "aria-label": `Open kept answer ${letter}` });
      open.addEventListener("click", () => this.onOpen(Object.fromEntries(new URLSearchParams(row.words))));
      const drop = element("button", { type: "button", text: "Drop", "aria-label": `Drop kept answer ${letter}` });
      drop.addEventListener("click", () => this.drop(index));
      const cells = [
        letter, `${answer.job} on ${answer.accelerators.toLocaleString("en-US")} ${answer.accelerator.toUpperCase()}`,
        `${answer.question.degree} × ${answer.question.bandwidth}`, best.title, seconds(best.iteration_time_s), dollars(best.cost_usd),
        best.usd_per_unit === null ? "unknown" : `${dollars(best.usd_per_unit * 1e6)} ${answer.unit}s`,
      ];
      body.append(element("tr", {}, ...cells.map((text) => element("td", { text })), element("td", {}, open, " ", drop)));
    });
    this.place.append(element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Kept answers, table" }, element("table", {}, head, body)));
  }
}

export function bestOf(answer) {
  return answer.fabrics.find((row) => row.fabric === answer.best) ?? answer.fabrics[0];
}
