"""CASSINI's snapshots and pairs of jobs: scores, shifts and times of ours beside the published tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from topoopt.clusters import EvaluatedModel, TraceJob, cassini_snapshots, evaluated_models
from topoopt.plugins.papers.cassini_jobs import OneLink, at_one_time, on_one_link, profile_of
from topoopt.plugins.papers.description import Description
from topoopt.plugins.papers.figure import Comparison, Row
from topoopt.workloads import load_model

WORKERS = (2, 3)
"""Of a job: VGG16's published profile, 114 ms at 45 Gb/s, is between the rings of 2 and of 3 workers."""
TIMES = ("own", "one")
"""Jobs with their own iteration times, or all with the longest."""
SHOWN = 3, "one"
"""The case of which times are compared."""


def snapshot_rows(seed: int) -> Iterator[Row]:
    """Yield a row for each job of each snapshot, by workers and iteration times."""
    for number, jobs in cassini_snapshots().items():
        yield from _rows("snapshot", str(number), jobs, WORKERS, seed)


def pair_rows(text: Description, seed: int) -> Iterator[Row]:
    """Yield a row for each job of the tables of jobs that suit each other, or do not."""
    for name in ("unfair", "pairs"):
        for entry in text.tables[name]:
            jobs = [_paired(model, index) for index, model in enumerate(entry["models"], 1)]
            yield from _rows(name, _together(jobs), jobs, WORKERS[-1:], seed)


def _paired(model: str, number: int) -> TraceJob:
    """Return a job with the zoo's batch, which transformers have none of: these with the least that is published."""
    published = _evaluated(model)
    batch = published.batch_low if published.training else load_model(model).batch_per_accelerator
    name = f"{model}-{number}"
    return TraceJob(
        name, model, WORKERS[-1], 0.0, 1.0, batch_per_accelerator=batch, training=published.training
    )


def _rows(kind: str, name: str, jobs: Sequence[TraceJob], workers: Sequence[int], seed: int) -> Iterator[Row]:
    for count in workers:
        profiles = [profile_of(job, count) for job in jobs]
        for times in TIMES:
            link = on_one_link(profiles if times == "own" else at_one_time(profiles), seed)
            for index, job in enumerate(jobs):
                yield {
                    "what": kind,
                    "name": name,
                    "workers": count,
                    "periods": times,
                    "job": title_of(job.model),
                    "batch_per_accelerator": job.batch_per_accelerator,
                    **_job_columns(link, index),
                }


def _job_columns(link: OneLink, index: int) -> Row:
    profile = link.profiles[index]
    ways = ("fair", "cassini", "mltcp", "static")
    return {
        "dedicated_time_s": profile.iteration_time_s,
        "duty": profile.duty,
        "score": link.interleaving.score,
        "unrotated_score": link.interleaving.unrotated_score,
        "time_shift_s": link.interleaving.time_shifts_s[index],
        **{f"{way}_iteration_time_s": float(link.times_s[way][index]) for way in ways},
        **{f"{way}_communication_time_s": float(link.communications_s[way][index]) for way in ways},
        **{f"{way}_ecn_marks_per_s": link.ecn_marks[way] for way in ways},
    }


def title_of(model: str) -> str:
    """Return a model as the paper writes it."""
    return _evaluated(model).title


def _evaluated(model: str) -> EvaluatedModel:
    return next(row for row in evaluated_models() if row.model == model)


def _together(jobs: Sequence[TraceJob]) -> str:
    return "+".join(title_of(job.model) for job in jobs)


def snapshot_comparisons(text: Description, rows: Sequence[Row]) -> Iterator[Comparison]:
    """Yield scores, shifts and communication times beside the published table."""
    for number, published in enumerate(text.tables["snapshots"], 1):
        for workers in WORKERS:
            for times in TIMES:
                own = _of(rows, "snapshot", str(number), workers, times)
                yield text.comparison(
                    "score",
                    own[0]["score"],
                    times,
                    published=published["score"],
                    number=number,
                    workers=workers,
                    times=text.tables["times"][times],
                )
        own = _of(rows, "snapshot", str(number), *SHOWN)
        for index, row in enumerate(own):
            for way, column in (("fair", "themis_ms"), ("cassini", "cassini_ms")):
                yield text.comparison(
                    "communication",
                    row[f"{way}_communication_time_s"] * 1e3,
                    way,
                    published=published[column][index],
                    number=number,
                    job=f"{row['job']} ({index + 1})",
                    way=text.tables["ways"][way],
                )
            if index:
                yield text.comparison(
                    "shift",
                    row["time_shift_s"] * 1e3,
                    published=published["shifts_ms"][index],
                    number=number,
                    job=f"{row['job']} ({index + 1})",
                )


def pair_comparisons(text: Description, rows: Sequence[Row]) -> Iterator[Comparison]:
    """Yield what unfairness does, beside the published speed-ups, and scores beside which pairs suit each other."""
    for entry in text.tables["unfair"]:
        for times in TIMES:
            own = [row for row in rows if row["what"] == "unfair" and _is(row, entry, times)]
            for index, row in enumerate(own):
                yield text.comparison(
                    "unfair",
                    row["fair_iteration_time_s"] / row["static_iteration_time_s"],
                    published=entry["speed_ups"][index],
                    jobs=row["name"],
                    job=f"{row['job']} ({index + 1})",
                    times=text.tables["times"][times],
                )
    for entry in text.tables["pairs"]:
        for times in TIMES:
            row = next(row for row in rows if row["what"] == "pairs" and _is(row, entry, times))
            suits = "compatible" if entry["suits"] else "incompatible"
            yield text.comparison(
                "pair", row["score"], suits, jobs=row["name"], suits=suits, times=text.tables["times"][times]
            )


def _is(row: Row, entry: Mapping[str, Any], times: str) -> bool:
    together = "+".join(map(title_of, entry["models"]))
    return bool((row["name"], row["periods"]) == (together, times))


def _of(rows: Sequence[Row], what: str, name: str, workers: int, times: str) -> list[Row]:
    wanted = (what, name, workers, times)
    return [row for row in rows if (row["what"], row["name"], row["workers"], row["periods"]) == wanted]
