"""Published practice: the few configurations that are known for a model and a number of accelerators.

They are rows of ``data/published_layouts.csv``, with the replicas that there are accelerators for.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.jobs import PublishedLayout
from topoopt.schema.files import packaged_rows
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.configuration_check import check_configuration
from topoopt.transformers.configuration_table import RARE_COLUMNS, configuration_table
from topoopt.transformers.search.request import SearchRequest
from topoopt.transformers.search.result import ConfigurationSearch
from topoopt.transformers.step_time.closed_form import estimate
from topoopt.workloads.transformer import TransformerModel, count_parameters, find_transformer

AMONG_THE_FIRST = 0.05
"""Share of the list within which nothing is to be explained."""
WORTH_SAYING = 0.005
"""Share of the time that a difference saves at least."""
MOST_STEPS = 3
DEGREES = ("tp", "pp", "dp", "cp", "ep", "etp", "vpp")
ALONE = ("micro_batch", "recompute", "zero", "vpp")
MOST = 3
"""Most configurations named."""
MOST_SCALED = 64.0
"""Largest ratio to the published number of accelerators at which a training configuration is still used."""
ALIKE = 1.5
"""Factor of the parameters within which another model of the same kind is alike, if a model has no publication; and
of the memory within which an accelerator of another architecture is."""
NEAR_SEQUENCES = 2.0
"""Factor of the tokens of a sequence within which it is split alike."""
OTHER_ARCHITECTURE = 2
TEXTS = ("recompute", "context", "schedule", "dispatch", "moments", "activation_inputs")
COUNTS = ("tp", "pp", "cp", "ep", "etp", "vpp", "micro_batch", "zero")


@dataclass(frozen=True, slots=True)
class Publication:
    """A row of the table: the job of a published configuration, its fields, and the publication."""

    model: TransformerModel
    accelerator: str
    accelerators: int
    sequence: int
    words: Mapping[str, Any]
    source: str


def published_layouts(search: ConfigurationSearch) -> tuple[PublishedLayout, ...]:
    """Return the published configurations that suit the search, at most :data:`MOST`, the nearest first.

    Those for the model itself or, without any, for models of the same kind and similar size.
    """
    request = search.request
    found = _nearest(request)
    if not found:
        return ()
    table = configuration_table(list(found))
    times = estimate(request.model, table, request.system, search.calibration, request.loads).iteration_time_s
    needed = request.memory(table)
    ranked_s = search.times.iteration_time_s
    ranks = [1 + int(np.sum(ranked_s < seconds * (1 - 1e-9))) for seconds in times]
    return tuple(
        PublishedLayout(
            row.source,
            row.model.name,
            row.accelerator,
            row.accelerators,
            row.words["precision"],
            words_of(one),
            float(times[place]),
            float(ranked_s.min()),
            float(needed.total[place]),
            bool(needed.fits[place]),
            ranks[place],
            len(ranked_s),
            why_slower(search, one, ranks[place]),
        )
        for place, (one, row) in enumerate(found.items())
    )


def _nearest(request: SearchRequest) -> dict[Configuration, Publication]:
    """Return the nearest configurations valid for the job; of another architecture only if there are no others."""
    rows = sorted(_suited(request), key=lambda row: distance(request, row))
    other = [row for row in rows if kind_of(request, row) == OTHER_ARCHITECTURE]
    found: dict[Configuration, Publication] = {}
    for group in (rows[: len(rows) - len(other)], [row for row in other if _has_as_much(request, row)]):
        for row in group:
            with suppress(InvalidInput):
                found.setdefault(_scaled(request, row), row)
        if found:
            break
    return dict(list(found.items())[:MOST])


def _suited(request: SearchRequest) -> Iterator[Publication]:
    """Yield publications of the model, else of similar models, with similar accelerators and sequence."""
    rows = [row for row in publications() if _is_near(request, row)]
    own = [row for row in rows if row.model.name == request.model.name]
    yield from own or (row for row in rows if _is_alike(request.model, row.model))


def _is_near(request: SearchRequest, row: Publication) -> bool:
    scaled = times_apart(request.accelerators, row.accelerators)
    return scaled <= MOST_SCALED and times_apart(request.sequence, row.sequence) <= NEAR_SEQUENCES


def _is_alike(one: TransformerModel, other: TransformerModel) -> bool:
    sizes = [count_parameters(model).total for model in (one, other)]
    return (one.experts is None) == (other.experts is None) and times_apart(*sizes) <= ALIKE


def times_apart(one: float, other: float) -> float:
    """Return the ratio of two numbers, at least 1."""
    return max(one / other, other / one)


def distance(request: SearchRequest, row: Publication) -> tuple[int, float, bool]:
    """Return the distance of a row: by kind of accelerator, then by their number, then by precision."""
    scaled = abs(math.log2(request.accelerators / row.accelerators))
    return kind_of(request, row), scaled, row.words["precision"] != request.precision


def kind_of(request: SearchRequest, row: Publication) -> int:
    """Return 0 for the published accelerator, 1 for another of its architecture, else 2."""
    here, there = find_accelerator(request.system.accelerator), find_accelerator(row.accelerator)
    if here == there:
        return 0
    return 1 if here.architecture == there.architecture else OTHER_ARCHITECTURE


def _has_as_much(request: SearchRequest, row: Publication) -> bool:
    here, there = find_accelerator(request.system.accelerator), find_accelerator(row.accelerator)
    return times_apart(here.memory_bytes, there.memory_bytes) <= ALIKE


def _scaled(request: SearchRequest, row: Publication) -> Configuration:
    """Return a published configuration scaled to the available accelerators, with the options of this request.

    Raises
    ------
    InvalidInput
        If that does not go together.
    """
    one = configuration_of(request, row)
    check_configuration(request.model, one, request.accelerators, uneven_stages=True)
    return one


def configuration_of(request: SearchRequest, row: Publication) -> Configuration:
    """Return the same, whether it goes together or not."""
    asked = {name: value for name, value in request.fixed.items() if name in RARE_COLUMNS}
    words = {**asked, **row.words, "precision": request.precision}
    inside = words["tp"] * words["pp"] * words.get("cp", 1)
    return Configuration(
        **words,
        dp=max(request.accelerators // inside, 1),
        global_batch=request.global_batch,
        sequence=request.sequence,
        sequence_parallel=words["tp"] > 1,
    )


def words_of(one: Configuration) -> dict[str, Any]:
    """Return the fields of a configuration that differ from their defaults or have none."""
    usual = {item.name: item.default for item in fields(Configuration)}
    left_out = ("global_batch", "sequence")
    return {
        name: value for name, value in asdict(one).items() if value != usual[name] and name not in left_out
    }


@cache
def publications() -> tuple[Publication, ...]:
    """Return all rows of the table."""
    return tuple(
        Publication(
            find_transformer(row["model"]),
            find_accelerator(row["accelerator"]).name,
            int(row["accelerators"]),
            int(row["sequence"]),
            _words(row),
            row["source"],
        )
        for row in packaged_rows("transformers", "published_layouts")
    )


def _words(row: Mapping[str, str]) -> dict[str, Any]:
    return {
        **{name: int(row[name]) for name in COUNTS if row[name]},
        **{name: row[name] for name in TEXTS if row[name]},
        **({"overlap_experts": True} if row["overlap_experts"] else {}),
        "precision": row["precision"],
    }


def why_slower(search: ConfigurationSearch, one: Configuration, rank: int) -> Mapping[str, float]:
    """Return the changes made by the fastest configuration, with the share of the time that each saves.

    Fields are changed to those of the fastest one after the other, largest saving first, as long as the result is
    valid and fits; each share is of the time before. Empty for one that is among the first of the list.
    """
    if rank <= AMONG_THE_FIRST * len(search.table):
        return {}
    best = search.table.row(int(np.argmin(search.times.iteration_time_s)))
    saved: dict[str, float] = {}
    here_s = _times_s(search, [one])[0][0]
    while len(saved) < MOST_STEPS:
        steps = dict(_steps(search, one, best))
        if not steps:
            break
        seconds, fits = _times_s(search, list(steps.values()))
        seconds = np.where(fits, seconds, np.inf)
        place = int(np.argmin(seconds))
        share = 1 - float(seconds[place] / here_s)
        if share < WORTH_SAYING:
            break
        words, one = list(steps.items())[place]
        saved[words], here_s = share, seconds[place]
    return saved


def _steps(
    search: ConfigurationSearch, one: Configuration, best: Configuration
) -> Iterator[tuple[str, Configuration]]:
    """Yield every valid configuration that takes one more field from the best, and that field."""
    for names in (*((name,) for name in ALONE), DEGREES):
        changed: dict[str, Any] = {
            name: getattr(best, name) for name in names if getattr(best, name) != getattr(one, name)
        }
        if not changed:
            continue
        with suppress(InvalidInput):
            other = replace(one, **changed)
            check_configuration(search.request.model, other, search.request.accelerators, uneven_stages=True)
            yield " ".join(f"{name} {value}" for name, value in changed.items()), other


def _times_s(search: ConfigurationSearch, configurations: list[Configuration]) -> tuple[Any, Any]:
    """Return seconds in closed form, and which fit."""
    request, table = search.request, configuration_table(configurations)
    times = estimate(request.model, table, request.system, search.calibration, request.loads)
    return times.iteration_time_s, request.memory(table).fits
