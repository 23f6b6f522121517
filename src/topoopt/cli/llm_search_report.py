"""The result of ``topoopt llm search``: as a document, as a table, as a file."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from topoopt.units import format_memory, format_time

if TYPE_CHECKING:
    from rich.console import Console

    from topoopt.llm import Calibration, ConfigurationSearch, Ints, SearchRequest

DEGREES = ("tp", "pp", "dp", "cp", "ep", "etp", "vpp", "micro_batch")
TIMES = (
    "iteration_time_s",
    "compute_s",
    "tp_s",
    "cp_s",
    "ep_s",
    "pp_s",
    "dp_s",
    "bubble_s",
    "exposed_communication_s",
)
WAITS = {
    "compute": "compute_s",
    "bubble": "bubble_s",
    "tp": "tp_s",
    "cp": "cp_s",
    "ep": "ep_s",
    "pp": "pp_s",
    "dp": "dp_s",
}
"""Where the time goes: heading and column."""

TIGHT = 0.95
"""Of the memory: what needs more may not run, since estimates of memory are good to some GiB."""

HEADINGS = {"micro_batch": "mb", "sequence_parallel": "sp"}


def search_document(
    request: "SearchRequest",
    calibration: "Calibration",
    found: "ConfigurationSearch",
    shown: "Ints",
    cpu_s: float,
) -> dict[str, Any]:
    """Return the result with the rows to show."""
    from topoopt.hardware import find_accelerator

    return {
        "model": request.model.name,
        "accelerators": request.accelerators,
        "accelerator": find_accelerator(request.system.accelerator).name,
        "global_batch": request.global_batch,
        "sequence": request.sequence,
        "precision": request.precision,
        "attention": request.attention,
        "framework": request.framework,
        "calibration": calibration.name,
        "fixed": dict(request.fixed),
        "memory_capacity_bytes": found.memory.capacity_bytes,
        "valid": found.valid,
        "feasible": found.feasible,
        "too_large": {
            key.replace(", ", "_").replace(" ", "_"): count for key, count in found.too_large.items()
        },
        "search_cpu_s": cpu_s,
        "configurations_per_s": found.valid / max(cpu_s, 1e-9),
        "configurations": [row_of(found, int(place)) for place in shown],
    }


def row_of(found: "ConfigurationSearch", place: int) -> dict[str, Any]:
    """Return one configuration with its time, its memory and where both go."""
    one = found.table.row(place)
    return {
        **{name: getattr(one, name) for name in DEGREES},
        "zero": one.zero,
        "recompute": one.recompute,
        "sequence_parallel": one.sequence_parallel,
        "micro_batches": one.micro_batches,
        **{name: float(getattr(found.times, name)[place]) for name in TIMES},
        "mfu": float(found.mfu[place]),
        "tokens_per_s": float(found.tokens_per_s[place]),
        "memory_bytes": {**found.memory.row(place), "total": float(found.memory.total[place])},
    }


def print_search(console: "Console", document: Mapping[str, Any], csv_file: str | None) -> None:
    """Print what was searched, the best configurations, and where their time goes."""
    from topoopt.cli.render import print_facts, print_table, print_title, print_warning

    rows: Sequence[Mapping[str, Any]] = document["configurations"]
    print_title(
        console,
        f"{document['model']} on {document['accelerators']:,} {document['accelerator']}",
        f"{document['global_batch']:,} sequences of {document['sequence']:,} tokens, {document['precision']}",
    )
    print_facts(console, _facts(document, csv_file))
    print_title(console, f"The fastest {len(rows)}", "estimated; memory on the fullest accelerator")
    hidden = {name for name in ("cp", "ep", "etp") if all(row[name] == 1 for row in rows)}
    split = [name for name in (*DEGREES, "zero", "recompute", "sequence_parallel") if name not in hidden]
    columns = [*(HEADINGS.get(name, name) for name in split), "iteration", "MFU", "tokens/s", "memory"]
    cells = [
        [
            *(_word(row[name]) for name in split),
            format_time(row["iteration_time_s"]),
            f"{row['mfu']:.1%}",
            f"{row['tokens_per_s']:,.0f}",
            format_memory(row["memory_bytes"]["total"]),
        ]
        for row in rows
    ]
    print_table(console, columns, cells, [name for name in columns if name not in ("recompute", "sp")])
    tight = [row for row in rows if row["memory_bytes"]["total"] > TIGHT * document["memory_capacity_bytes"]]
    if tight:
        print_warning(
            console,
            f"{len(tight)} of these leave less than {1 - TIGHT:.0%} of the memory free: try them first",
        )
    used = {word: name for word, name in WAITS.items() if any(row[name] > 0 for row in rows)}
    print_title(console, "Where the time goes")
    print_table(console, ["configuration", *used], [_shares(row, used) for row in rows], list(used))


def write_search(path: str, found: "ConfigurationSearch") -> None:
    """Write every configuration that fits as a table, the fastest first."""
    from topoopt.cli.table_file import write_table
    from topoopt.llm import MEMORY_CAUSES

    rows = [row_of(found, place) for place in range(found.feasible)]
    causes = [*MEMORY_CAUSES, "total"]
    columns = [name for name in rows[0] if name != "memory_bytes"]
    write_table(
        path,
        [*columns, *(f"memory_{cause}_bytes" for cause in causes)],
        (
            [*(row[name] for name in columns), *(row["memory_bytes"][cause] for cause in causes)]
            for row in rows
        ),
    )


def _facts(document: Mapping[str, Any], csv_file: str | None) -> list[tuple[str, str]]:
    valid, feasible = document["valid"], document["feasible"]
    over = [
        f"{count:,} {reason.replace('_', ' ')}" for reason, count in document["too_large"].items() if count
    ]
    return [
        ("valid", f"{valid:,} configurations in {format_time(document['search_cpu_s'])} of CPU time"),
        ("fit", f"{feasible:,} into {format_memory(document['memory_capacity_bytes'])}"),
        ("too large", ", ".join(over)),
        ("fixed", ", ".join(f"{name} {_word(value)}" for name, value in document["fixed"].items())),
        ("times", f"calibration {document['calibration']}, {document['attention']} attention"),
        ("memory", f"{document['framework']}, {document['attention']} attention"),
        ("written", csv_file or ""),
    ]


def _shares(row: Mapping[str, Any], used: Mapping[str, str]) -> list[str]:
    degrees = [f"{name}{row[name]}" for name in DEGREES[:-1] if row[name] > 1]
    name = " ".join([*degrees, f"mb{row['micro_batch']}"])
    return [name, *(f"{row[column] / row['iteration_time_s']:.1%}" for column in used.values())]


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
