"""Chakra's execution traces of a plan: a file for each server, with what it computes and sends in an iteration."""

import json

from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.format import Contents
from topoopt.search import task_graph_of
from topoopt.simulation import ChakraFiles, chakra_files

PREFIX = "plan"
"""What the names of the traces begin with."""


def chakra(deployment: Deployment) -> Contents:
    """Return the trace of each server, and the process groups.

    Raises
    ------
    Infeasible
        If there are too many tasks.
    """
    traces = plan_traces(deployment)
    files = {f"{PREFIX}.{rank}.et": data for rank, data in enumerate(traces.ranks)}
    return {**files, "comm_group.json": json.dumps(traces.groups) + "\n"}


def plan_traces(deployment: Deployment) -> ChakraFiles:
    """Return the traces of a plan's job, whose collectives run as the plan has it."""
    job = deployment.plan.job
    return chakra_files(task_graph_of(job, deployment.plan.strategy), job.settings.collective)
