/* The page: asks whenever a field changes, and shows the answer; what goes wrong is said where it is. */
import { Gone, Refused, estimate, get } from "./api.js";
import { Kept, bestOf } from "./kept.js";
import { drawChoices, drawNumbers } from "./fabrics.js";
import { dollars, element, percent, seconds } from "./numbers.js";
import { Pictures } from "./pictures.js";
import { Question } from "./question.js";
import { TopologyDrawing } from "./topology.js";
import { Wired } from "./wired.js";

const AGAIN_MS = 2000;
const $ = (id) => document.getElementById(id);
let answer = null, figures = null, shownWords = "", chosen = null, retry = 0, question, kept, wired, drawing, charts;

function show(page) {
  const next = page.answer, best = bestOf(next);
  [answer, figures] = [next, page.figures];
  if (!next.fabrics.some((row) => row.fabric === chosen)) chosen = null;
  question.fill(next.question);
  $("sentence").textContent = next.sentence;
  $("reason").textContent = next.reason;
  $("prices").textContent = `Prices of the list ${next.prices}. Servers: ${next.terms}.` + next.skipped_fabrics.map(([name, why]) => ` Without ${name}: ${why}.`).join("");
  $("accuracy").textContent = next.accuracy;
  $("warnings").hidden = !next.warnings.length;
  $("warnings").replaceChildren(...next.warnings.map((text) => element("li", { text })));
  const tiles = [
    ["Iteration", seconds(best.iteration_time_s), best.most_time_s > best.iteration_time_s ? `at most ${seconds(best.most_time_s)} if all is relayed` : best.configuration],
    ["Bound", seconds(next.bound_s), `${percent(best.gap)} above it; ${next.bound_words}`],
    ["Network", dollars(best.cost_usd), best.description],
  ];
  if (best.usd_per_hour !== null) tiles.push(["An hour", dollars(best.usd_per_hour), "network, servers and running them; terms below"]);
  if (best.usd_per_unit !== null) tiles.push([`A million ${next.unit}s`, dollars(best.usd_per_unit * 1e6), "the same, for what is trained in it"]);
  $("tiles").replaceChildren(...tiles.map(([name, value, remark]) => element(
    "div", {}, element("dt", { text: name }), element("dd", { text: value }), element("dd", { class: "remark", text: remark }))));
  pictures();
}

function planShown() { return wired.plan && wired.asked === shownWords ? wired.plan : null; }

function pictures() {
  const fabric = chosen ?? answer.best, plan = planShown();
  charts.show(figures, kept.dots, plan && { fabrics: planned(plan) });
  drawChoices($("fabrics"), answer, fabric, choose);
  drawNumbers($("numbers"), answer, fabric);
  drawing.show(answer, fabric, plan);
}

/* What a plan has simulated, by the names that the page has for fabrics. */
function planned(plan) {
  const own = { rule: "topoopt", iteration_time_s: plan.iteration_time_s, cost_usd: plan.cost_usd };
  return [own, ...plan.fabrics].map((row) => ({ ...row, title: answer.fabrics.find((one) => one.rule === row.rule)?.title ?? row.rule }));
}

/* A click in a chart says what is written of a point: the fabric is the first or the second line of it. */
function chooseNamed(lines) {
  const row = answer.fabrics.find((one) => lines.slice(0, 2).includes(one.title));
  if (row) choose(row.fabric);
}

function choose(fabric) { chosen = fabric; pictures(); }

async function ask() {
  const words = question.words, text = new URLSearchParams(words).toString();
  clearTimeout(retry);
  question.toAddress(kept.addresses);
  document.body.dataset.asking = text;
  try {
    const next = await estimate(words);
    question.refuse(null, null);
    quiet(null);
    shownWords = text;
    if (wired.asked !== text && wired.plan) wired.forget();
    show(next);
    document.body.dataset.answered = text;
  } catch (error) {
    if (error.name !== "AbortError") failed(error);
  }
}

/* The last good answer stays; beside the field, or above the answer, stands what is wrong. */
function failed(error) {
  if (error instanceof Gone) {
    $("gone").textContent = error.message;
    $("gone").hidden = false;
    retry = setTimeout(ask, AGAIN_MS);
    return;
  }
  $("gone").hidden = true;
  const there = error instanceof Refused && question.refuse(error.field, error.message);
  quiet(there ? "Below is the last answer that there was." : error.message);
}

function quiet(text) {
  $("gone").hidden = true;
  $("pending").hidden = text === null;
  $("pending").textContent = text ?? "";
  for (const place of [$("sentence"), $("reason"), $("tiles")]) place.classList.toggle("stale", text !== null && answer !== null);
}

function theme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  return dark ? "dark" : "light";
}

async function start() {
  document.documentElement.dataset.theme = theme();
  let fields;
  try {
    fields = await get("/api/fields");
  } catch (error) {
    $("gone").textContent = error.message;
    $("gone").hidden = false;
    setTimeout(start, AGAIN_MS);
    return;
  }
  $("gone").hidden = true;
  $("version").textContent = `topoopt ${fields.version}`;
  drawing = new TopologyDrawing($("topology"), $("network"), $("topology-caption"));
  charts = new Pictures($("pareto"), $("parts"), chooseNamed);
  wired = new Wired($("wired"), $("plan"), () => pictures());
  question = new Question($("question"), fields, ask);
  kept = new Kept($("kept"), $("keep"), () => { question.toAddress(kept.addresses); if (answer) pictures(); }, (words) => { question.words = words; ask(); });
  $("keep").addEventListener("click", () => answer && kept.keep(answerWords(), answer));
  $("plan").addEventListener("click", () => wired.ask(answerWords()).catch(failed));
  $("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
    if (answer) pictures();
  });
  addEventListener("resize", () => { charts.redraw(); drawing.redraw(); });
  addEventListener("popstate", () => { question.words = question.fromAddress(); ask(); });
  await kept.fromAddress();
  ask();
}

/* The words of the answer that is shown, which may not be those that are typed by now. */
function answerWords() { return Object.fromEntries(new URLSearchParams(shownWords)); }

start();
