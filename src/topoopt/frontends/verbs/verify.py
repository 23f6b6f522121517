"""``topoopt.verify``: a plan, or a wiring, proved before anyone plugs a fiber."""

import os

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import InvalidInput
from topoopt.frontends.verbs.input_sources import PlanSource, with_rings
from topoopt.jobs import expecting
from topoopt.plans import Plan, plan_from_mapping
from topoopt.schema.files import checked, parse_json, read_text
from topoopt.schema.words import checked_arguments
from topoopt.studies.verification import (
    Subject,
    VerificationAnswer,
    subject_of_plan,
    subject_of_wiring,
    unread,
    verified,
    verified_schedule,
)
from topoopt.topologies.wirings import read_wiring_file


@checked_arguments
def verify(
    plan: PlanSource, *, degree: int | None = None, on_progress: Progress = silent
) -> VerificationAnswer:
    """Verify a plan, or a wiring, before any fiber is plugged in; report failures.

    Ports and panels, connectivity with and without any one cable, routes hop by hop, forwarding tables, rings,
    schedules, the bytes of every link and the stated numbers are checked anew.

    Parameters
    ----------
    plan
        A plan or its file; a wiring file, of which only the wiring can be checked; or a schedule in MSCCL's XML, which
        is run.
    degree
        Ports of a server, for a graph without it that leaves some idle.
    on_progress
        Progress callback: topic, checks done, and total.

    Returns
    -------
    VerificationAnswer

    Raises
    ------
    InvalidInput
        If the file is neither plan, wiring nor schedule.

    Examples
    --------
    >>> import topoopt
    >>> plan = topoopt.plan("dlrm", servers=8, degree=4, fabrics=(), budget=20)
    >>> topoopt.verify(plan).passed
    True
    """
    on_progress("reading", 0, 0)
    subject = _subject(plan, degree)
    return subject if isinstance(subject, VerificationAnswer) else verified(subject, on_progress)


def _subject(source: PlanSource, degree: int | None) -> Subject | VerificationAnswer:
    """Return the subject; for a plan file that contradicts itself, the answer."""
    if isinstance(source, Plan):
        _refuse_degree("this", degree)
        return subject_of_plan(source)
    path = os.fspath(source)
    with expecting(path, "plan", "wiring"):
        text = read_text(path)
    if text.lstrip().startswith("<algo"):
        _refuse_degree(path, degree, "a schedule")
        return verified_schedule(path, text)
    with expecting(path, "plan", "wiring"):
        document = parse_json(text, path, foreign=True) if text.lstrip().startswith("{") else None
        if not isinstance(document, dict) or not str(document.get("schema", "")).startswith("topoopt-plan/"):
            made, ports = read_wiring_file(path, degree=degree)
            whole = with_rings(made)
            return subject_of_wiring(whole, ports, path, rings_found=len(whole.rings) > len(made.rings))
        _refuse_degree(path, degree)
        try:
            return subject_of_plan(plan_from_mapping(checked(document, path), path), path, document)
        except InvalidInput as error:
            return unread(path, str(error).removeprefix(f"{path}: "))


def _refuse_degree(name: str, degree: int | None, kind: str = "a plan") -> None:
    if degree is not None:
        raise InvalidInput(f"degree: {name} is {kind}, which says it; leave it out")
