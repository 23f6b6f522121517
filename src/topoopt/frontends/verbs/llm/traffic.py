"""``topoopt.llm.traffic``: traffic between ranks and servers in one iteration of a transformer's training."""

import os
from collections.abc import Mapping
from typing import Any, Unpack

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.limits import whole
from topoopt.catalog import find_accelerator
from topoopt.frontends.verbs.llm.words import ESTIMATORS, Transformer, configuration_of, loads_of, model_of
from topoopt.schema.files import read_text
from topoopt.schema.words import RankTrafficWords, checked_arguments, checked_words
from topoopt.transformers import (
    RankTraffic,
    accelerators_of_a_server,
    communications,
    configuration_table,
    find_framework,
    place_ranks,
    shared_by,
)

BY = ("server", "rank", "kind")
PUBLISHED = "sends"
"""Part of the software that the published formula does not split (APNet'24: T_PP has whole activations)."""


@checked_arguments
def traffic(
    model: Transformer = None, *, by: str = "server", **words: Unpack[RankTrafficWords]
) -> RankTraffic:
    """Return the exact traffic of an iteration without running it: by kind, by rank, between servers.

    Parameters
    ----------
    model
        A transformer's name, the ``config.json`` of Hugging Face, or a model; none for shapes by hand.
    by
        Grouping of the matrices: ``server``, without traffic inside servers; ``rank``; ``kind``: servers for each
        kind.
    **words
        The flags of ``topoopt llm traffic`` with underscores: ``accelerators``, ``tp``, ``order``, ``loads`` …
        ``slots`` is a file, or the accelerator of each rank.

    Returns
    -------
    RankTraffic

    Raises
    ------
    InvalidInput
        For an unknown option or name, or an invalid configuration, with the nearest valid values.

    Examples
    --------
    >>> import topoopt
    >>> found = topoopt.llm.traffic("mixtral-8x7b", accelerators=64, ep=8, tp=2)
    >>> sorted({row.kind for row in found.kinds()}), found.servers
    (['dp', 'ep', 'tp'], 8)
    """
    settings = checked_words(words, RankTrafficWords)
    check_known("by", by, BY)
    transformer = model_of(model, settings)
    framework, law = settings.get("framework", "megatron"), settings["estimator"]
    check_known("estimator", law, ESTIMATORS)
    software = find_framework(framework)
    table = configuration_table([configuration_of(transformer, settings)])
    configuration = shared_by(table, framework).row(0)
    unfused = PUBLISHED if law == "apnet24" else software.unfused or "none"
    places = _places(settings, configuration.accelerators)
    order = settings["order"]
    sent = communications(transformer, configuration, loads_of(transformer, settings), order, unfused)
    return RankTraffic(
        transformer,
        configuration,
        order,
        settings.get("loads"),
        settings["iteration"],
        sent,
        places,
        by,
        law,
        framework,
    )


def _places(words: Mapping[str, Any], accelerators: int) -> Ints:
    part = find_accelerator(words["accelerator"])
    size = words.get("accelerators_per_server")
    per_server = (
        accelerators_of_a_server(part, accelerators)
        if size is None
        else whole("accelerators_per_server", size, 1)
    )
    slots = words.get("slots")
    if isinstance(slots, (str, os.PathLike)):
        try:
            return place_ranks(accelerators, per_server, _read_slots(os.fspath(slots)))
        except InvalidInput as error:
            raise InvalidInput(f"{slots}: {str(error).removeprefix(f'{slots}: ')}") from None
    return place_ranks(accelerators, per_server, slots)


def _read_slots(path: str) -> list[int]:
    numbers = read_text(path).replace(",", " ").split()
    wrong = [number for number in numbers if not number.isdecimal() or len(number) > 9]
    if wrong:
        raise InvalidInput(f'{path}: expected the accelerator of each rank, numbers from 0, got "{wrong[0]}"')
    return [int(number) for number in numbers]
