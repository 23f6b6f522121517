"""What the words of ownership come to for transformers in closed form."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from topoopt.base.units import format_bandwidth
from topoopt.catalog import find_accelerator
from topoopt.pricing import (
    RUNNING_WORDS,
    OwnershipTerms,
    Pricing,
    TrainingRun,
    pricing_of,
    server_price,
    usual_running,
)
from topoopt.schema.words import PricingWords, pick
from topoopt.transformers import OwnedCluster, System, owned_cluster

_RUN = {"samples": "samples", "tokens": "tokens", "run_hours": "hours"}
_SERVER = ("server_price", "server_power")
_CALLED = {"fiber_length": "fiber_length_m"}
"""What a word is called where its unit has to be said."""


def assumed_network(accelerator: str, degree: int, bandwidth_bps: float, words: Sequence[str]) -> str:
    """Return which interfaces of a server were assumed, and by which words they are changed."""
    part = find_accelerator(accelerator)
    why = "the reference system of" if part.nic_bandwidth_bps else "no NIC is in the catalog for"
    usual = f"{degree} × {format_bandwidth(bandwidth_bps)} per server, {why} {part.name}"
    return f"{usual}; change with {', '.join(f'--{word}' for word in words)}"


def cluster_of(words: Mapping[str, Any], system: System, accelerators: int) -> OwnedCluster:
    """Return the machines with their price; of servers that are not full only what is used."""
    per_server = min(system.accelerators_per_server, accelerators)
    terms = ownership_terms(words, system.accelerator, per_server)
    return owned_cluster(system, accelerators, terms, pricing(words))


def pricing(words: Mapping[str, Any]) -> Pricing:
    """Return the price list, the accounting and the choices that words name, the usual ones for all else.

    Raises
    ------
    InvalidInput
        For an unknown name, a number out of range, or a file of prices that is wrong.
    """
    return pricing_of(**{_CALLED.get(word, word): value for word, value in pick(words, PricingWords).items()})


def ownership_terms(
    words: Mapping[str, Any],
    accelerator: str,
    accelerators_per_server: int,
    before: OwnershipTerms | None = None,
) -> OwnershipTerms:
    """Return the terms; what no word says is as it was ``before``, or the usual.

    Raises
    ------
    InvalidInput
        If a number is out of range, or a run has two sizes.
    """
    given = {field: words[word] for word, field in RUNNING_WORDS.items() if word in words}
    run = TrainingRun(**{field: words[word] for word, field in _RUN.items() if word in words})
    if before is not None and not pick(words, _SERVER):
        server = before.server
    else:
        server = server_price(
            accelerator,
            accelerators_per_server,
            price=words.get("server_price"),
            power_w=words.get("server_power"),
        )
    if before is not None:
        run = run if pick(words, _RUN) else before.run
        return OwnershipTerms(replace(before.running, **given), server, run)
    return OwnershipTerms(usual_running(given), server, run)
