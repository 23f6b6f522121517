"""Estimates of a table of runs as a page: how far they are off, and what is not modelled."""

from collections import defaultdict
from collections.abc import Mapping

from topoopt.measurements.training import Error, PredictedRuns
from topoopt.pages.page import Notes, Page, Section, Table
from topoopt.pages.rows import Entries, facts, joined, number, table, text

SHOWN = 10
"""Reasons why rows are not modelled that are shown."""


def llm_runs_page(runs: PredictedRuns) -> Page:
    """Return errors by data set, and what is not modelled."""
    sections = [Section("runs", "Runs", "", (facts(_entries(runs)),))]
    if runs.errors:
        remark = "percent of the measured time"
        sections.append(
            Section("errors", "Errors of the iteration time", "", (_errors(runs.errors),), remark)
        )
    if runs.memory_errors:
        title, remark = "Errors of the peak memory", "percent of the measured peak"
        sections.append(Section("memory-errors", title, "", (_errors(runs.memory_errors),), remark))
    if runs.not_modelled:
        sections.append(Section("not-modelled", "Not modelled", "", (_not_modelled(runs),)))
    return Page("runs", f"Runs of {runs.runs_file}", sections=tuple(sections))


def _errors(errors: Mapping[str, Error]) -> Table:
    return table(
        "",
        joined(source=errors, error=errors.values()),
        text("data set", "source"),
        number("runs", "error.runs", ","),
        number("MAPE", "error.mape_percent", ".1f"),
        number("bias", "error.bias_percent", "+z.1f"),
    )


def _entries(runs: PredictedRuns) -> Entries:
    answer = runs.to_json()
    oom, unknown, without = answer["out_of_memory"], answer["unknown_columns"], answer["without_time"]
    times = answer["times_from"]
    used = (f"{name} for {rows:,}" for name, rows in answer["rows_by_calibration"].items())
    fit = f"{oom['predicted_not_to_fit']} of {oom['runs']} predicted not to fit"
    return {
        "modelled": f"{answer['modelled']:,} of {answer['rows']:,} rows",
        "calibration": ", ".join(used),
        "times": ", ".join(f"{rows:,} from {column}" for column, rows in times.items())
        if len(times) > 1
        else "",
        "without a time": f"{without:,}, predicted only" if without else "",
        "not read": f"columns {', '.join(unknown)}" if unknown else "",
        "out of memory": fit if oom["runs"] else "",
    }


def _not_modelled(runs: PredictedRuns) -> Notes:
    reasons: dict[str, list[str]] = defaultdict(list)
    for row in runs.not_modelled:
        reasons[row.reason].append(row.name)
    most_first = sorted(reasons.items(), key=lambda item: -len(item[1]))
    lines = [
        f"{len(names):4d}  {reason}  ({names[0]}{', …' if len(names) > 1 else ''})"
        for reason, names in most_first[:SHOWN]
    ]
    return Notes((*lines, *(("JSON has them all",) if len(reasons) > SHOWN else ())))
