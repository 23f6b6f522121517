"""All checks of a subject, one after the other."""

from collections.abc import Callable

from topoopt.base.errors import TopoOptError
from topoopt.studies.verification.answer import VerificationAnswer
from topoopt.studies.verification.check import Check
from topoopt.studies.verification.subject import Subject
from topoopt.studies.verification.table import CHECKS


def verified(subject: Subject, on_progress: Callable[[str, int, int], None]) -> VerificationAnswer:
    """Return what every check says.

    Parameters
    ----------
    on_progress
        Called with what is looked at, how many checks are done, and how many there are.
    """
    done: dict[str, Check] = {}
    for number, (name, row) in enumerate(CHECKS.items()):
        on_progress(f"verifying {name}", number, len(CHECKS))
        failed = [needed for needed in row.needs if not done[needed].passed]
        if failed:
            done[name] = Check(name, skipped=f"{failed[0]} must pass first")
            continue
        try:
            done[name] = row.look(subject)
        except TopoOptError as error:  # what nothing before it has found
            done[name] = Check(name, "", (str(error),), 1)
    kind = "wiring" if subject.plan is None else "plan"
    servers = subject.topology.servers
    return VerificationAnswer(subject.name, kind, servers, subject.degree, tuple(done.values()))


def unread(name: str, reason: str) -> VerificationAnswer:
    """Return the answer of a plan file that is none for a reason: one check that fails."""
    return VerificationAnswer(name, "plan", 0, 0, (Check("file", "1 file", (reason,), 1),))
