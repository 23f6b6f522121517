"""``topoopt.testbed.up``, ``status`` and ``down``: networks of plans that stay on this machine until removed."""

import secrets
from collections.abc import Mapping
from typing import Any, Unpack

from topoopt.base.errors import InvalidInput
from topoopt.base.progress import Progress, silent
from topoopt.base.units import parse_time
from topoopt.catalog import ClusterSpec
from topoopt.frontends.verbs import PlanSource, plan_and_name
from topoopt.plugins.testbeds.emulated_fabrics import PAPER_CLUSTER, emulated, paper_fabric
from topoopt.plugins.testbeds.network import check_name
from topoopt.plugins.testbeds.standing_testbeds import TestbedsAnswer, listed, put_up, take_down
from topoopt.plugins.testbeds.words import TestbedWords
from topoopt.routing import Fabric
from topoopt.schema.words import amount, checked_arguments, checked_words

LARGEST_SCALE = 1e6
LONGEST_ITERATION_S = 600.0


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


@checked_arguments
def status() -> TestbedsAnswer:
    """List the testbeds of this machine: those that stand, those in use, and what a killed run has left over.

    Returns
    -------
    TestbedsAnswer

    Examples
    --------
    >>> import topoopt
    >>> topoopt.testbed.status().done
    'status'
    """
    return listed()


@checked_arguments
def down(name: str | None = None, *, every: bool = False) -> TestbedsAnswer:
    """Remove a testbed: its namespaces with all links and routes, the processes inside, and nothing else.

    Parameters
    ----------
    name
        Of one, or of a run with all its testbeds, whoever uses them.
    every
        All of them, but for those that a run goes on in.

    Returns
    -------
    TestbedsAnswer

    Raises
    ------
    InvalidInput
        If there is none of that name.
    """
    if (name is None) != every:
        raise InvalidInput("down: give the name of a testbed, or every=True for all; status lists them")
    return take_down(name)


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


def iteration_time_s(settings: Mapping[str, Any]) -> float:
    """Return how long an iteration is to last."""
    given = settings["iteration_time"]
    seconds = amount(parse_time, given, "iteration_time")
    if not 0 < seconds <= LONGEST_ITERATION_S:
        raise InvalidInput(f"iteration_time: must be in 0 s < time <= {LONGEST_ITERATION_S:g} s, got {given}")
    return seconds
