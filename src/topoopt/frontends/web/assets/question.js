/* The question: fields on the page, and the same in its address. */
import { combobox, families } from "./combobox.js";
import { element } from "./numbers.js";

const LABELS = {
  model: "Model", accelerator: "Accelerator", servers: "Servers", accelerators_per_server: "Accelerators per server",
  degree: "Ports per server", bandwidth: "Port speed", prices: "Price list", link_technology: "Link technology", years: "Years of use", utilization: "Utilization (share)",
  electricity_price: "Electricity ($/kWh)", interest: "Interest (share/year)", colocation: "Colocation ($/kW/month)", maintenance: "Maintenance (share/year)", staff: "Staff ($/year)", storage: "Storage ($)", server_price: "Server price ($)",
  global_batch: "Global batch (sequences)", seq: "Sequence length (tokens)", batch_per_accelerator: "Batch per accelerator",
};
const SHOWN = ["model", "servers", "accelerator", "accelerators_per_server", "degree", "bandwidth", "link_technology", "prices"];
const FOLDED = { Money: ["years", "server_price", "utilization", "electricity_price", "interest", "colocation", "maintenance", "staff", "storage"], Batch: ["global_batch", "seq", "batch_per_accelerator"] };
const SLIDERS = ["servers", "degree", "bandwidth"];
const TYPED = { accelerators_per_server: 1, global_batch: 1, seq: 1, batch_per_accelerator: 1, years: 1, utilization: 1, electricity_price: 1, interest: 1, colocation: 1, maintenance: 1, staff: 1, storage: 1 };
const FRACTIONS = ["years", "utilization", "electricity_price", "interest", "colocation", "maintenance", "staff", "storage"];

export class Question {
  constructor(form, fields, onChange) {
    this.form = form;
    this.fields = fields;
    this.onChange = onChange;
    this.inputs = new Map();
    this.errors = new Map();
    for (const name of SHOWN) form.append(this.field(name));
    for (const [title, names] of Object.entries(FOLDED)) {
      form.append(element("details", {}, element("summary", { text: title }), ...names.map((name) => this.field(name))));
    }
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", () => { this.settled = true; });
    this.settled = true;
    this.words = this.fromAddress();
    for (const [name, input] of this.inputs) if (this.words[name]) input.closest("details")?.setAttribute("open", "");
  }

  label(name) { return LABELS[name]; }

  get words() {
    const said = {};
    for (const [name, input] of this.inputs) if (input.value.trim() !== "") said[name] = input.value.trim();
    return said;
  }

  set words(words) {
    for (const [name, input] of this.inputs) {
      const value = words[name] === undefined ? "" : String(words[name]);
      if (input.tagName === "SELECT" && ![...input.options].some((one) => one.value === value)) {
        input.append(element("option", { value, text: value }));
      }
      input.value = value;
      this.follow(name);
    }
  }

  /* Show what was taken where nothing was said; the address stays as it is. */
  fill(words) {
    for (const name of SLIDERS) {
      const input = this.inputs.get(name);
      if (input.value === "" && document.activeElement !== input && words[name] !== undefined) {
        input.value = words[name];
        this.follow(name);
      }
    }
  }

  fromAddress() {
    const said = Object.fromEntries(new URLSearchParams(location.search));
    return Object.keys(said).length ? { ...said } : { ...this.fields.first };
  }

  /* Put question, saved scenarios and plan into the address. A new question is a step for Back; while a slider moves, one step. */
  toAddress(kept, plan) {
    const parts = [...kept.map((one) => ["keep", one]), ...(plan ? [["plan", plan]] : [])];
    const search = `?${new URLSearchParams(this.words)}`, hash = parts.length ? `#${new URLSearchParams(parts)}` : "";
    if (search !== location.search && location.search && this.settled) {
      history.pushState(null, "", search + hash);
      this.settled = false;
    } else history.replaceState(null, "", search + hash);
  }

  /* Say beside a field what is wrong with it; nothing clears it. Returns whether there is such a field. */
  refuse(field, message) {
    for (const [name, place] of this.errors) {
      const here = name === field && message !== null;
      place.textContent = here ? message : "";
      place.hidden = !here;
      this.inputs.get(name).toggleAttribute("aria-invalid", false);
      if (here) this.inputs.get(name).setAttribute("aria-invalid", "true");
    }
    if (field && this.errors.has(field)) this.inputs.get(field).closest("details")?.setAttribute("open", "");
    return this.errors.has(field);
  }

  field(name) {
    const id = `field-${name}`, error = element("p", { class: "error", id: `${id}-error`, role: "alert", hidden: true });
    const label = element("label", { for: id, text: LABELS[name] });
    const input = this.input(name, id);
    input.setAttribute("aria-describedby", error.id);
    input.title = this.fields.texts[name] ?? "";
    input.addEventListener("input", () => { this.follow(name); this.onChange(); });
    this.inputs.set(name, input);
    this.errors.set(name, error);
    const place = element("div", { class: "field" }, label);
    if (SLIDERS.includes(name)) place.append(element("div", { class: "both" }, this.slider(name), input));
    else place.append(input);
    if (name === "model") place.append(this.modelList);
    place.append(error);
    return place;
  }

  input(name, id) {
    if (name === "model") return this.models(id);
    const choices = { accelerator: this.fields.accelerators, prices: this.fields.prices, link_technology: this.fields.link_technology }[name];
    if (choices) {
      const usual = { accelerator: "default for this model", prices: "2026", link_technology: "pluggable" }[name];
      const options = [["", usual], ...choices.map((one) => [one, one])];
      return element("select", { id, name }, ...options.map(([value, text]) => element("option", { value, text })));
    }
    const number = name in TYPED || name === "servers" || name === "degree";
    const placeholder = TYPED[name] || name === "server_price" ? "default" : null;
    return element("input", {
      id, name, placeholder, type: number ? "number" : "text", autocomplete: "off",
      min: FRACTIONS.includes(name) ? 0 : number ? (name === "servers" ? 2 : 1) : null, step: FRACTIONS.includes(name) ? "any" : number ? 1 : null,
      inputmode: number ? "decimal" : null,
    });
  }

  models(id) {
    const { files, transformers, operators } = this.fields.models;
    const groups = [...families(transformers), ["graphs of operators", operators]];
    if (files.length) groups.unshift(["files", files]);
    const { input, list } = combobox(id, "model", "Models", groups);
    this.modelList = list;
    return input;
  }

  slider(name) {
    const stops = this.fields.stops[name];
    const slider = element("input", {
      type: "range", min: 0, max: stops.length - 1, step: 1, id: `slide-${name}`, "aria-label": `${LABELS[name]}, slider`,
    });
    slider.addEventListener("input", () => {
      this.inputs.get(name).value = stops[slider.value];
      slider.setAttribute("aria-valuetext", String(stops[slider.value]));
      this.onChange();
    });
    return slider;
  }

  /* Put the slider of a field at the stop nearest to its value. */
  follow(name) {
    const slider = this.form.querySelector(`#slide-${name}`);
    if (!slider) return;
    const stops = this.fields.stops[name].map((one) => parseFloat(one));
    const typed = this.inputs.get(name).value;
    const value = parseFloat(typed) * (/t/i.test(typed) ? 1000 : 1);
    if (!(value > 0)) return;
    const apart = stops.map((one) => Math.abs(Math.log(one / value)));
    slider.value = apart.indexOf(Math.min(...apart));
    slider.setAttribute("aria-valuetext", typed);
  }
}
