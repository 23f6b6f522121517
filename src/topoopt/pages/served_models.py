"""Models that are served beside training on a cluster: how long what they send is under way, and how much longer."""

from collections.abc import Sequence
from dataclasses import dataclass

from topoopt.base.units import format_time
from topoopt.clusters import AnswerTime, ClusterResult, JobRecord, ServedRecord
from topoopt.pages.page import Block, Notes
from topoopt.pages.rows import number, table, text
from topoopt.pages.run_names import run_names_apart

SENDS = (
    "a send: keys and values of a prompt on their way to who answers, and what experts, stages and split layers "
    "exchange between servers, from first to last byte"
)
SCHEDULED = "a send: what the model sends in a second, at its mean rate"
ANSWERS = (
    "TTFT, TPOT: the first token and each further one, of requests as they come; steps and queues are those of topoopt "
    "serving, caches are under way as long as sends were here, and steps wait for exchanges as much longer"
)
OVERLOADED = (
    "{names}: more requests come than these accelerators answer, so that answers take the longer the later they come; "
    "give more servers, or see topoopt serving for a split that does"
)
MOST_ROWS = 24
"""Of training; all of it is in JSON."""
ROTATED = "serving has no iterations: it counts in none of the iteration times, and nothing shifts it"


@dataclass(frozen=True, slots=True)
class _Row:
    """A served model on a fabric."""

    fabric: str
    job: JobRecord

    @property
    def served(self) -> ServedRecord:
        """What became of it."""
        assert self.job.served is not None
        return self.job.served

    @property
    def sends(self) -> str:
        """Mean and tail of its sends."""
        times = self.served.send_time_s
        return f"{format_time(times.mean)}, {format_time(times.p99)}" if times.mean else "none"

    @property
    def ttft_over(self) -> float | None:
        """Mean time to the first token over that alone."""
        answers = self.served.answers
        return answers.ttft_s.mean / answers.ttft_alone_s.mean if answers else None

    @property
    def tpot_over(self) -> float | None:
        """Mean time of a further token over that alone."""
        answers = self.served.answers
        if answers is None or answers.tpot_s is None or answers.tpot_alone_s is None:
            return None
        return answers.tpot_s.mean / answers.tpot_alone_s.mean

    @property
    def kept_up(self) -> str:
        """Whether links and accelerators carried it."""
        links = "" if self.served.kept_up else f"links no: {self.served.load:.2f} × what they carry"
        few = self.served.answers is not None and self.served.answers.overloaded
        return ", ".join(filter(None, (links, "accelerators no" if few else "")))


def served_blocks(result: ClusterResult) -> tuple[Block, ...]:
    """Return a row for each served model on each fabric, and what the numbers are; nothing where none is served."""
    name = run_names_apart(result.fabrics)
    rows = [_Row(name(run), job) for run in result.fabrics for job in run.served]
    if not rows:
        return ()
    ordered = sorted(rows, key=lambda row: row.job.arrival_s)
    scheduled = any(run.schedule for run in result.fabrics)
    sends = table(
        "Served models",
        ordered,
        text("served", "job.job"),
        text("model", "job.model"),
        number("servers", lambda row: len(row.job.servers)),
        text("fabric", "fabric"),
        number("a send, p99", "sends"),
        number("× alone", "served.slowdown", ".2f"),
        *([text("keeps up", lambda row: row.kept_up or "yes")] if any(row.kept_up for row in rows) else []),
    )
    notes = Notes((SCHEDULED if scheduled else SENDS, ROTATED))
    return (sends, notes, *_answers(ordered), *_beside(result))


def _answers(rows: Sequence[_Row]) -> tuple[Block, ...]:
    """Return how long answers took, where that is known."""
    known = [row for row in rows if row.served.answers is not None]
    if not known:
        return ()
    said = any(row.served.answers and row.served.answers.in_time is not None for row in known)
    in_time = [
        number("in time", "served.answers.in_time", ".1%"),
        number("alone", "served.answers.in_time_alone", ".1%"),
    ]
    answers = table(
        "Answers",
        known,
        text("served", "job.job"),
        text("fabric", "fabric"),
        number("TTFT", "served.answers.ttft_s.mean", format_time),
        number("p99", "served.answers.ttft_s.p99", format_time),
        number("× alone", "ttft_over", ".3f"),
        number("TPOT", lambda row: _mean(row.served.answers.tpot_s), format_time),
        number("× alone", "tpot_over", ".3f"),
        *(in_time if said else ()),
    )
    few = [row for row in known if row.served.answers and row.served.answers.overloaded]
    names = ", ".join(dict.fromkeys(row.job.job for row in few))
    return answers, Notes((ANSWERS, *([OVERLOADED.format(names=names)] if few else [])))


def _beside(result: ClusterResult) -> tuple[Block, ...]:
    """Return how long iterations of training took beside the served models."""
    name = run_names_apart(result.fabrics)
    rows = [
        _Row(name(run), job)
        for run in result.fabrics
        for job in run.trained
        if job.undisturbed_iteration_time_s is not None
    ]
    beside = table(
        "Training beside them",
        sorted(rows, key=lambda row: row.job.arrival_s)[:MOST_ROWS],
        text("trained", "job.job"),
        text("model", "job.model"),
        number("servers", lambda row: len(row.job.servers)),
        text("fabric", "fabric"),
        number("iteration", "job.iteration_time_s.mean", format_time),
        number("alone", "job.undisturbed_iteration_time_s", format_time),
        number("×", lambda row: row.job.iteration_time_s.mean / row.job.undisturbed_iteration_time_s, ".3f"),
    )
    more = len(rows) - MOST_ROWS
    return (beside, Notes((f"{more} more rows in JSON",))) if more > 0 else (beside,) if rows else ()


def _mean(times: AnswerTime | None) -> float | None:
    return times.mean if times else None
