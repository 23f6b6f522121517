"""Serving, as others have published it: queues, fabrics, routers, a known deployment, caches on their way."""

from collections.abc import Iterator

from topoopt.reproduction.description import description
from topoopt.reproduction.figure import Comparison, Figure, Progress, Row, StudySettings
from topoopt.reproduction.serving_choice import router_rows
from topoopt.reproduction.serving_queues import queue_rows
from topoopt.reproduction.serving_scale_up import scale_up_rows
from topoopt.reproduction.serving_transfers import transfer_rows
from topoopt.serving import published_orderings

TEXT = description("serving")


def serving(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return what is published of serving, ours beside it."""
    parts = ("queues", "scale-up networks", "routers", "fabrics and deployments", "transfers")
    found: list[tuple[Row, Comparison]] = []
    for done, part in enumerate(parts):
        on_progress(f"serving: {part}", done, len(parts))
        found += {
            "queues": lambda: queue_rows(settings.seed),
            "scale-up networks": scale_up_rows,
            "routers": lambda: router_rows(settings.quick, settings.seed),
            "fabrics and deployments": _ordered,
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
