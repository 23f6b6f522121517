"""How ``topoopt llm traffic`` is shown: tables of messages, and the same as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from topoopt.cli.render import counted, print_facts, print_table, print_title, print_warning
from topoopt.units import format_bytes

if TYPE_CHECKING:
    from rich.console import Console

    from topoopt.cli.llm_traffic_result import LlmTraffic
    from topoopt.llm import KindRow, RankRow

RANK_COLUMNS = ("kind", "collective", "ranks", "message", "count", "sent")
KIND_COLUMNS = ("kind", "collective", "groups", "ranks", "message", "count", "sent", "between servers")
APART = 3
"""Sizes of message of one collective that a table of one rank shows apart; JSON has all."""


def traffic_document(found: "LlmTraffic") -> dict[str, Any]:
    """Return the result for JSON; bytes are of one iteration."""
    one, demand = found.configuration, found.traffic()
    return {
        "model": found.model.name,
        "accelerators": one.accelerators,
        "servers": found.servers,
        "configuration": asdict(one),
        "micro_batches": one.micro_batches,
        "order": found.order,
        "loads": found.loads,
        "iteration": found.iteration,
        "first_stage": [_rank_row(row) for row in found.first_stage()],
        "kinds": [asdict(row) for row in found.kinds()],
        "server_traffic": {
            "allreduce_bytes": demand.allreduce_bytes,
            "allreduce_wire_bytes": demand.allreduce_wire_bytes,
            "mp_bytes": demand.mp_bytes,
            "allreduce_groups": [
                {"members": list(group.members), "bytes": group.size_bytes} for group in demand.allreduce
            ],
            "alltoall_groups": [
                {"members": list(group.members), "bytes_per_pair": group.bytes_per_pair}
                for group in demand.alltoall
            ],
        },
        "by": found.by,
        "matrix_bytes": {name: matrix.round().tolist() for name, matrix in found.matrices().items()},
    }


def print_traffic(console: "Console", found: "LlmTraffic", files: tuple[str, ...]) -> None:
    """Print what a rank and what all ranks send, and between which servers most."""
    one, kinds = found.configuration, found.kinds()
    print_title(
        console, found.title, f"on {counted(one.accelerators, 'accelerator')}: what one iteration sends"
    )
    print_facts(
        console,
        [
            ("servers", f"{found.servers:,}, ranks in the order {found.order}"),
            (
                "batch",
                f"{one.global_batch} sequences of {one.sequence} tokens, {one.micro_batches} micro-batches "
                f"of {one.micro_batch} a replica",
            ),
            ("expert loads", found.loads or ""),
        ],
    )
    if not kinds:
        print_warning(console, "one accelerator, or replicas of size one: nothing is sent")
        return
    print_title(console, "A rank of the first stage", "rank 0")
    print_table(console, RANK_COLUMNS, rank_cells(found.first_stage()), RANK_COLUMNS[2:])
    print_title(console, "All ranks", "rings in the order of ranks")
    print_table(console, KIND_COLUMNS, map(kind_cells, kinds), KIND_COLUMNS[2:])
    _print_servers(console, found)
    if files:
        print_facts(console, [("", ""), ("written", ", ".join(files))])


def headline(found: "LlmTraffic") -> str:
    """Return the sentence that sums it up."""
    kinds = found.kinds()
    most = max(kinds, key=lambda row: row.network_bytes, default=None)
    if most is None or most.network_bytes == 0:
        return "Nothing leaves a server."
    network = sum(row.network_bytes for row in kinds)
    return (
        f"{format_bytes(network)} leave servers in one iteration, {most.network_bytes / network:.0%} of them for "
        f"{most.kind} {most.collective}."
    )


def rank_cells(rows: Sequence["RankRow"]) -> tuple[tuple[str, ...], ...]:
    """Return the rows of :data:`RANK_COLUMNS`; more than :data:`APART` sizes of message become one row."""
    alike: dict[tuple[str, str, int], list[RankRow]] = {}
    for row in rows:
        alike.setdefault((row.kind, row.collective, row.size), []).append(row)
    found = []
    for some in alike.values():
        found += [[row] for row in some] if len(some) <= APART else [some]
    return tuple(map(_rank_cells, found))


def _rank_cells(rows: list["RankRow"]) -> tuple[str, ...]:
    sizes = [row.message_bytes for row in rows]
    return (
        rows[0].kind,
        rows[0].collective,
        f"{rows[0].size:,}",
        _span(min(sizes), max(sizes)),
        f"{sum(row.count for row in rows):,}",
        format_bytes(sum(row.sent_bytes for row in rows)),
    )


def kind_cells(row: "KindRow") -> tuple[str, ...]:
    """Return a row of :data:`KIND_COLUMNS`."""
    return (
        row.kind,
        row.collective,
        f"{row.groups:,}",
        f"{row.size:,}",
        _span(row.smallest_bytes, row.largest_bytes),
        f"{row.count:,}",
        format_bytes(row.wire_bytes),
        format_bytes(row.network_bytes),
    )


def binary(size_bytes: float) -> str:
    """Return bytes as publications give messages: in KiB, MiB or GiB.

    Examples
    --------
    >>> binary(131_072_000), binary(64), binary(3 * 2**30)
    ('125.00 MiB', '64 B', '3.00 GiB')
    """
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= scale:
            return f"{size_bytes / scale:.2f} {unit}"
    return f"{size_bytes:.0f} B"


def _span(smallest_bytes: int, largest_bytes: int) -> str:
    small, large = binary(smallest_bytes), binary(largest_bytes)
    return small if small == large else f"{small} – {large}"


def _print_servers(console: "Console", found: "LlmTraffic") -> None:
    demand = found.traffic()
    transfers = len(demand.transfers)
    print_title(console, "Between servers", "collectives add up inside a server first")
    if found.servers == 1:
        print_facts(console, [("servers", "one: nothing leaves it")])
        return
    print_facts(
        console,
        [
            (
                "AllReduce",
                f"{format_bytes(demand.allreduce_bytes)} in {counted(len(demand.allreduce), 'group')}, "
                f"{format_bytes(demand.allreduce_wire_bytes)} on the wire",
            ),
            ("all-to-all", counted(len(demand.alltoall), "group") if demand.alltoall else ""),
            ("transfers", f"between {counted(transfers, 'ordered pair')}" if transfers else ""),
            ("model parallel", f"{format_bytes(demand.mp_bytes)} in all-to-alls and transfers"),
        ],
    )


def _rank_row(row: "RankRow") -> dict[str, Any]:
    return {**asdict(row), "parts": list(row.parts)}
