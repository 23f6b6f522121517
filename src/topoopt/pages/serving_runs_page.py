"""Predictions of measured serving runs as a page, and a calibration of one's own: how far they are off."""

from collections import defaultdict

from topoopt.measurements.serving import OwnFit, PredictedServing
from topoopt.pages.page import Notes, Page, Section, Table
from topoopt.pages.rows import facts, number, table, text

QUANTITY_WORDS = {
    "tpot": "time per output token",
    "ttft": "time to first token",
    "prefill": "reading a batch of prompts",
    "e2e": "a whole batch",
    "offline_throughput": "throughput, all at once",
    "throughput": "throughput",
    "prompt_rate": "rate of reading prompts",
    "kv_transfer": "moving a request's caches",
    "kv_bytes": "bytes of a request's caches",
}
SHOWN, GROUPED = 8, ("tpot", "ttft")


def serving_runs_page(answer: PredictedServing) -> Page:
    """Return errors by quantity, those of the two times of users by what was measured, and what has no score."""
    entries = {"predicted": f"{len(answer.predictions):,} runs", "calibration": answer.calibration}
    sections = [Section("runs", "Runs", "", (facts(entries),))]
    if answer.quantities:
        rows = [{"quantity": QUANTITY_WORDS[name], "error": answer.error(name)} for name in answer.quantities]
        remark = "percent of what was measured; rows of benchmarks/data/serving_runs.csv are not held out"
        sections.append(Section("errors", "Errors", "", (_errors("quantity", rows),), remark))
    for name in GROUPED:
        if name in answer.quantities:
            tables = tuple(
                _by(answer, name, group) for group in ("engine", "accelerator", "model_kind", "mode")
            )
            title = QUANTITY_WORDS[name][0].upper() + QUANTITY_WORDS[name][1:]
            sections.append(Section(f"errors-{name}", title, "", tables))
    if answer.not_scored:
        sections.append(Section("not-scored", "Not scored", "", (_not_scored(answer),)))
    return Page("runs", f"Runs of {answer.runs_file}", sections=tuple(sections))


def serving_fit_page(fit: OwnFit) -> Page:
    """Return errors before and after, and the factors on the shipped constants."""
    entries = {
        "runs": f"{fit.runs:,} of {fit.runs_file}",
        "engines": ", ".join(fit.calibration.engines),
        "accelerators": ", ".join(fit.calibration.accelerators),
    }
    errors = [
        {
            "quantity": QUANTITY_WORDS.get(name, name),
            "before": before,
            "after": fit.after[name],
            "left": fit.left_out.get(name),
        }
        for name, before in fit.before.items()
    ]
    columns = (
        text("quantity"),
        number("shipped", "before", ".1f"),
        number("fitted", "after", ".1f"),
        number("left out", "left", ".1f"),
    )
    factors = [
        {"constant": name, "factor": value}
        for name, value in fit.calibration.factors.items()
        if abs(value - 1) >= 0.005
    ]
    return Page(
        "calibration",
        f"Calibration of {fit.runs_file}",
        sections=(
            Section("runs", "Runs", "", (facts(entries),)),
            Section(
                "errors",
                "Errors",
                "",
                (table("", errors, *columns),),
                "mean, percent of what was measured; left out: each run by a fit to the others",
            ),
            Section(
                "factors",
                "Factors on shipped constants",
                "",
                (table("", factors, text("constant"), number("factor", "factor", ".3f")),),
                "those that moved by half a percent",
            ),
        ),
    )


def _errors(heading: str, rows: list[dict[str, object]]) -> Table:
    return table(
        "",
        rows,
        text(heading),
        number("runs", "error.runs", ","),
        number("MAPE", "error.mape_percent", ".1f"),
        number("median", "error.median_percent", ".1f"),
        number("bias", "error.bias_percent", "+z.1f"),
    )


def _by(answer: PredictedServing, name: str, group: str) -> Table:
    heading = group.replace("_", " ")
    return _errors(
        heading, [{heading: key or "–", "error": one} for key, one in answer.errors_by(name, group).items()]
    )


def _not_scored(answer: PredictedServing) -> Notes:
    reasons: dict[str, list[str]] = defaultdict(list)
    for row in answer.not_scored:
        reasons[row.why].append(row.name)
    most_first = sorted(reasons.items(), key=lambda item: -len(item[1]))
    lines = [
        f"{len(names):4d}  {why}  ({names[0]}{', …' if len(names) > 1 else ''})"
        for why, names in most_first[:SHOWN]
    ]
    return Notes((*lines, *(("JSON has them all",) if len(reasons) > SHOWN else ())))
