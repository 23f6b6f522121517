"""Estimates of a table of runs as a page: how far they are off, and what is not modelled."""

from collections import defaultdict

from topoopt.llm import PredictedRuns
from topoopt.report.page import Notes, Page, Section
from topoopt.report.rows import Entries, facts, joined, number, table, text

SHOWN = 10
"""Reasons why rows are not modelled that are shown."""


def llm_runs_page(runs: PredictedRuns) -> Page:
    """Return errors by data set, and what is not modelled."""
    sections = [Section("runs", "Runs", "", (facts(_entries(runs)),))]
    if runs.errors:
        errors = table(
            "",
            joined(source=runs.errors, error=runs.errors.values()),
            text("data set", "source"),
            number("runs", "error.runs", ","),
            number("MAPE", "error.mape_percent", ".1f"),
            number("bias", "error.bias_percent", "+.1f"),
        )
        title = "Errors of the iteration time"
        sections.append(Section("errors", title, "", (errors,), "percent of the measured time"))
    if runs.not_modelled:
        sections.append(Section("not-modelled", "Not modelled", "", (_not_modelled(runs),)))
    return Page("runs", f"Runs of {runs.runs_file}", sections=tuple(sections))


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
