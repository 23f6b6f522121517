"""Serving, as others have published it: queues, fabrics, routers, a known deployment, caches on their way."""

from collections.abc import Iterator
from dataclasses import dataclass

from topoopt.inference import published_orderings
from topoopt.plugins.papers.description import description
from topoopt.plugins.papers.figure import Comparison, Figure, Progress, Row, StudySettings
from topoopt.plugins.papers.serving_choice import router_rows
from topoopt.plugins.papers.serving_queues import queue_rows
from topoopt.plugins.papers.serving_scale_up import scale_up_rows
from topoopt.plugins.papers.serving_transfers import transfer_rows

TEXT = description("serving")


@dataclass(frozen=True, slots=True)
class ServingGrid:
    """How much is simulated, and whether fabrics with searched deployments are among it."""

    prompts: int
    requests: int
    searched: bool = True


WHOLE, QUICK = ServingGrid(1_000_000, 20_000), ServingGrid(1_000_000, 4_000)


def serving(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return what is published of serving, ours beside it."""
    return serving_on(QUICK if settings.quick else WHOLE, settings, on_progress)


def serving_on(grid: ServingGrid, settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the same of another size."""
    parts = ("queues", "scale-up networks", "routers", "fabrics and deployments", "transfers")
    found: list[tuple[Row, Comparison]] = []
    for done, part in enumerate(parts):
        on_progress(f"serving: {part}", done, len(parts))
        found += {
            "queues": lambda: queue_rows(grid.prompts, settings.seed),
            "scale-up networks": scale_up_rows,
            "routers": lambda: router_rows(grid.requests, settings.seed),
            "fabrics and deployments": _ordered if grid.searched else tuple,
            "transfers": transfer_rows,
        }[part]()
    rows = [row for row, _ in found]
    return TEXT.figure(
        rows,
        [comparison for _, comparison in found],
        [
            TEXT.chart("routers", [row for row in rows if row["part"] == "router"]),
            TEXT.chart("transfers", list(_drawn(rows))),
        ],
    )


def _ordered() -> Iterator[tuple[Row, Comparison]]:
    for one in published_orderings():
        row = {
            "part": "fabrics and deployments",
            "case": one.what,
            "quantity": one.unit,
            "ours": one.ours,
            "published": one.low,
        }
        comparison = Comparison(
            one.what,
            one.unit,
            one.ours,
            one.low,
            one.high,
            None,
            one.origin,
            one.explanation or TEXT.tables["inside"],
        )
        yield row, comparison


def _drawn(rows: list[Row]) -> Iterator[Row]:
    """Yield measured and computed seconds of transfers by their bytes."""
    size = 0.0
    for row in rows:
        if row["part"] == "transfer" and row["quantity"] == "bytes":
            size = row["published"]
        elif row["part"] == "transfer":
            for kind in ("ours", "published"):
                yield {
                    "engine": f"{row['case'].partition(',')[0]}, {kind}",
                    "bytes": size,
                    "time_s": row[kind],
                }
