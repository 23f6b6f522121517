"""Queue of the page's plan requests: one plan at a time, in a separate process; each can be canceled."""

import shutil
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from topoopt.base.answers import ask, digest, fields_of
from topoopt.base.errors import InvalidInput, TopoOptError
from topoopt.base.machine import private_folder
from topoopt.base.workers import end_with_parent
from topoopt.frontends.web.answer import answer_question
from topoopt.frontends.web.estimate import adopted, command_line
from topoopt.frontends.web.estimators import mistake_of_ours, page_form
from topoopt.frontends.web.question import Question
from topoopt.pages import figure, topology_of_plan
from topoopt.plans import Plan
from topoopt.search import Draft

LEAST_PAUSE_S = 0.05
"""Least interval of progress messages within a stage."""
WAITING, RUNNING, DONE, FAILED, CANCELLED = "waiting", "running", "done", "failed", "cancelled"
ENDED = (DONE, FAILED, CANCELLED)
FILES: Mapping[str, str] = {"plan.json": "application/json", "report.html": "text/html; charset=utf-8"}
"""Media types of a plan's files, by name."""


class UnknownPlan(LookupError):
    """A key without a plan, or without its files."""


@dataclass(frozen=True, slots=True)
class PlanState:
    """State of a requested plan at one moment.

    Attributes
    ----------
    key : str
        Key of the question; equal questions have the same one.
    search : mapping
        Options of the search beside the question, such as ``seed``.
    done, total : int
        Progress of the stage; the total is 0 where unknown.
    version : int
        Grows with every change.
    message : str
        Reason why there is no plan.
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
        """Number of draft answers so far."""
        return 0 if self.draft is None else int(self.draft["number"])

    @property
    def is_over(self) -> bool:
        """Whether nothing will change any more."""
        return self.status in ENDED

    def to_json(self, ahead: int = 0) -> dict[str, Any]:
        """Return a JSON-compatible mapping; ``ahead`` is the number of plans queued before it."""
        return {
            "id": self.key,
            **fields_of(self, "status", "stage", "done", "total"),
            "ahead": ahead,
            "message": self.message,
            "question": self.question.words,
            "command": command_line(self.question, **self.search),
            "files": [*FILES] if self.status == DONE else [],
            "draft": None if self.draft is None else dict(self.draft),
            "plan": None if self.result is None else dict(self.result),
        }


MOST_KEPT = 24
"""Plans that are kept with their files; the oldest go first."""
LOOK_S, ABANDONED_S = 0.5, 60.0
"""Interval of checks for watchers; time after which an unwatched plan makes room for others."""
MOST_WAITING = 20
"""Plans that may wait."""


class PlanDesk:
    """Plans by their keys, made one after the other; close it to end the process that makes one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._states: dict[str, PlanState] = {}
        self._watchers: dict[str, int] = {}
        self._seen_s: dict[str, float] = {}
        self._queue: deque[str] = deque()
        self._process: BaseProcess | None = None
        self._is_open = True
        self._awake = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def ask(self, question: Question, search: Mapping[str, Any]) -> PlanState:
        """Submit a plan and return its state; an existing one is not made twice.

        Raises
        ------
        InvalidInput
            If too many wait.
        """
        words = {"model": question.model, **question.plan_words, **search}
        key = digest(repr(sorted(words.items())).encode())[7:23]
        with self._lock:
            known = self._states.get(key)
            if known is not None and (known.status in (WAITING, RUNNING) or self._is_kept(known)):
                return known
            if len(self._queue) >= MOST_WAITING:
                raise InvalidInput(
                    f"plans: {len(self._queue)} wait already; call one off, or try again later"
                )
            version = 0 if known is None else known.version + 1
            state = PlanState(key, question, dict(search), version=version)
            self._states.pop(key, None)
            self._states[key] = state
            self._queue.append(key)
            self._seen_s[key] = time.monotonic()
            over = [key for key, state in self._states.items() if state.is_over]
            for key in over[: max(len(self._states) - MOST_KEPT, 0)]:
                del self._states[key], self._seen_s[key]
                shutil.rmtree(self._folder / key, ignore_errors=True)
        self._awake.set()
        return state

    def state(self, key: str) -> tuple[PlanState, int]:
        """Return a plan's state, and how many are made before it.

        Raises
        ------
        UnknownPlan
            If there is none of that key.
        """
        with self._lock:
            known = self._known(key)
            self._seen_s[key] = time.monotonic()
            ahead = self._queue.index(key) + (self._process is not None) if key in self._queue else 0
            return known, ahead

    def cancel(self, key: str) -> PlanState:
        """Call a plan off, unless other pages watch it, too.

        Raises
        ------
        UnknownPlan
            If there is none of that key.
        """
        with self._lock:
            state = self._known(key)
            if state.is_over or self._watchers.get(key, 0) > 1:
                return state
            self._put(replace(state, status=CANCELLED, stage="", message="cancelled"))
            if key in self._queue:
                self._queue.remove(key)
            elif self._process is not None:
                self._process.kill()
            return self._states[key]

    @contextmanager
    def watched(self, key: str) -> Iterator[None]:
        """Count a watcher of a plan."""
        with self._lock:
            self._watchers[key] = self._watchers.get(key, 0) + 1
        try:
            yield
        finally:
            with self._lock:
                self._watchers[key] -= 1

    def file(self, key: str, name: str) -> Path:
        """Return the path of a plan's file.

        Raises
        ------
        UnknownPlan
            If there is no such plan, or it has no files (yet).
        """
        state, _ = self.state(key)
        if not self._is_kept(state):
            raise UnknownPlan(key)
        return self._folder / key / name

    def _is_kept(self, state: PlanState) -> bool:
        """Return whether a plan is made, and its files are still there."""
        return state.status == DONE and all((self._folder / state.key / name).is_file() for name in FILES)

    def close(self) -> None:
        """End the running plan."""
        with self._lock:
            self._is_open = False
            self._queue.clear()
            if self._process is not None:
                self._process.kill()
        self._awake.set()
        self._thread.join(timeout=10)

    def _known(self, key: str) -> PlanState:
        if key not in self._states or not self._is_open:
            raise UnknownPlan(key)
        return self._states[key]

    def _work(self) -> None:
        while self._is_open:
            self._awake.wait(1.0)
            self._awake.clear()
            while (key := self._next()) is not None:
                try:
                    self._make(key)
                except Exception as error:  # no folder, no room, no process: the next plan may have them
                    is_theirs = isinstance(error, OSError)
                    self._fail(key, f"no plan: {error}; ask again" if is_theirs else mistake_of_ours(error))

    def _next(self) -> str | None:
        with self._lock:
            return self._queue.popleft() if self._queue and self._is_open else None

    def _make(self, key: str) -> None:
        """Make one plan in a process, and record its messages until it ends."""
        folder = private_folder(self._folder) / key  # made again if somebody has tidied it away
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        context = get_context("spawn")  # forking a process that has threads is not safe
        ours, theirs = context.Pipe(duplex=False)
        with self._lock:
            state = self._states[key]
            if state.is_over:
                return
            question = state.question
            words = {**question.plan_words, **state.search}
            process = context.Process(
                target=make_plan_alone, args=(theirs, question, words, str(folder)), daemon=True
            )
            process.start()
            self._process = process
            self._put(replace(state, status=RUNNING, stage="starting"))
        theirs.close()
        try:
            self._listen(key, ours)
        finally:
            process.join()
            ours.close()
            with self._lock:
                self._process = None
            how = f"exit code {process.exitcode}"
            self._fail(key, f"the process that made it ended ({how}); is there enough memory?")

    def _fail(self, key: str, reason: str) -> None:
        """Record that there is no plan, unless it is over by now, or asked for again."""
        with self._lock:
            state = self._states.get(key)
            if state is not None and not state.is_over and key not in self._queue:
                self._put(replace(state, status=FAILED, stage="", message=reason))

    def _listen(self, key: str, connection: Connection) -> None:
        while True:
            try:
                if not connection.poll(LOOK_S):
                    self._leave_abandoned(key)
                    continue
                kind, *said = connection.recv()
            except (EOFError, OSError):
                return
            with self._lock:
                state = self._states.get(key)
                if state is None or state.status != RUNNING:
                    return
                if kind == "progress":
                    stage, done, total = said
                    self._put(replace(state, stage=stage, done=done, total=total))
                elif kind == "draft":
                    self._put(replace(state, draft={**said[0], "number": state.drafts + 1}))
                elif kind == "done":
                    self._put(replace(state, status=DONE, stage="", result=said[0]))
                else:
                    self._put(replace(state, status=FAILED, stage="", message=said[0]))

    def _leave_abandoned(self, key: str) -> None:
        """End a plan that no page has polled for a while, if others are waiting."""
        with self._lock:
            unseen_s = time.monotonic() - self._seen_s[key]
            if self._queue and unseen_s > ABANDONED_S and not self._states[key].is_over:
                self._put(
                    replace(self._states[key], status=CANCELLED, stage="", message="nobody looked at it")
                )
                if self._process is not None:
                    self._process.kill()

    def _put(self, state: PlanState) -> None:
        self._states[state.key] = replace(state, version=self._states[state.key].version + 1)


def make_plan_alone(
    connection: Connection, question: Question, words: Mapping[str, Any], folder: str
) -> None:
    """Make a plan, write it, and send ``(kind, ...)``: progress, finally done or failed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    end_with_parent()
    said_s, said_stage = 0.0, ""

    def progress(stage: str, done: int, total: int) -> None:
        nonlocal said_s, said_stage
        now_s = time.monotonic()
        if stage != said_stage or now_s - said_s > LEAST_PAUSE_S:
            said_s, said_stage = now_s, stage
            connection.send(("progress", stage, done, total))

    def draft(found: Draft) -> None:
        connection.send(("draft", found.to_json()))

    try:
        plan = ask("plan", question.model, on_progress=progress, on_draft=draft, **words)
        progress("writing the report", 0, 0)
        ask("write_plan", Path(folder, "plan.json"), plan)
        ask("report", plan, Path(folder, "report.html"))
        connection.send(("done", in_short(plan, question)))
    except TopoOptError as error:
        connection.send(("failed", str(error)))
    except Exception as error:
        connection.send(("failed", mistake_of_ours(error)))


def in_short(plan: Plan, question: Question) -> dict[str, Any]:
    """Return the parts of a plan that the page shows, among them the answer in place of the estimate."""
    page = ask("page_of", plan)
    answer = adopted(answer_question(question), plan, page.headline)
    return {
        "iteration_time_s": plan.iteration_time_s,
        "lower_bound_s": plan.bounds.lower_bound_s,
        "gap": plan.gap,
        "cost_usd": plan.price.get("cost_usd"),
        "headline": page.headline,
        "warnings": list(page.warnings),
        "tiles": [{"name": tile.name, "value": tile.value, "remark": tile.remark} for tile in page.tiles],
        "wiring": plan.wiring.family if plan.wiring is not None else "",
        "topology": figure(topology_of_plan(plan)),
        "page": page_form(answer),
        "fabrics": [
            {
                "fabric": row.fabric,
                "rule": row.rule,
                "iteration_time_s": row.outcome.iteration_time_s,
                "cost_usd": row.cost_usd,
            }
            for row in plan.baselines
        ],
    }
