"""A calibration that was fitted to runs as a page: its errors and parameters."""

from topoopt.llm import ERROR_KINDS, PARAMETERS, CalibrationFit, Error
from topoopt.report.page import Facts, Page, Section, Table

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
    facts = Facts(
        "",
        (
            ("runs", f"{len(fit.taken):,} of {fit.runs_file}"),
            ("starts from", fit.start.provenance["started_from"]),
            ("strength of the start", f"{fit.fit.strength:g}"),
            ("not taken", f"{others}; name them as accelerator, too" if others else ""),
            ("not modelled", f"{missing} rows of the table; JSON has the reasons" if missing else ""),
        ),
    )
    return Page(
        "calibration",
        f"Calibration of {fit.calibration.accelerator}",
        "",
        (),
        (),
        (
            Section("runs", "Runs", "", (facts,)),
            Section(
                "errors",
                "Mean absolute error",
                "",
                (_errors(fit),),
                "percent of the measured time; bias in parentheses",
            ),
            Section("parameters", "Parameters", "", (_parameters(fit),)),
        ),
    )


def _errors(fit: CalibrationFit) -> Table:
    columns = tuple(KIND_WORDS[kind] for kind in ERROR_KINDS)
    rows = tuple(
        (name, f"{error.runs:,}", *(_cell(fit.errors[kind].get(name)) for kind in ERROR_KINDS))
        for name, error in fit.fit.in_sample.items()
    )
    return Table("", ("data set", "runs", *columns), rows, ("runs", *columns))


def _cell(error: Error | None) -> str:
    return "-" if error is None else f"{error.mape_percent:.1f} ({error.bias_percent:+.1f})"


def _parameters(fit: CalibrationFit) -> Table:
    rows = tuple(
        (name, f"{value:.4g}", PARAMETERS[name].meaning)
        for name, value in fit.calibration.parameters().items()
    )
    return Table("", ("parameter", "value", "meaning"), rows, ("value",))
