/* A plan: requested, watched while it runs, cancelled, and downloaded as files and a command. */
import { get, post } from "./api.js";
import { dollars, element, percent, seconds } from "./numbers.js";

export class Wired {
  constructor(place, button, onDone) {
    this.place = place;
    this.button = button;
    this.onDone = onDone;
    this.stream = null;
    this.key = null;
    this.state = null;
  }

  /* Ask for the plan of some words; the page shows how far it is. */
  async ask(words) {
    this.forget();
    this.button.disabled = true;
    try {
      this.follow(await post("/api/plans", words), words);
    } finally {
      this.button.disabled = false;
    }
  }

  /* Show the plan of an address again, while the server has it. */
  async reopen(key, words) {
    try {
      this.follow(await get(`/api/plans/${key}`), words);
    } catch { /* the server has dropped it: the estimate stays */ }
  }

  follow(state, words) {
    this.key = state.id;
    this.asked = new URLSearchParams(words).toString();
    this.show(state);
    if (state.status === "done") this.onDone(state.plan);
    else this.watch();
  }

  watch() {
    this.stream = new EventSource(`/api/plans/${this.key}/events`);
    this.stream.addEventListener("state", (event) => {
      const state = JSON.parse(event.data);
      this.show(state);
      if (["done", "failed", "cancelled"].includes(state.status)) {
        this.stream.close();
        if (state.status === "done") this.onDone(state.plan);
      }
    });
    this.stream.addEventListener("error", () => {
      if (this.stream.readyState !== EventSource.CLOSED) return; /* it tries again by itself */
      this.show({ ...this.state, status: "failed", message: "The server has ended, and the plan with it. Ask again." });
    });
  }

  forget() {
    this.stream?.close();
    this.place.hidden = true;
    this.state = this.key = null;
  }

  get plan() { return this.state?.status === "done" ? this.state.plan : null; }

  async cancel() {
    try {
      this.show(await get(`/api/plans/${this.key}`, { method: "DELETE" }));
    } catch (error) {
      this.show({ ...this.state, status: "failed", message: error.message });
    }
  }

  show(state) {
    const had = this.state?.status;
    this.state = state;
    this.place.hidden = false;
    if (state.status === "running" && had === "running") {
      this.progress(state);
      return;
    }
    this.place.textContent = "";
    this.place.append(element("h2", { text: { done: "Plan", failed: "No plan", cancelled: "Cancelled" }[state.status] ?? "Running the full plan" }));
    if (state.status === "done") this.done(state);
    else if (["failed", "cancelled"].includes(state.status)) {
      this.place.append(element("p", { text: state.message }));
      if (state.draft) this.place.append(element("p", { id: "draft", text: draftText(state.draft) }));
    }
    else this.going(state);
  }

  going(state) {
    const bar = element("progress", { id: "progress", max: 1, "aria-label": "Progress of the plan" });
    const stage = element("p", { id: "stage", class: "caption", role: "status" });
    const draft = element("p", { id: "draft", role: "status" });
    const cancel = element("button", { type: "button", id: "cancel", text: "Cancel" });
    cancel.addEventListener("click", () => this.cancel());
    this.place.append(stage, bar, draft, cancel);
    this.progress(state);
  }

  progress(state) {
    const bar = this.place.querySelector("progress"), stage = this.place.querySelector("#stage");
    const waiting = state.status === "waiting" ? `Waiting; ${state.ahead || "no"} other plan${state.ahead === 1 ? "" : "s"} first.` : `${state.stage}…`;
    if (stage.textContent !== waiting) stage.textContent = waiting;
    if (state.total > 0) bar.value = state.done / state.total;
    else bar.removeAttribute("value");
    const best = this.place.querySelector("#draft"), text = draftText(state.draft);
    if (best.textContent !== text) best.textContent = text;
  }

  /* The report itself, drawn when it is unfolded. */
  report(id) {
    const folded = element("details", { class: "report" }, element("summary", { text: "Show the report here" }));
    folded.addEventListener("toggle", () => {
      if (folded.open && !folded.querySelector("iframe")) {
        folded.append(element("iframe", { src: `/api/plans/${id}/report.html`, title: "Report of the plan" }));
      }
    });
    return folded;
  }

  done(state) {
    const plan = state.plan, file = (name, text) => element("a", { class: "button", href: `/api/plans/${state.id}/${name}`, download: name.endsWith("json") ? name : null, target: name.endsWith("html") ? "_blank" : null, rel: "noopener", text });
    const tiles = element("dl", { class: "tiles" });
    for (const [name, value] of [
      ["TopoOpt, iteration", seconds(plan.iteration_time_s)], ["Lower bound", seconds(plan.lower_bound_s)], ["Above lower bound", percent(plan.gap)], ["TopoOpt, network", dollars(plan.cost_usd)],
    ]) tiles.append(element("div", {}, element("dt", { text: name }), element("dd", { text: value })));
    this.place.append(
      element("p", { class: "caption", text: "The direct-connect plan of TopoOpt; the recommendation among all networks is above." }), tiles,
      element("h3", { text: "Download" }),
      element("div", { class: "actions" }, file("plan.json", "plan.json"), file("report.html", "Report")),
      element("p", { class: "caption", text: "The command that makes it again:" }),
      element("code", { class: "command", id: "command", text: state.command }),
    );
    this.place.append(this.report(state.id));
    if (plan.warnings.length) this.place.append(element("ul", { class: "warnings" }, ...plan.warnings.map((text) => element("li", { text }))));
  }
}

/* The best answer so far, in a sentence. */
function draftText(draft) {
  if (!draft) return "No answer yet.";
  const gap = draft.gap === null ? "" : `, ${percent(draft.gap)} above the bound of ${seconds(draft.lower_bound_s)}`;
  return `Best so far: ${seconds(draft.iteration_time_s)} an iteration on ${draft.wiring}${gap} (answer ${draft.number}).`;
}
