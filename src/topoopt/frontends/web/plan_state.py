"""The noun PlanState: how far a plan is that a page has asked for, and what it has come to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from topoopt.frontends.web.estimate import command_line
from topoopt.frontends.web.question import Question

WAITING, RUNNING, DONE, FAILED, CANCELLED = "waiting", "running", "done", "failed", "cancelled"
ENDED = (DONE, FAILED, CANCELLED)
FILES: Mapping[str, str] = {"plan.json": "application/json", "report.html": "text/html; charset=utf-8"}
"""What a plan is frozen as, by name: its kind."""


class UnknownPlan(LookupError):
    """A key of which there is no plan, or none with files."""


@dataclass(frozen=True, slots=True)
class PlanState:
    """A plan that is asked for, at one moment.

    Attributes
    ----------
    key : str
        By which it is known; equal questions have the same one.
    search : mapping
        Words of the search beside the question, such as ``seed``.
    done, total : int
        Of the stage; a total of 0 where nobody knows.
    version : int
        Grows with every change.
    message : str
        Why there is no plan.
    draft : mapping
        The best answer so far in short, see :class:`topoopt.search.Draft`, and which one it is; empty before the first.
    result : mapping
        The plan in short; empty where there is none (yet).
    """

    key: str
    question: Question
    search: Mapping[str, Any]
    status: str = WAITING
    stage: str = ""
    done: int = 0
    total: int = 0
    version: int = 0
    message: str = ""
    draft: Mapping[str, Any] | None = None
    result: Mapping[str, Any] | None = None

    @property
    def drafts(self) -> int:
        """How many answers there have been."""
        return 0 if self.draft is None else int(self.draft["number"])

    @property
    def is_over(self) -> bool:
        """Whether nothing will change any more."""
        return self.status in ENDED

    def to_json(self, ahead: int = 0) -> dict[str, Any]:
        """Return it as plain values; ``ahead`` is how many plans come before it."""
        return {
            "id": self.key,
            "status": self.status,
            "stage": self.stage,
            "done": self.done,
            "total": self.total,
            "ahead": ahead,
            "message": self.message,
            "question": self.question.words,
            "command": command_line(self.question, **self.search),
            "files": [*FILES] if self.status == DONE else [],
            "draft": None if self.draft is None else dict(self.draft),
            "plan": None if self.result is None else dict(self.result),
        }
