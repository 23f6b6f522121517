"""What the words of ownership come to for transformers in closed form."""

from collections.abc import Mapping
from typing import Any

from topoopt.frontends.verbs.ownership_terms import ownership_terms
from topoopt.frontends.verbs.pricing import pricing
from topoopt.transformers import OwnedCluster, System, owned_cluster


def cluster_of(words: Mapping[str, Any], system: System, accelerators: int) -> OwnedCluster:
    """Return the machines with their price; of servers that are not full only what is used."""
    per_server = min(system.accelerators_per_server, accelerators)
    terms = ownership_terms(words, system.accelerator, per_server)
    return owned_cluster(system, accelerators, terms, pricing(words))
