"""Exchanges before and after the passes of a stage: kinds share its links evenly, each kind in its order."""

from collections import deque
from dataclasses import dataclass, field

Key = tuple[int, int]
"""1 for a backward pass, and the chunk."""
TIE_S = 1e-15


@dataclass(slots=True)
class _Queue:
    """Exchanges of one kind, with what is left of each; the first is under way."""

    seconds: dict[Key, float]
    before: bool
    waiting: deque[list[float]] = field(default_factory=deque)


@dataclass(slots=True)
class Queues:
    """The exchanges around the passes of one stage, while its passes are played.

    What is before pass k may begin when pass k - 2 is done, that of the first two at once.

    Attributes
    ----------
    order : list of (backward, chunk)
        Of the stage's passes.
    """

    order: list[Key]
    queues: list[_Queue] = field(default_factory=list)
    now_s: float = 0.0
    fetched: dict[int, float] = field(default_factory=dict)

    def add(self, seconds: dict[Key, float], *, before: bool) -> None:
        """Add a kind of exchanges, each with its seconds if it were alone on the links."""
        self.queues.append(_Queue(seconds, before))
        for place in range(min(2, len(self.order)) if before else 0):
            self._ask(self.queues[-1], place, self.order[place])

    def fetched_s(self, place: int) -> float:
        """Return when all that comes before a pass is there; the passes before it are done."""
        while any(queue.before and queue.waiting and queue.waiting[0][0] <= place for queue in self.queues):
            self._advance(float("inf"))
        return self.fetched.get(place, 0.0)

    def finish(self, place: int, end_s: float) -> None:
        """Tell that a pass is done at ``end_s``."""
        if not self.queues:
            return
        while self._advance(end_s):
            pass
        for queue in self.queues:
            asked = place + 2 if queue.before else place
            if asked < len(self.order):
                self._ask(queue, asked, self.order[asked])

    def drained_s(self) -> float:
        """Return when all exchanges are done, 0 if there are none."""
        while any(queue.waiting for queue in self.queues):
            self._advance(float("inf"))
        return self.now_s

    def _ask(self, queue: _Queue, place: int, key: Key) -> None:
        if queue.seconds.get(key, 0.0) > 0:
            queue.waiting.append([place, queue.seconds[key]])

    def _advance(self, until_s: float) -> bool:
        """Go on until the next exchange ends, or only to ``until_s``; tell whether one has ended."""
        active = [queue.waiting for queue in self.queues if queue.waiting]
        least = min((waiting[0][1] for waiting in active), default=float("inf"))
        served = min(least, (until_s - self.now_s) / max(len(active), 1))
        for waiting in active:
            waiting[0][1] -= served
        self.now_s = until_s if served < least else self.now_s + served * len(active)
        for queue in self.queues:
            if queue.waiting and queue.waiting[0][1] <= TIE_S:
                place = int(queue.waiting.popleft()[0])
                if queue.before:
                    self.fetched[place] = max(self.fetched.get(place, 0.0), self.now_s)
        return served == least
