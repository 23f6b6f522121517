/* A text field with a list of names in groups below it: typing searches, arrows move, Enter takes, Escape leaves. */
import { element } from "./numbers.js";

const LETTERS = /[^a-z0-9]+/g;
const plain = (text) => text.toLowerCase().replace(LETTERS, "");

/* Groups are [title, names]. Returned are the field and its list; the field says `input` only when a name is taken. */
export function combobox(id, name, label, groups) {
  const input = element("input", {
    id, name, type: "text", role: "combobox", autocomplete: "off", spellcheck: "false",
    "aria-expanded": "false", "aria-autocomplete": "list", "aria-controls": `${id}-list`,
  });
  const list = element("div", { id: `${id}-list`, class: "names", role: "listbox", "aria-label": label, hidden: true });
  const rows = groups.flatMap(([title, names], place) => {
    const heading = element("div", { id: `${id}-group-${place}`, class: "family", role: "presentation", text: title });
    const group = element("div", { role: "group", "aria-labelledby": heading.id }, heading);
    list.append(group);
    return names.map((value, row) => {
      const option = element("div", { id: `${id}-${place}-${row}`, role: "option", "aria-selected": "false", text: value });
      group.append(option);
      return { value, option, group, words: plain(`${title} ${value}`) };
    });
  });
  const none = element("div", { role: "option", "aria-disabled": "true", "aria-selected": "false", text: "no model of that name", hidden: true });
  list.append(none);
  let before = "", active = null;

  const shown = () => rows.filter(({ option }) => !option.hidden);
  function point(row) {
    active?.option.setAttribute("aria-selected", "false");
    active = row ?? null;
    active?.option.setAttribute("aria-selected", "true");
    if (active) {
      input.setAttribute("aria-activedescendant", active.option.id);
      active.option.scrollIntoView({ block: "nearest" });
    } else input.removeAttribute("aria-activedescendant");
  }
  function search(text) {
    const parts = text.toLowerCase().split(/\s+/).map(plain);
    for (const row of rows) row.option.hidden = !parts.every((part) => row.words.includes(part));
    for (const { group } of rows) group.hidden = [...group.querySelectorAll("[role=option]")].every((option) => option.hidden);
    none.hidden = shown().length > 0;
  }
  function open(text) {
    search(text);
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    point(shown().find(({ value }) => value === input.value) ?? (text ? shown()[0] : null));
  }
  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    point(null);
  }
  function take(value) {
    input.value = value;
    close();
    if (value === before) return;
    before = value;
    for (const kind of ["input", "change"]) input.dispatchEvent(new CustomEvent(kind, { bubbles: true }));
  }

  input.addEventListener("focus", () => { before = input.value; input.select(); });
  input.addEventListener("click", () => { if (list.hidden) open(""); });
  input.addEventListener("input", (event) => {
    if (event instanceof CustomEvent) return;
    event.stopImmediatePropagation(); /* what is being typed is no model yet */
    open(input.value);
  });
  input.addEventListener("change", (event) => { if (!(event instanceof CustomEvent)) event.stopImmediatePropagation(); });
  input.addEventListener("keydown", (event) => {
    const { key } = event, step = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (step) {
      if (list.hidden) open("");
      else {
        const found = shown();
        point(found[(found.indexOf(active) + step + found.length) % found.length]);
      }
    } else if (key === "Enter" && active) take(active.value);
    else if (key === "Escape" && !list.hidden) { input.value = before; close(); } else return;
    event.preventDefault();
  });
  input.addEventListener("blur", () => {
    const typed = rows.find(({ value }) => value === input.value.trim());
    if (typed) take(typed.value);
    else { input.value = before; close(); }
  });
  list.addEventListener("pointerdown", (event) => {
    event.preventDefault(); /* the field keeps the focus */
    const row = rows.find(({ option }) => option === event.target);
    if (row) take(row.value);
  });
  return { input, list };
}

/* Names by what they begin with: llama3-8b and llama-7b are of llama. */
export function families(names) {
  const found = new Map();
  for (const name of names) {
    const family = name.match(/^[a-z]+/i)?.[0] ?? name;
    found.set(family, [...(found.get(family) ?? []), name]);
  }
  return [...found];
}
