"""Predictions of measured serving runs as a page, and a calibration of one's own: how far they are off."""

from collections import defaultdict
from collections.abc import Mapping

from topoopt.measurements.serving import OwnFit, PredictedServing
from topoopt.measurements.training import ERROR_KINDS, CalibrationFit
from topoopt.pages.page import Notes, Page, Section, Table
from topoopt.pages.tables import Column, facts, joined, number, table, text
from topoopt.reinforcement import RlRuns, RunsError
from topoopt.transformers import PARAMETERS

KIND_WORDS = {
    "before": "start",
    "in_sample": "in sample",
    "cross_validated": "held out",
    "leave_one_size_out": "size held out",
}
TITLES = {"step": "Steps", "weight_sync": "Weights brought over", "fine_tuning": "Fine-tuning"}
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


def rl_runs_page(runs: RlRuns) -> Page:
    """Return errors by data set, every row, and what is not scored."""
    sections = []
    for kind in runs.kinds:
        error = runs.errors(kind)
        assert error is not None
        everything = {**runs.errors_by(kind), "all": error}
        sections.append(
            Section(
                kind, TITLES[kind], "", (_rl_runs_page_errors(everything),), "percent of the measured time"
            )
        )
    if runs.phase_errors():
        sections.append(Section("phases", "Phases", "", (_rl_runs_page_errors(runs.phase_errors()),)))
    rows = table(
        "",
        runs.predictions,
        text("row", "id"),
        number("predicted", "predicted_s"),
        number("measured", "measured_s"),
        number("error", "error_percent", "+z.1f"),
        *_network(runs),
    )
    if runs.predictions:
        sections.append(Section("rows", "Rows", "", (rows,)))
    if runs.not_scored:
        lines = tuple(f"{row.id}: {row.reason}" for row in runs.not_scored)
        sections.append(Section("not-scored", "Not scored", "", (Notes(lines),)))
    return Page("rl-runs", f"Steps of {runs.runs_file}", sections=tuple(sections))


def _network(runs: RlRuns) -> tuple[Column, ...]:
    if all(row.network_s is None for row in runs.predictions):
        return ()
    return (number("network at the least", "network_s"),)


def _rl_runs_page_errors(errors: Mapping[str, RunsError]) -> Table:
    return table(
        "",
        joined(source=errors, error=errors.values()),
        text("data set", "source"),
        number("rows", "error.runs", ","),
        number("MAPE", "error.mape", ".1f"),
        number("median", "error.median", ".1f"),
        number("bias", "error.bias", "+z.1f"),
    )


def llm_calibrate_page(fit: CalibrationFit) -> Page:
    """Return errors by data set, and every parameter with its meaning."""
    others = ", ".join(f"{count} of {name}" for name, count in fit.other_runs.items())
    missing = len(fit.runs.not_modelled)
    runs = {
        "runs": f"{len(fit.fitted_runs):,} of {fit.runs_file}",
        "starts from": fit.start.provenance["started_from"],
        "strength of the start": f"{fit.fit.strength:g}",
        "not taken": f"{others}; name them as accelerator, too" if others else "",
        "not modelled": f"{missing} rows of the table; JSON has the reasons" if missing else "",
    }
    values = fit.calibration.parameters()
    parameters = table(
        "",
        joined(parameter=values, value=values.values()),
        text("parameter"),
        number("value", form=".4g"),
        text("meaning", "parameter", lambda name: PARAMETERS[name].meaning),
    )
    remark = "percent of the measured time; bias in parentheses"
    return Page(
        "calibration",
        f"Calibration of {fit.calibration.accelerator}",
        sections=(
            Section("runs", "Runs", "", (facts(runs),)),
            Section("errors", "Mean absolute error", "", (_llm_calibrate_page_errors(fit),), remark),
            Section("parameters", "Parameters", "", (parameters,)),
        ),
    )


def _llm_calibrate_page_errors(fit: CalibrationFit) -> Table:
    def of_kind(kind: str) -> Column:
        errors = fit.errors[kind]
        return number(
            KIND_WORDS[kind],
            lambda name: (
                f"{errors[name].mape_percent:.1f} ({errors[name].bias_percent:+z.1f})"
                if name in errors
                else "-"
            ),
        )

    return table(
        "",
        fit.errors["in_sample"],
        text("data set", str),
        number("runs", lambda name: fit.errors["in_sample"][name].runs, ","),
        *map(of_kind, ERROR_KINDS),
    )
