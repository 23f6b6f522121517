"""Predictions of a table of measured steps of reinforcement learning as a page: errors, rows, what is not scored."""

from collections.abc import Mapping

from topoopt.pages.page import Notes, Page, Section, Table
from topoopt.pages.rows import Column, joined, number, table, text
from topoopt.reinforcement import RlRuns, RunsError

TITLES = {"step": "Steps", "weight_sync": "Weights brought over", "fine_tuning": "Fine-tuning"}


def rl_runs_page(runs: RlRuns) -> Page:
    """Return errors by data set, every row, and what is not scored."""
    sections = []
    for kind in runs.kinds:
        error = runs.errors(kind)
        assert error is not None
        everything = {**runs.errors_by(kind), "all": error}
        sections.append(
            Section(kind, TITLES[kind], "", (_errors(everything),), "percent of the measured time")
        )
    if runs.phase_errors():
        sections.append(Section("phases", "Phases", "", (_errors(runs.phase_errors()),)))
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


def _errors(errors: Mapping[str, RunsError]) -> Table:
    return table(
        "",
        joined(source=errors, error=errors.values()),
        text("data set", "source"),
        number("rows", "error.runs", ","),
        number("MAPE", "error.mape", ".1f"),
        number("median", "error.median", ".1f"),
        number("bias", "error.bias", "+z.1f"),
    )
