"""A plan, however it is given: as the noun, or as the name of a file that holds one."""

import os

from topoopt.jobs import expecting
from topoopt.plans import Plan, read_plan

PlanSource = Plan | str | os.PathLike[str]
"""A plan, or the file of one."""


def plan_and_name(source: PlanSource) -> tuple[Plan, str]:
    """Return the plan and what it is called: its file, or ``plan``.

    Raises
    ------
    InvalidInput
        If the file is no whole plan.
    """
    if isinstance(source, Plan):
        return source, "plan"
    path = os.fspath(source)
    with expecting(path, "plan"):
        return read_plan(path), path
