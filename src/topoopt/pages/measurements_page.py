"""Predictions of measured runs as a page, and calibrations that were fitted to them: how far they are off.

Every kind of runs has the same sections: the columns read, errors of each quantity, rows, and unscored rows.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from topoopt.base.arrays import grouped
from topoopt.base.units import format_size, format_time
from topoopt.measurements import ACCURACY, ERROR_KINDS, CalibrationFit, CollectiveTimes, Errors, NotScored
from topoopt.measurements.serving import PredictedServing
from topoopt.measurements.training import PredictedRuns
from topoopt.pages.page import Notes, Page, Section, Table
from topoopt.pages.tables import Entries, facts, joined, number, table, text
from topoopt.reinforcement import RlRuns

TITLES = {
    "iteration time": "Errors of the iteration time",
    "peak memory": "Errors of the peak memory",
    "step": "Steps",
    "weight_sync": "Weights brought over",
    "fine_tuning": "Fine-tuning",
    "phases": "Phases",
}
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
SHOWN = 10
"""Reasons why rows are not scored that are shown."""
GROUPED = ("tpot", "ttft")
GROUPS = ("engine", "accelerator", "model_kind", "mode")
REMARK = "percent of what was measured"
PAIR_REMARK = "of the time per token on an accelerator, in percent; pairs whose measured change is 3% or more"


def training_runs_page(answer: PredictedRuns) -> Page:
    """Return the page of training runs: errors of times and memory by data set."""
    quantities = {"iteration time": answer.errors, "peak memory": answer.memory_errors}
    sections = [_errors_section(name, errors, "data set") for name, errors in quantities.items() if errors]
    if answer.pair_errors:
        sections.append(
            Section("pairs", "Differences between runs of one job", "", (_pairs(answer),), PAIR_REMARK)
        )
    return _runs_page(answer.runs_file, _training_entries(answer.to_json()), sections, answer.not_scored)


def serving_runs_page(answer: PredictedServing) -> Page:
    """Return the page of served runs: errors by quantity, those of TTFT and TPOT by the measured quantity."""
    entries = {
        "predicted": f"{len(answer.predictions):,} runs",
        "calibration": answer.calibration,
        **_not_read(answer.table.unknown_columns),
    }
    sections = []
    if answer.quantities:
        errors = {QUANTITY_WORDS[name]: answer.error(name) for name in answer.quantities}
        remark = f"{REMARK}; rows of benchmarks/data/serving_runs.csv are not held out"
        sections.append(Section("errors", "Errors", "", (_errors("quantity", errors),), remark))
    for name in GROUPED:
        if name in answer.quantities:
            words = QUANTITY_WORDS[name]
            tables = tuple(
                _errors(group.replace("_", " "), answer.errors_by(name, group)) for group in GROUPS
            )
            sections.append(Section(f"errors-{name}", words[0].upper() + words[1:], "", tables))
    return _runs_page(answer.table.path, entries, sections, answer.not_scored)


def rl_runs_page(answer: RlRuns) -> Page:
    """Return the page of steps of reinforcement learning: errors by data set, and every row."""
    path, rows = answer.runs.table.path, answer.predictions
    entries = {"predicted": f"{len(rows):,} runs", **_not_read(answer.runs.table.unknown_columns)}
    sections = [_errors_section(kind, answer.errors_by(kind), "data set") for kind in answer.quantities]
    if answer.phase_errors:
        sections.append(_errors_section("phases", answer.phase_errors, "phase"))
    network = [number("network at the least", "network_s")] if any(one.network_s for one in rows) else []
    columns = (
        text("row", "row.name"),
        number("predicted", "predicted_s"),
        number("measured", "measured_s"),
        number("error", "error_percent", "+z.1f"),
        *network,
    )
    if rows:
        sections.append(Section("rows", "Rows", "", (table("", rows, *columns),)))
    return _runs_page(path, entries, sections, answer.not_scored)


def collectives_page(answer: CollectiveTimes) -> Page:
    """Return the page of collectives among accelerators: times and bandwidths, beside the measurements."""
    measured = any(row.measured_s is not None for row in answer.rows)
    rows = [{"row": row, **row.to_json()} for row in answer.rows]
    what = (text("data set", "name"), text("collective"), text("accelerator"), number("ranks", "ranks", ","))
    beside = (number("measured", "measured_s", format_time), number("error", "error_percent", "+z.1f"))
    columns = (
        *(what if measured else ()),
        number(
            "size",
            lambda row: "→ " * (row["size_bytes"] == answer.asked_bytes) + format_size(row["size_bytes"]),
        ),
        number("predicted" if measured else "time", "time_s", format_time),
        *(beside if measured else ()),
        number("algorithm", lambda row: row["algorithm_bytes_per_s"] / 1e9, ".1f"),
        number("bus", lambda row: row["bus_bytes_per_s"] / 1e9, ".1f"),
    )
    remark = "bandwidths in GB/s, as nccl-tests counts them"
    sections = [
        Section("times", "Times", "", (table("", rows, *columns),), remark),
        *_left(answer.not_scored),
    ]
    if measured:
        sections.insert(0, Section("errors", "Errors", "", (_errors("data set", answer.errors),), REMARK))
    if answer.assumed:
        machines = facts({"assumed": answer.assumed, "accuracy": ACCURACY})
        sections.insert(0, Section("machines", "Machines", "", (machines,)))
    return Page("collectives", f"Collectives: {answer.what}", sections=tuple(sections))


def _runs_page(
    path: str, entries: Entries, sections: Iterable[Section], not_scored: Sequence[NotScored]
) -> Page:
    """Return the page of a table of runs: the columns read, its own sections, unscored rows and reasons."""
    read = Section("runs", "Runs", "", (facts(entries),))
    return Page("runs", f"Runs of {path}", sections=(read, *sections, *_left(not_scored)))


def _errors_section(name: str, errors: Errors, heading: str) -> Section:
    return Section(name.replace(" ", "-"), TITLES[name], "", (_errors(heading, errors),), REMARK)


def _errors(heading: str, errors: Errors) -> Table:
    return table(
        "",
        joined(group=errors, error=errors.values()),
        text(heading, "group", lambda group: group or "–"),
        number("runs", "error.runs", ","),
        number("MAPE", "error.mape_percent", ".1f"),
        number("median", "error.median_percent", ".1f"),
        number("bias", "error.bias_percent", "+z.1f"),
    )


def _pairs(answer: PredictedRuns) -> Table:
    return table(
        "",
        joined(kind=answer.pair_errors, pairs=answer.pair_errors.values()),
        text("differ in", "kind"),
        number("pairs", "pairs.pairs", ","),
        number("right sign", "pairs.right_sign", ","),
        number("within a factor of 2", "pairs.within_two", ","),
        number("measured", "pairs.measured_percent", "+z.1f"),
        number("predicted", "pairs.predicted_percent", "+z.1f"),
    )


def _not_read(columns: Sequence[str]) -> dict[str, str]:
    return {"not read": f"columns {', '.join(columns)}" if columns else ""}


def _left(not_scored: Sequence[NotScored]) -> tuple[Section, ...]:
    """Return the reasons why rows are not scored, by frequency, each with its count and first row."""
    reasons = grouped((one.reason, one.row.name) for one in not_scored)
    most_first = sorted(reasons.items(), key=lambda item: -len(item[1]))
    lines = [
        f"{len(names):4d}  {reason}  ({names[0]}{', …' if len(names) > 1 else ''})"
        for reason, names in most_first[:SHOWN]
    ]
    notes = Notes((*lines, *(("JSON has them all",) if len(reasons) > SHOWN else ())))
    return (Section("not-scored", "Not scored", "", (notes,)),) if lines else ()


def _training_entries(answer: Mapping[str, Any]) -> Entries:
    oom, without, times = answer["out_of_memory"], answer["without_time"], answer["times_from"]
    used = (f"{name} for {rows:,}" for name, rows in answer["rows_by_calibration"].items())
    fit = f"{oom['predicted_not_to_fit']} of {oom['runs']} predicted not to fit"
    return {
        "modelled": f"{answer['modelled']:,} of {answer['rows']:,} rows",
        "calibration": ", ".join(used),
        "times": ", ".join(f"{rows:,} from {column}" for column, rows in times.items())
        if len(times) > 1
        else "",
        "without a time": f"{without:,}, predicted only" if without else "",
        **_not_read(answer["unknown_columns"]),
        "out of memory": fit if oom["runs"] else "",
    }


def calibration_page(fit: CalibrationFit[Any]) -> Page:
    """Return the page of a calibration: its data, its errors, and every constant with its source."""
    about = fit.about
    others = ", ".join(f"{count} of {name}" for name, count in about.get("other_runs", {}).items())
    runs = {
        "runs": f"{fit.runs:,} of {fit.runs_file}",
        "starts from": about.get("started_from", "the shipped constants; those below are factors on them"),
        "strength of the start": f"{about['strength']:g}" if "strength" in about else "",
        "engines": ", ".join(about.get("engines", ())),
        "accelerators": ", ".join(about.get("accelerators", ())),
        "not taken": f"{others}; name them as accelerator, too" if others else "",
    }
    errors = table(
        "",
        fit.errors["in_sample"],
        text("data set" if "strength" in about else "quantity", lambda name: QUANTITY_WORDS.get(name, name)),
        number("runs", lambda name: fit.errors["in_sample"][name].runs, ","),
        *(
            number(ERROR_KINDS[kind], partial(_mean_and_bias, errors))
            for kind, errors in fit.errors.items()
            if errors or kind == "cross_validated"
        ),
    )
    constants = table(
        "",
        fit.constants,
        text("constant", "name"),
        number("value", form=".4g"),
        text("source"),
        *([text("meaning", "bounds.meaning")] if any(one.bounds.meaning for one in fit.constants) else []),
    )
    return Page(
        "calibration",
        f"Calibration of {about.get('accelerator', fit.runs_file)}",
        sections=(
            Section("runs", "Runs", "", (facts(runs),)),
            Section("errors", "Mean absolute error", "", (errors,), f"{REMARK}; bias in parentheses"),
            Section("constants", "Constants", "", (constants,)),
            *_left(fit.not_scored),
        ),
    )


def _mean_and_bias(errors: Errors, name: str) -> str:
    if name not in errors:
        return "-"
    return f"{errors[name].mape_percent:.1f} ({errors[name].bias_percent:+z.1f})"
