"""What ``topoopt llm estimate --runs`` answers: JSON, tables, and the table of runs with predictions."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from topoopt.llm import PredictedRuns, Prediction

ADDED = (
    "predicted_iter_time_s",
    "error_percent",
    "predicted_compute_s",
    "predicted_exposed_communication_s",
    "predicted_bubble_s",
    "predicted_tflops_per_gpu",
    "predicted_memory_gb",
    "predicted_fits",
    "calibration",
    "not_modelled",
)
"""Columns that are added to the table."""

SHOWN = 10
"""Reasons why rows are not modelled that are printed."""


def runs_document(runs_file: str, predicted: "PredictedRuns") -> dict[str, Any]:
    """Return the answer as JSON."""
    oom = [one for one in predicted.predictions if one.run.out_of_memory]
    others = [one for one in predicted.predictions if not one.run.out_of_memory]
    return {
        "runs_file": runs_file,
        "rows": len(predicted.runs.rows),
        "modelled": len(predicted.predictions),
        "rows_by_calibration": dict(Counter(one.calibration for one in predicted.predictions)),
        "without_time": sum(math.isnan(one.run.measured_s) for one in others),
        "unknown_columns": [column for column in predicted.runs.unknown_columns if column not in ADDED],
        "mape_by_dataset": {name: error.mape_percent for name, error in predicted.errors.items()},
        "bias_by_dataset": {name: error.bias_percent for name, error in predicted.errors.items()},
        "runs_by_dataset": {name: error.runs for name, error in predicted.errors.items()},
        "out_of_memory": {
            "runs": len(oom),
            "predicted_not_to_fit": sum(not one.fits for one in oom),
            "other_runs": len(others),
            "other_runs_predicted_to_fit": sum(one.fits for one in others),
        },
        "not_modelled": [
            {"id": row.name, "dataset": row.dataset, "reason": row.reason} for row in predicted.not_modelled
        ],
    }


def write_runs(path: str, predicted: "PredictedRuns") -> None:
    """Write the table with predictions, its rows and columns as they were."""
    from topoopt.cli.table_file import write_table

    made: dict[int, Prediction] = {one.run.place: one for one in predicted.predictions}
    reasons = {row.place: row.reason for row in predicted.not_modelled}
    columns = [column for column in predicted.runs.columns if column not in ADDED]
    rows = (
        [*(row.get(column, "") for column in columns), *_added(made.get(place), reasons.get(place, ""))]
        for place, row in enumerate(predicted.runs.rows)
    )
    write_table(path, [*columns, *ADDED], rows)


def _added(one: "Prediction | None", reason: str) -> list[Any]:
    if one is None:
        return [*([None] * (len(ADDED) - 1)), reason]
    timed = not math.isnan(one.run.measured_s)
    return [
        f"{one.iteration_time_s:.6g}",
        f"{100 * (one.iteration_time_s / one.run.measured_s - 1):.2f}" if timed else None,
        f"{one.compute_s:.6g}",
        f"{one.exposed_communication_s:.6g}",
        f"{one.bubble_s:.6g}",
        f"{one.model_flops_per_s / 1e12:.2f}",
        f"{one.memory_bytes / 1e9:.2f}",
        int(one.fits),
        one.calibration,
        None,
    ]


def print_runs(console: "Console", document: Mapping[str, Any], out: str | None) -> None:
    """Print errors by data set, and what is not modelled."""
    from topoopt.cli.render import print_facts, print_table, print_title

    print_title(console, f"Runs of {document['runs_file']}")
    oom = document["out_of_memory"]
    facts = [("modelled", f"{document['modelled']:,} of {document['rows']:,} rows")]
    if document["rows_by_calibration"]:
        used = (f"{name} for {rows:,}" for name, rows in document["rows_by_calibration"].items())
        facts.append(("calibration", ", ".join(used)))
    if document["without_time"]:
        facts.append(("without a time", f"{document['without_time']:,}, predicted only"))
    if document["unknown_columns"]:
        facts.append(("not read", f"columns {', '.join(document['unknown_columns'])}"))
    if oom["runs"]:
        facts.append(
            ("out of memory", f"{oom['predicted_not_to_fit']} of {oom['runs']} predicted not to fit")
        )
    print_facts(console, facts)
    if document["mape_by_dataset"]:
        print_title(console, "Errors of the iteration time", "percent of the measured time")
        rows = [
            [
                name,
                f"{document['runs_by_dataset'][name]:,}",
                f"{mape:.1f}",
                f"{document['bias_by_dataset'][name]:+.1f}",
            ]
            for name, mape in document["mape_by_dataset"].items()
        ]
        print_table(console, ["data set", "runs", "MAPE", "bias"], rows, ["runs", "MAPE", "bias"])
    if document["not_modelled"]:
        print_title(console, "Not modelled")
        for reason, names in list(_by_reason(document["not_modelled"]).items())[:SHOWN]:
            console.print(f"  {len(names):4d}  {reason}  ({names[0]}{', …' if len(names) > 1 else ''})")
        if len(_by_reason(document["not_modelled"])) > SHOWN:
            console.print("  --json has them all")
    if out is not None:
        console.print(f"\nWritten: {out}")


def _by_reason(rows: list[Mapping[str, str]]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for row in rows:
        reasons.setdefault(row["reason"], []).append(row["id"])
    return dict(sorted(reasons.items(), key=lambda item: -len(item[1])))
