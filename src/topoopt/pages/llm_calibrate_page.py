"""A calibration that was fitted to runs as a page: its errors and parameters."""

from topoopt.measurements.training import ERROR_KINDS, CalibrationFit
from topoopt.pages.page import Page, Section, Table
from topoopt.pages.rows import Column, facts, joined, number, table, text
from topoopt.transformers import PARAMETERS

KIND_WORDS = {
    "before": "start",
    "in_sample": "in sample",
    "cross_validated": "held out",
    "leave_one_size_out": "size held out",
}


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
            Section("errors", "Mean absolute error", "", (_errors(fit),), remark),
            Section("parameters", "Parameters", "", (parameters,)),
        ),
    )


def _errors(fit: CalibrationFit) -> Table:
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
