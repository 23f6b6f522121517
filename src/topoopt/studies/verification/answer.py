"""All checks of a subject, one after the other."""

from dataclasses import dataclass
from typing import Any

from topoopt.base.answers import Frame, frame, shows_itself
from topoopt.base.errors import TopoOptError
from topoopt.base.progress import Progress
from topoopt.studies.verification.check import Check
from topoopt.studies.verification.subject import Subject
from topoopt.studies.verification.table import CHECKS


@shows_itself
@dataclass(frozen=True, slots=True)
class VerificationAnswer:
    """What was proved of a plan or wiring, and what fails.

    Attributes
    ----------
    name : str
        Its file, or ``plan``.
    kind : str
        ``plan`` or ``wiring``.
    servers, degree : int
    checks : tuple of Check
    """

    name: str
    kind: str
    servers: int
    degree: int
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether no check fails."""
        return all(check.passed for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that fail."""
        return tuple(check for check in self.checks if not check.passed)

    def lines(self) -> tuple[str, ...]:
        """Return a line for each check that fails: its first failure with its place, and how many more there are."""
        return tuple(
            f"{self.name}: {check.name}: {check.failures[0]}"
            + (f" (and {check.failed - 1:,} more)" if check.failed > 1 else "")
            for check in self.failed
        )

    def to_json(self) -> dict[str, Any]:
        """Return everything as one mapping."""
        return {
            "source": self.name,
            "kind": self.kind,
            "servers": self.servers,
            "degree": self.degree,
            "passed": self.passed,
            "checks": self._rows(),
        }

    def to_frame(self) -> Frame:
        """Return a row for each check, as pandas has it."""
        return frame(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "check": check.name,
                "proves": CHECKS[check.name].text
                if check.name in CHECKS
                else "the file is one that can be read",
                "looked_at": check.looked_at,
                "passed": check.passed and not check.skipped,
                "skipped": check.skipped or None,
                "failed": check.failed,
                "failures": list(check.failures),
                "note": check.note,
            }
            for check in self.checks
        ]


def verified(subject: Subject, on_progress: Progress) -> VerificationAnswer:
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
