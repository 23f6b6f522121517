"""``topoopt.testbed.up``: a plan's network on this machine, to stay."""

import secrets
from collections.abc import Mapping
from typing import Any, Unpack

from topoopt.base.errors import InvalidInput
from topoopt.base.progress import Progress, silent
from topoopt.catalog import ClusterSpec
from topoopt.frontends.verbs.input_sources import PlanSource, plan_and_name
from topoopt.plugins.testbeds import PAPER_CLUSTER, TestbedsAnswer, check_name, emulated, paper_fabric, put_up
from topoopt.routing import Fabric
from topoopt.schema.words import TestbedWords, checked_arguments, checked_words

LARGEST_SCALE = 1e6


@checked_arguments
def up(
    plan: PlanSource | None = None, *, on_progress: Progress = silent, **words: Unpack[TestbedWords]
) -> TestbedsAnswer:
    """Put a plan's network up on this machine: a namespace a server, a veth pair a link, the plan's routes.

    It stays until ``topoopt.testbed.down``. Needs root on Linux.

    Parameters
    ----------
    plan
        A plan or its file; the paper's testbed of 12 servers with 4 links each where not given.
    on_progress
        Called with the stage, what is done and what there is.
    **words
        ``fabric``: ``topoopt``, ``ideal-switch``, ``fat-tree`` or ``switch``; ``scale``: how many times slower links
        are; ``name``.

    Returns
    -------
    TestbedsAnswer

    Raises
    ------
    InvalidInput
        If this machine cannot have it, in one line that says why.
    """
    settings = checked_words(words, TestbedWords)
    scale = checked_scale(settings["scale"])
    cluster, fabric = cluster_and_fabric(plan)
    name = name_of(settings)
    return put_up(emulated(settings["fabric"], cluster, fabric), name, scale, on_progress)


def cluster_and_fabric(plan: PlanSource | None) -> tuple[ClusterSpec, Fabric]:
    """Return what is emulated: of a plan, or the paper's."""
    if plan is None:
        return PAPER_CLUSTER, paper_fabric()
    found, _ = plan_and_name(plan)
    return found.job.cluster, found.fabric


def name_of(settings: Mapping[str, Any]) -> str:
    """Return the name of a testbed that was given, or one that none has."""
    name = str(settings.get("name") or f"t{secrets.token_hex(4)}")
    check_name(name)
    return name


def checked_scale(scale: float) -> float:
    """Refuse a scale that makes no sense."""
    if not 1 <= scale <= LARGEST_SCALE:
        raise InvalidInput(f"scale: must be in 1..{LARGEST_SCALE:g}, got {scale:g}")
    return scale
