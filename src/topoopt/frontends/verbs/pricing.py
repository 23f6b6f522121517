"""Ownership terms and networks from options, for transformers in closed form."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from topoopt.base.units import format_bandwidth
from topoopt.catalog import find_accelerator, reference_interfaces
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
"""Parameter names that differ from the option since they carry its unit."""


def assumed_by(words: Mapping[str, Any], system: System, accelerators: int, *flags: str) -> str:
    """Return the interfaces of a server that were assumed; nothing for one server, or where all flags are given."""
    missing = [flag for flag in flags if flag not in words]
    if not missing or accelerators <= system.accelerators_per_server:
        return ""
    degree, bandwidth_bps = reference_interfaces(system.accelerators_per_server, system.network_bandwidth_bps)
    if "degree" in words:
        degree, bandwidth_bps = words["degree"], system.network_bandwidth_bps
    return assumed_network(system.accelerator, degree, bandwidth_bps, missing)


def assumed_network(accelerator: str, degree: int, bandwidth_bps: float, words: Sequence[str]) -> str:
    """Return the assumed interfaces of a server, and the options that change them."""
    part = find_accelerator(accelerator)
    why = "the reference system of" if part.nic_bandwidth_bps else "no NIC is in the catalog for"
    ports = f"{degree} × {format_bandwidth(bandwidth_bps)}" if "bandwidth" in words else f"{degree} ports"
    usual = f"{ports} per server, {why} {part.name}"
    return f"{usual}; change with {', '.join(f'--{word}' for word in words)}"


def cluster_of(words: Mapping[str, Any], system: System, accelerators: int) -> OwnedCluster:
    """Return the priced cluster; of partly used servers only the used part is counted."""
    per_server = min(system.accelerators_per_server, accelerators)
    terms = ownership_terms(words, system.accelerator, per_server)
    return owned_cluster(system, accelerators, terms, pricing(words))


def pricing(words: Mapping[str, Any]) -> Pricing:
    """Return the price list, the accounting and the options given, with defaults for the rest.

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
    """Return the terms; missing ones are those of ``before``, or the defaults.

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
