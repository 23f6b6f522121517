/* The page: asks whenever a field changes, and shows the answer; what goes wrong is said where it is. */
import { Gone, Refused, estimate, get } from "./api.js";
import { Kept, bestOf } from "./kept.js";
import { drawChoices, drawNumbers, resultRows } from "./fabrics.js";
import { saveCharts, saveRows } from "./charts/save.js";
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
    ["Iteration", seconds(best.iteration_time_s), best.estimated_s !== null ? `estimated ${seconds(best.estimated_s)}` : best.most_time_s > best.iteration_time_s ? `at most ${seconds(best.most_time_s)} if all is relayed` : best.configuration],
    ["Lower bound", seconds(next.bound_s), `${percent(best.gap)} above it; ${next.bound_words}`],
    ["Network", dollars(best.cost_usd), best.description],
  ];
  if (best.usd_per_hour !== null) tiles.push(["Cost per hour", dollars(best.usd_per_hour), "network, servers and running them; terms below"]);
  if (best.usd_per_unit !== null) tiles.push([`Cost per 1M ${next.unit}s`, dollars(best.usd_per_unit * 1e6), "network, servers and running them"]);
  $("tiles").replaceChildren(...tiles.map(([name, value, remark]) => element(
    "div", {}, element("dt", { text: name }), element("dd", { text: value }), element("dd", { class: remark.startsWith("estimated ") ? "remark estimated" : "remark", text: remark }))));
  pictures();
}

function planShown() { return wired.plan && wired.asked === shownWords ? wired.plan : null; }

function pictures() {
  const fabric = chosen ?? answer.best, plan = planShown();
  charts.show(figures, kept.dots);
  drawChoices($("fabrics"), answer, fabric, choose);
  drawNumbers($("numbers"), answer, fabric);
  drawing.show(answer, fabric, plan);
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
  if (wired.asked !== text) wired.forget();
  question.toAddress(kept.addresses, wired.key);
  document.body.dataset.asking = text;
  try {
    const next = await estimate(words);
    question.refuse(null, null);
    quiet(null);
    shownWords = text;
    document.body.classList.remove("refused");
    show(planShown()?.page ?? next);
    document.body.dataset.answered = text;
  } catch (error) {
    if (error.name !== "AbortError") failed(error);
  }
}

/* A refused question says so in place of an answer, with a button for the remedy that its message has; without the server, the last answer stays. */
function failed(error) {
  if (error instanceof Gone) {
    $("gone").textContent = error.message;
    $("gone").hidden = false;
    retry = setTimeout(ask, AGAIN_MS);
    return;
  }
  $("gone").hidden = true;
  if (error instanceof Refused) {
    question.refuse(error.field, error.message);
    document.body.classList.add("refused");
    $("sentence").textContent = "No answer to this question.";
    $("reason").textContent = error.message;
    quiet(null);
    const fix = remedyOf(error.message);
    $("fix").hidden = fix === null;
    if (fix) {
      $("fix").textContent = `Use ${fix.value} ${question.label(fix.name).toLowerCase()}`;
      $("fix").onclick = () => { question.words = { ...question.words, [fix.name]: fix.value }; ask(); };
    }
  } else quiet(error.message);
}

/* The field and the value that a message offers, such as servers=128, or as many servers as have the accelerators. */
function remedyOf(message) {
  const needed = message.match(/does not fit on ([\d,]+) .*?([\d,]+) accelerators would suffice/);
  if (needed) {
    const [has, needs] = needed.slice(1).map((text) => Number(text.replaceAll(",", "")));
    return { name: "servers", value: String(Math.ceil(question.words.servers * needs / has)) };
  }
  for (const [, name, value] of message.matchAll(/\b([a-z_]+)[= ](\d[\w.]*)(?= |[;,.)]|$)/g)) {
    if (question.inputs.has(name) && question.words[name] !== value) return { name, value };
  }
  return null;
}

function quiet(text) {
  $("gone").hidden = true;
  $("pending").hidden = text === null;
  $("pending").textContent = text ?? "";
  for (const place of [$("sentence"), $("reason"), $("tiles")]) place.classList.toggle("stale", text !== null && answer !== null);
}

function theme() {
  const kept = localStorage.getItem("theme");
  if (!document.documentElement.dataset.theme && kept) return kept;
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  return dark ? "dark" : "light";
}

function named() { $("theme").textContent = theme() === "dark" ? "Light mode" : "Dark mode"; }

/* Copy a text, and say so on the button. */
async function copy(button, text) {
  const said = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch { /* only pages of this machine or over HTTPS may copy */
    button.textContent = "Copying is blocked";
  }
  setTimeout(() => { button.textContent = said; }, AGAIN_MS);
}

async function start() {
  document.documentElement.dataset.theme = theme();
  named();
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
  wired = new Wired($("wired"), $("plan"), (plan) => { if (planShown()) show(plan.page); question.toAddress(kept.addresses, wired.key); });
  question = new Question($("question"), fields, ask);
  kept = new Kept($("kept"), $("keep"), () => { question.toAddress(kept.addresses, wired.key); if (answer) pictures(); }, (words) => { question.words = words; ask(); });
  $("keep").addEventListener("click", () => answer && kept.keep(answerWords(), answer));
  $("plan").addEventListener("click", () => wired.ask(answerWords()).catch(failed));
  $("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
    localStorage.setItem("theme", theme());
    named();
    if (answer) pictures();
  });
  addEventListener("resize", () => { charts.redraw(); drawing.redraw(); });
  addEventListener("popstate", reopen);
  $("link").addEventListener("click", () => copy($("link"), location.href));
  $("copy").addEventListener("click", () => copy($("copy"), answer.command));
  $("csv").addEventListener("click", () => saveRows("results.csv", resultRows(answer)));
  for (const name of ["pareto", "parts"]) saveCharts($(`${name}-files`), name, () => $(name).querySelector("svg.drawing"));
  await kept.fromAddress();
  reopen();
}

/* The question of the address, and its plan while the server has it. */
async function reopen() {
  question.words = question.fromAddress();
  const key = new URLSearchParams(location.hash.slice(1)).get("plan");
  if (key) await wired.reopen(key, question.words);
  ask();
}

/* The words of the answer that is shown, which may not be those that are typed by now. */
function answerWords() { return Object.fromEntries(new URLSearchParams(shownWords)); }

start();
