"""What ``topoopt llm calibrate`` answers, as JSON and as tables."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from topoopt.llm import Calibration, Error, Fit, Run, Runs

KINDS = (
    ("before", "start"),
    ("in_sample", "in sample"),
    ("cross_validated", "held out"),
    ("leave_one_size_out", "size held out"),
)
"""Keys of the document, and what the table calls them."""


def with_provenance(
    fitted: "Fit", runs_file: str, accelerator: str | None, start: str | None, weight: Sequence[str]
) -> "Fit":
    """Return the fit with a calibration that says what it was made of, and by which command."""
    file = Path(runs_file).name
    words = ["topoopt llm calibrate", file]
    words += [f"--accelerator {accelerator}"] if accelerator else []
    words += [f"--start {start}"] if start else []
    words += [f"--attention {fitted.calibration.attention}"]
    words += [f"--weight {word}" for word in weight]
    words += [f"--strength {fitted.strength:g}"]
    said = {
        **fitted.calibration.provenance,
        "command": " ".join(words),
        "runs": ", ".join(
            f"{name} {error.runs}" for name, error in fitted.in_sample.items() if name != "all"
        ),
        "mape_percent": _listed(fitted.in_sample),
        "mape_percent_held_out": _listed(fitted.cross_validated),
        "mape_percent_size_held_out": _listed(fitted.leave_one_size_out),
    }
    return replace(fitted, calibration=replace(fitted.calibration, provenance=said))


def _listed(errors: "Mapping[str, Error]") -> str:
    return ", ".join(f"{name} {error.mape_percent:.1f}" for name, error in errors.items()) or "too few runs"


def calibrate_document(
    runs_file: str,
    runs: "Runs",
    chosen: "Sequence[Run]",
    start: "Calibration",
    fitted: "Fit",
    before: "Mapping[str, Error]",
) -> dict[str, Any]:
    """Return the answer as JSON."""
    calibration, taken = fitted.calibration, {run.place for run in chosen}
    errors = {**asdict(fitted), "before": {name: asdict(error) for name, error in before.items()}}
    return {
        "runs_file": runs_file,
        "runs": len(chosen),
        "other_runs": dict(Counter(run.system.accelerator for run in runs.timed if run.place not in taken)),
        "not_modelled": [{"id": row.name, "reason": row.reason} for row in runs.not_modelled],
        "accelerator": calibration.accelerator,
        "started_from": start.provenance["started_from"],
        "strength": fitted.strength,
        "attention": calibration.attention,
        "parameters": calibration.parameters(),
        **{key: errors[key] for key, _ in KINDS},
        "provenance": dict(calibration.provenance),
    }


def print_calibrate(console: "Console", document: Mapping[str, Any], out: str | None) -> None:
    """Print errors and parameters."""
    from topoopt.cli.render import print_facts, print_table, print_title
    from topoopt.llm import PARAMETERS

    print_title(console, f"Calibration of {document['accelerator']}")
    facts = [
        ("runs", f"{document['runs']:,} of {document['runs_file']}"),
        ("starts from", str(document["started_from"])),
        ("strength of the start", f"{document['strength']:g}"),
    ]
    if document["other_runs"]:
        others = ", ".join(f"{count} of {name}" for name, count in document["other_runs"].items())
        facts.append(("not taken", f"{others}; --accelerator takes them"))
    if document["not_modelled"]:
        facts.append(
            ("not modelled", f"{len(document['not_modelled'])} rows of the table; --json has the reasons")
        )
    print_facts(console, facts)
    print_title(console, "Mean absolute error", "percent of the measured time; bias in parentheses")
    names = list(document["in_sample"])
    rows = [
        [
            name,
            f"{document['in_sample'][name]['runs']:,}",
            *(_cell(document[key].get(name)) for key, _ in KINDS),
        ]
        for name in names
    ]
    titles = [title for _, title in KINDS]
    print_table(console, ["data set", "runs", *titles], rows, ["runs", *titles])
    print_title(console, "Parameters")
    print_table(
        console,
        ["parameter", "value", "meaning"],
        [[name, f"{value:.4g}", PARAMETERS[name].meaning] for name, value in document["parameters"].items()],
        ["value"],
    )
    if out is not None:
        console.print(f"\nWritten: {out}")


def _cell(error: Mapping[str, float] | None) -> str:
    return "-" if error is None else f"{error['mape_percent']:.1f} ({error['bias_percent']:+.1f})"
