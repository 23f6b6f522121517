"""Models that are served beside training on a cluster: how long what they send is under way, and how much longer."""

from dataclasses import dataclass

from topoopt.cluster import ClusterResult, JobRecord
from topoopt.report.page import Block, Notes
from topoopt.report.rows import number, table, text
from topoopt.report.run_names import run_names_apart
from topoopt.units import format_time

SENDS = (
    "a send: keys and values of a prompt on their way to who answers, and what experts, stages and split layers "
    "exchange between servers, from first to last byte"
)
SCHEDULED = "a send: what the model sends in a second, at its mean rate"
ROTATED = "serving has no iterations: it counts in none of the iteration times, and nothing shifts it"


@dataclass(frozen=True, slots=True)
class _Row:
    """A served model on a fabric."""

    fabric: str
    job: JobRecord

    @property
    def mean_s(self) -> float:
        """Mean time of a send."""
        assert self.job.served is not None
        return self.job.served.send_time_s.mean

    @property
    def p99_s(self) -> float:
        """99th percentile of these."""
        assert self.job.served is not None
        return self.job.served.send_time_s.p99

    @property
    def slowdown(self) -> float:
        """Over that of the same model alone."""
        assert self.job.served is not None
        return self.job.served.slowdown

    @property
    def kept_up(self) -> str:
        """Whether the links carried it."""
        assert self.job.served is not None
        return "" if self.job.served.kept_up else f"no: {self.job.served.load:.2f} × what the links carry"


def served_blocks(result: ClusterResult) -> tuple[Block, ...]:
    """Return a row for each served model on each fabric, and what the numbers are; nothing where none is served."""
    name = run_names_apart(result.fabrics)
    rows = [_Row(name(run), job) for run in result.fabrics for job in run.served]
    if not rows:
        return ()
    ordered = sorted(rows, key=lambda row: row.job.arrival_s)
    sends = table(
        "Served models",
        ordered,
        text("served", "job.job"),
        text("model", "job.model"),
        number("servers", lambda row: len(row.job.servers)),
        text("fabric", "fabric"),
        number("a send", "mean_s", format_time),
        number("p99", "p99_s", format_time),
        number("× alone", "slowdown", ".2f"),
        *([text("keeps up", "kept_up")] if any(row.kept_up for row in rows) else []),
    )
    return sends, Notes((SCHEDULED if any(run.schedule for run in result.fabrics) else SENDS, ROTATED))
