"""Processes that answer the page's questions, so that one that takes too long can be ended.

A thread cannot be ended: a question for very many servers would hold its place for minutes, and Ctrl-C would wait for
it. So at most :data:`AT_ONCE` processes answer, each with caches of its own; the second is started when the first keeps
others waiting. A warm answer costs 1 ms more than in the server's own process, a process that had to be ended 1.5 s of
CPU time for the next one.
"""

import asyncio
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import Empty, LifoQueue
from types import MappingProxyType
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from topoopt.base.errors import Infeasible, TopoOptError
from topoopt.base.kernel import on_compilation
from topoopt.base.workers import end_with_parent
from topoopt.frontends.web.answer import answer_question
from topoopt.frontends.web.estimate import WHOLE, FabricEstimate, StudioAnswer
from topoopt.frontends.web.question import Question
from topoopt.pages import BarChart, LineChart, Series, figure

AT_ONCE = 2
"""Questions that are answered side by side; more would only share the cores and need memory each."""
LONGEST_S, LONGEST_FIRST_S = 20.0, 300.0
"""Time for an answer; for one that has kernels compiled, or has to wait for its process to start."""
TAKEN, COMPILING = "taken", "compiling"
PATIENCE_S = 0.5
"""Time that a question waits for a process before a second one is started."""
PARTS: Mapping[str, str] = MappingProxyType(
    {
        "compute_s": "computing",
        "bubble_s": "waiting for other stages",
        "tp_s": "tensor parallel",
        "cp_s": "context parallel",
        "ep_s": "experts, all to all",
        "pp_s": "between stages",
        "dp_s": "gradients and weights",
        "communication_s": "communication",
        WHOLE: "simulated, not divided",
    }
)
"""Labels of the parts of the iteration time."""
FRONT, RELAYED, ESTIMATED = "Pareto front", "all relayed", "estimated before"
SEEN = 1.002
"""Relative range of an estimate above which it is marked."""


def mistake_of_ours(error: Exception) -> str:
    """Return the line that says an unexpected error, and where it came up."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"a mistake of ours: {type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"


def page_form(answer: StudioAnswer) -> dict[str, Any]:
    """Return an answer with its charts."""
    return {"answer": answer.to_json(), "figures": _figures(answer)}


FORMS: Mapping[str, Callable[[StudioAnswer], dict[str, Any]]] = {
    "estimate": StudioAnswer.to_json,
    "page": page_form,
}
"""Forms of an answer: the noun alone, or with its charts."""


@dataclass(frozen=True, slots=True)
class _Estimator:
    process: BaseProcess
    connection: Connection

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


class Estimators:
    """The processes, and a thread for each, without which the system would end it."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE)
        self._idle: LifoQueue[_Estimator] = LifoQueue()
        self._all: list[_Estimator] = []
        self._is_open = True

    def start(self) -> None:
        """Start the first process; to be called where a signal raises no exception, which would leave a thread."""
        self._threads.submit(lambda: self._idle.put(self._started()))

    async def answer(self, form: str, question: Question) -> bytes:
        """Return the answer to a question as JSON, in a form of :data:`FORMS`.

        Raises
        ------
        TopoOptError
            As :func:`topoopt.frontends.web.answer_question`; and if it takes too long, or its process dies.
        """
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._answer, form, question)

    def close(self) -> None:
        """End the processes; questions that are being answered fail."""
        self._is_open = False
        for estimator in self._all:
            estimator.process.kill()

    def _answer(self, form: str, question: Question) -> bytes:
        try:
            estimator = self._idle.get(timeout=PATIENCE_S)
        except Empty:
            estimator = self._started()
        try:
            said = self._heard(estimator, form, question)
        except (EOFError, OSError) as error:
            self._all.remove(estimator)
            estimator.end()
            if isinstance(error, TimeoutError):
                raise Infeasible(
                    f"servers {question.servers}: no estimate within {error}; use fewer"
                ) from None
            how = f"exit code {estimator.process.exitcode}"
            raise Infeasible(
                f"question: the process that answered ended ({how}); is there enough memory?"
            ) from None
        self._idle.put(estimator)
        if isinstance(said, TopoOptError):
            raise said
        if isinstance(said, str):
            raise HTTPException(500, said)
        return said

    def _started(self) -> _Estimator:
        if not self._is_open:
            raise Infeasible("question: the studio is being closed")
        context = get_context("spawn")  # forking a process that has threads is not safe
        ours, theirs = context.Pipe()
        process = context.Process(target=_answer_questions, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        estimator = _Estimator(process, ours)
        self._all.append(estimator)
        if not self._is_open:  # closed meanwhile
            process.kill()
        return estimator

    def _heard(self, estimator: _Estimator, form: str, question: Question) -> bytes | str | TopoOptError:
        """Return the answer of a process; ``TimeoutError`` names the time that it was waited for."""
        estimator.connection.send((form, question))
        longest_s = LONGEST_FIRST_S  # until it has started, and taken the question
        while estimator.connection.poll(longest_s):
            said: bytes | str | TopoOptError = estimator.connection.recv()
            if said not in (TAKEN, COMPILING):
                return said
            longest_s = LONGEST_S if said == TAKEN else LONGEST_FIRST_S
        raise TimeoutError(f"{longest_s:g} s")


def _answer_questions(connection: Connection) -> None:
    """Answer questions until the server closes the pipe; say of each that it is taken, and if kernels are compiled."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    end_with_parent()
    if sys.platform == "linux":
        with suppress(OSError):  # where memory runs out, this process goes first
            Path("/proc/self/oom_score_adj").write_text("1000")
    with suppress(EOFError, OSError):
        while True:
            form, question = connection.recv()
            connection.send(TAKEN)
            said: Any
            try:
                with on_compilation(lambda: connection.send(COMPILING)):
                    said = bytes(JSONResponse(FORMS[form](answer_question(question))).body)
            except TopoOptError as error:
                said = error
            except Exception as error:
                said = mistake_of_ours(error)
            connection.send(said)


def _figures(answer: StudioAnswer) -> dict[str, Any]:
    """Return the charts by name, as the report's modules of JavaScript draw them."""
    rows, best = [row for row in answer.fabrics if row.cost_usd is not None], answer.front
    wide = [row for row in rows if row.most_time_s > SEEN * row.iteration_time_s]
    series = [
        Series(FRONT, _usd(best), tuple(row.iteration_time_s for row in best), stepped=True, marked=False)
    ]
    series += [Series(row.title, _usd([row]), (row.iteration_time_s,), joined=False) for row in rows]
    if wide:
        names = tuple(row.title for row in wide)
        series.append(
            Series(
                RELAYED,
                _usd(wide),
                tuple(row.most_time_s for row in wide),
                published=True,
                joined=False,
                labels=names,
            )
        )
    before = [row for row in rows if row.estimated_s is not None]
    if before:
        times = tuple(row.estimated_s or 0.0 for row in before)
        names = tuple(row.title for row in before)
        series.append(Series(ESTIMATED, _usd(before), times, published=True, joined=False, labels=names))
    axes = "price of the network, $", "time of an iteration, s"
    money = LineChart("money", "Cost against iteration time", *axes, tuple(series))
    return {"money": figure(money), "parts": figure(_parts(answer))}


def _parts(answer: StudioAnswer) -> BarChart:
    rows = sorted(answer.fabrics, key=lambda row: row.iteration_time_s)
    used = [part for part in PARTS if any(part in row.parts_s for row in rows)]
    names = tuple(row.title for row in rows)
    series = tuple(
        Series(PARTS[part], names, tuple(row.parts_s.get(part, 0.0) for row in rows)) for part in used
    )
    return BarChart(
        "parts",
        "Where the time goes",
        "fabric",
        "time of an iteration, s",
        series,
        stacked=True,
        horizontal=True,
    )


def _usd(rows: list[FabricEstimate] | tuple[FabricEstimate, ...]) -> tuple[float, ...]:
    return tuple(row.cost_usd for row in rows if row.cost_usd is not None)
