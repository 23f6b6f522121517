"""``topoopt.testbed.run``: a job is trained on a plan's network on this machine, and on others beside it."""

from collections.abc import Mapping
from typing import Any, Unpack

from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.limits import whole
from topoopt.base.progress import Progress, silent
from topoopt.frontends.verbs import PlanSource, plan_and_name
from topoopt.plans import Plan
from topoopt.plugins.testbeds.emulated_fabrics import EMULATED, emulated, plan_on_links
from topoopt.plugins.testbeds.network import check_capacity, check_speed
from topoopt.plugins.testbeds.testbed.standing import checked_scale, iteration_time_s, name_of
from topoopt.plugins.testbeds.training.fabric_run import MEASURED_BESIDE, REFERENCE
from topoopt.plugins.testbeds.training.job import PLAN, WORKLOADS, job_of_plan, paper_plan
from topoopt.plugins.testbeds.training.ranks import check_processes, check_ready
from topoopt.plugins.testbeds.training.testbed_run import TestbedRun, testbed_scale, train_on_fabrics
from topoopt.plugins.testbeds.training.train_on_fabric import PlannedCut, TrainingSettings
from topoopt.plugins.testbeds.words import TestbedRunWords
from topoopt.schema.files import target_of
from topoopt.schema.words import checked_arguments, checked_words
from topoopt.studies.failure import FailedLink, predict

USUAL_FABRICS = ("topoopt", "ideal-switch", "switch")
USUAL_WORKLOAD = "dlrm"
NEED_SEVERAL_PATHS = ("spread-detours",)
"""Repairs that send a pair's bytes on several paths; on a testbed each pair has one connection, and so one path."""


@checked_arguments
def run(
    plan: PlanSource | None = None, *, on_progress: Progress = silent, **words: Unpack[TestbedRunWords]
) -> TestbedRun:
    """Train on a plan's network on this machine, and on switches: real PyTorch, beside the simulators.

    All is measured. A server is a network namespace with a PyTorch process, a link a veth pair of scaled bandwidth.
    Computing is a timed sleep; every message is sent. A small real model is trained beside it, and its gradients are
    compared with those of one process. Needs root on Linux and PyTorch.

    Parameters
    ----------
    plan
        A plan or its file; where not given, a job of the paper's testbed on its 12 servers with 4 links each.
    on_progress
        Called with the stage, what is done and what there is.
    **words
        ``workload``, ``fabrics``, ``scale``, ``iteration_time``, ``iterations``, ``warm_up``, ``cut``, ``simulators``,
        ``counters``, ``name``, as ``topoopt testbed run`` has them.

    Returns
    -------
    TestbedRun

    Raises
    ------
    InvalidInput
        For an unknown name, or if this machine cannot have the testbed, in one line that says why.
    Infeasible
        If the job cannot be run so, or a process fails.
    """
    settings = checked_words(words, TestbedRunWords)
    names = _names("fabrics", settings.get("fabrics", USUAL_FABRICS), EMULATED)
    simulators = _names("simulators", settings.get("simulators", MEASURED_BESIDE), MEASURED_BESIDE)
    slower, wanted_s = checked_scale(settings["scale"]), iteration_time_s(settings)
    counts = whole("iterations", settings["iterations"], 1), whole("warm_up", settings["warm_up"], 0)
    counters, name = _counters(settings), name_of(settings)
    cut = _cut(settings["cut"], counts[0]) if "cut" in settings else None
    found, workload = _planned(plan, settings.get("workload"), on_progress)
    cluster, job = found.job.cluster, job_of_plan(found, workload)
    own = plan_on_links(cluster, found.fabric)
    fabrics = [own if one == "topoopt" else emulated(one, cluster, found.fabric) for one in names]
    for fabric in fabrics:
        check_speed(fabric.layout, slower)
    check_ready()
    check_processes(cluster.servers)
    for fabric in fabrics:
        check_capacity(fabric.layout, slower)
    scale = testbed_scale(job, own, cluster, slower, wanted_s)
    beside = tuple(dict.fromkeys((REFERENCE, *simulators)))
    training = TrainingSettings(scale, *counts, beside, counters is not None)
    planned_cut = _repaired(*cut, found) if cut is not None else None
    found_run = train_on_fabrics(job, fabrics, cluster, name, training, planned_cut, on_progress)
    if counters is not None:
        found_run.fabrics[0].write_counters(counters)
    return found_run


def _planned(plan: PlanSource | None, workload: str | None, on_progress: Progress) -> tuple[Plan, str]:
    """Return the plan, and which of its workloads is run."""
    check_known("workload", workload or PLAN, WORKLOADS)
    if plan is not None:
        return plan_and_name(plan)[0], workload or PLAN
    if workload == PLAN:
        raise InvalidInput("workload: plan is the job of a plan; give one, or another workload")
    check_ready()  # planning takes time
    on_progress("planning the paper's job", 0, 0)
    model = USUAL_WORKLOAD if workload in (None, "allreduce") else workload
    return paper_plan(str(model)), workload if workload == "allreduce" else PLAN


def _counters(settings: Mapping[str, Any]) -> str | None:
    """Return the file of counters, which can be written."""
    if "counters" not in settings:
        return None
    if "cut" in settings:
        raise InvalidInput(
            "counters: are of iterations that are alike, and a cut makes one different; leave one out"
        )
    target_of(settings["counters"])
    return str(settings["counters"])


def _cut(text: str, iterations: int) -> tuple[int, int, int]:
    """Return the servers and the iteration of a cut such as 0-1@2."""
    link, at, iteration = text.partition("@")
    ends = link.split("-")
    if not at or len(ends) != 2 or not all(part.strip().isdecimal() for part in (*ends, iteration)):
        raise InvalidInput(f'cut: expected two servers and an iteration such as 0-1@1, got "{text}"')
    if not 0 < int(iteration) < iterations - 1:
        raise InvalidInput(
            f"cut: iteration {iteration} must have a measured one before and after it; "
            f"allowed is 1..{iterations - 2}; raise iterations"
        )
    return int(ends[0]), int(ends[1]), int(iteration)


def _repaired(src: int, dst: int, iteration: int, plan: Plan) -> PlannedCut:
    """Return a cut with what the plan does about it."""
    chosen = predict(plan, FailedLink(src, dst), simulator=REFERENCE, without_ways=NEED_SEVERAL_PATHS).chosen
    assert chosen.repair is not None, "a chosen repair is possible"
    repaired = plan_on_links(chosen.repair.job.cluster, chosen.repair.fabric, chosen.repair.wiring)
    return PlannedCut(src, dst, iteration, chosen.way.name, repaired)


def _names(word: str, given: Any, known: Any) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(given.split(",") if isinstance(given, str) else given))
    if not names:
        raise InvalidInput(f"{word}: give at least one of {', '.join(known)}")
    for name in names:
        check_known(word, name, known)
    return names
