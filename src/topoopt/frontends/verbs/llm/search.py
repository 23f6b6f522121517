"""``topoopt.llm.search``: the fastest training configurations of a transformer on given accelerators."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Unpack

from topoopt.base.errors import InvalidInput
from topoopt.base.limits import whole
from topoopt.frontends.verbs.llm.words import Transformer, calibration_of, loads_of, model_of, system_of
from topoopt.frontends.verbs.pricing import assumed_by, cluster_of
from topoopt.schema.words import ConfigurationSearchWords, checked_arguments, checked_words, pick
from topoopt.transformers import (
    LARGEST_COUNT,
    ConfigurationSearch,
    Limits,
    SearchRequest,
    fixed_fields,
    left_out,
    published_layouts,
    search_configurations,
    untried_schedule,
    usual_batch,
    usual_framework,
    usual_precision,
)


@checked_arguments
def search(
    model: Transformer = None,
    *,
    top: int = 10,
    variants: bool = False,
    **words: Unpack[ConfigurationSearchWords],
) -> ConfigurationSearch:
    """Find the fastest parallelism for a transformer: degrees, micro-batch, recomputation, ZeRO.

    Every valid configuration is considered; those that do not fit into memory are omitted, the others are ranked by
    estimated time.

    Parameters
    ----------
    model
        A transformer's name, the ``config.json`` of Hugging Face, or a model; none for shapes by hand.
    top
        Number of configurations shown.
    variants
        Whether to show rows that differ from a faster one only in recomputation, ZeRO or sequence parallelism.
    **words
        The flags of ``topoopt llm search`` with underscores: ``accelerators``, ``tp``, ``max_vpp`` …

    Returns
    -------
    ConfigurationSearch

    Raises
    ------
    InvalidInput
        For an unknown option or name, or if no configuration is valid.
    Infeasible
        If none fits into memory.

    Examples
    --------
    >>> import topoopt
    >>> found = topoopt.llm.search("llama3-8b", accelerators=64, tp=4, top=1)
    >>> [(row["tp"], row["pp"], row["dp"]) for row in found.shown()]
    [(4, 1, 16)]
    """
    settings = checked_words(words, ConfigurationSearchWords)
    whole("top", top, 1)
    calibration = calibration_of(settings, settings["accelerator"])
    request = _request(model, settings, calibration.attention)
    cluster = cluster_of(settings, request.system, request.accelerators)
    answer = search_configurations(request, calibration)
    published, others = published_layouts(answer), left_out(answer.request)
    assumed = assumed_by(words, request.system, request.accelerators, "bandwidth")
    answer = replace(answer, top=top, variants=variants, published=published, not_searched=others)
    answer = replace(answer, **untried_schedule(answer))
    return replace(answer, cluster=cluster, assumed=assumed)


def _request(model: Transformer, words: Mapping[str, Any], attention: str) -> SearchRequest:
    accelerators = words.get("accelerators")
    if accelerators is None:
        raise InvalidInput("accelerators: missing; give the number of accelerators")
    whole("accelerators", accelerators, 1)
    transformer, system = model_of(model, words), system_of(words)
    batch = words.get("global_batch", usual_batch(transformer.sequence, accelerators))
    if not 1 <= batch <= LARGEST_COUNT:
        raise InvalidInput(f"global_batch: expected an integer from 1 to {LARGEST_COUNT}, got {batch}")
    fixed, limits = fixed_fields(words), Limits(**pick(words, [column.name for column in fields(Limits)]))
    for column in fields(Limits):
        degree, most = column.name.removeprefix("max_"), getattr(limits, column.name)
        if degree in fixed and most != column.default and fixed[degree] > most:
            raise InvalidInput(
                f"{degree} {fixed[degree]}: is above {column.name} {most}; leave one of them out"
            )
    return SearchRequest(
        transformer,
        accelerators,
        system,
        batch,
        transformer.sequence,
        fixed,
        limits,
        words.get("precision") or usual_precision(system.accelerator),
        attention,
        words.get("framework", usual_framework(system.accelerator)),
        loads_of(transformer, words),
    )
