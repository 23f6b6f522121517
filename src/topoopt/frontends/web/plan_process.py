"""One plan, made in a process of its own: it says how far it is, and writes plan and report into a folder."""

import signal
import time
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from topoopt.base.answers import ask
from topoopt.base.errors import TopoOptError
from topoopt.base.workers import end_with_parent
from topoopt.pages import figure, topology_of_plan
from topoopt.plans import Plan
from topoopt.search import Draft

LEAST_PAUSE_S = 0.05
"""Between two words of progress within a stage."""


def make_plan_alone(connection: Connection, model: str, words: Mapping[str, Any], folder: str) -> None:
    """Make a plan, write it, and send ``(kind, ...)``: progress, at last done or failed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    end_with_parent()
    said_s, said_stage = 0.0, ""

    def progress(stage: str, done: int, total: int) -> None:
        nonlocal said_s, said_stage
        now_s = time.monotonic()
        if stage != said_stage or now_s - said_s > LEAST_PAUSE_S:
            said_s, said_stage = now_s, stage
            connection.send(("progress", stage, done, total))

    def draft(found: Draft) -> None:
        connection.send(("draft", found.to_json()))

    try:
        plan = ask("plan", model, on_progress=progress, on_draft=draft, **words)
        progress("writing the report", 0, 0)
        ask("write_plan", Path(folder, "plan.json"), plan)
        ask("report", plan, Path(folder, "report.html"))
        connection.send(("done", in_short(plan)))
    except TopoOptError as error:
        connection.send(("failed", str(error)))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        connection.send(("failed", f"a mistake of ours: {type(error).__name__}: {error} ({where})"))


def in_short(plan: Plan) -> dict[str, Any]:
    """Return what the page shows of a plan."""
    page = ask("page_of", plan)
    return {
        "iteration_time_s": plan.outcome.iteration_time_s,
        "lower_bound_s": plan.bounds.lower_bound_s,
        "gap": plan.gap,
        "cost_usd": plan.price.get("cost_usd"),
        "headline": page.headline,
        "warnings": list(page.warnings),
        "tiles": [{"name": tile.name, "value": tile.value, "remark": tile.remark} for tile in page.tiles],
        "wiring": plan.wiring.family if plan.wiring is not None else "",
        "topology": figure(topology_of_plan(plan)),
        "fabrics": [
            {
                "fabric": row.fabric,
                "rule": row.rule,
                "iteration_time_s": row.outcome.iteration_time_s,
                "cost_usd": row.cost_usd,
            }
            for row in plan.baselines
        ],
    }
