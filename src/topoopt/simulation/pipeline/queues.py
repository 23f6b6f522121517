"""Exchanges before and after the passes of a stage: kinds share its links evenly, each kind in its order."""

from collections import deque
from dataclasses import dataclass, field

Key = tuple[int, int]
"""Direction of a pass as an index into ``PASSES``, and the chunk."""
Around = tuple[float, float, int]
"""Seconds of an exchange before it needs links, those for which it would hold them alone, and its operations."""
TIE_S = 1e-15


@dataclass(slots=True)
class _Request:
    """An exchange that is under way or waits for the one before it: its pass, and what is left of it."""

    place: int
    delay_s: float
    links_s: float


@dataclass(slots=True)
class _Queue:
    """Exchanges of one kind; the first is under way."""

    seconds: dict[Key, Around]
    before: bool
    waiting: deque[_Request] = field(default_factory=deque)


@dataclass(slots=True)
class Queues:
    """The exchanges around the passes of one stage, while its passes are played.

    What is before pass k may begin when pass k - 2 is done, that of the first two at once. All operations but one of
    the first pass, and of the last, go on beside it.

    Attributes
    ----------
    order : list of (direction, chunk)
        Of the stage's passes.
    """

    order: list[Key]
    queues: list[_Queue] = field(default_factory=list)
    now_s: float = 0.0
    fetched: dict[int, float] = field(default_factory=dict)

    def add(self, seconds: dict[Key, Around], *, before: bool) -> None:
        """Add a kind of exchanges."""
        queue = _Queue(seconds, before)
        self.queues.append(queue)
        if before:
            self._request(queue, 0, self.order[0], one_of_them=True)
            self._request(queue, 1, self.order[0], one_of_them=False)
            self._request(queue, 1, self.order[1])

    def fetched_s(self, place: int) -> float:
        """Return when all that comes before a pass is there; the passes before it are done."""
        while any(
            queue.before and queue.waiting and queue.waiting[0].place <= place for queue in self.queues
        ):
            self._advance(float("inf"))
        return self.fetched.get(place, 0.0)

    def finish(self, place: int, end_s: float) -> None:
        """Tell that a pass is done at ``end_s``."""
        if not self.queues:
            return
        while self._advance(end_s):
            pass
        last = len(self.order) - 1
        for queue in self.queues:
            if queue.before:
                if place + 2 <= last:
                    self._request(queue, place + 2, self.order[place + 2])
                continue
            if place < last:
                self._request(queue, place, self.order[place])
            if place >= last - 1:
                self._request(queue, last, self.order[last], one_of_them=place == last)

    def drained_s(self) -> float:
        """Return when all exchanges are done, 0 if there are none."""
        while any(queue.waiting for queue in self.queues):
            self._advance(float("inf"))
        return self.now_s

    def _request(self, queue: _Queue, place: int, key: Key, *, one_of_them: bool | None = None) -> None:
        """Ask for the exchange of a pass; or for one of its operations, or for all but one."""
        if key in queue.seconds:
            delay_s, links_s, count = queue.seconds[key]
            share = 1.0 if one_of_them is None else 1 / count if one_of_them else 1 - 1 / count
            queue.waiting.append(_Request(place, delay_s * share, links_s * share))

    def _advance(self, until_s: float) -> bool:
        """Go on to ``until_s`` or until something changes; tell whether it has."""
        active = [queue.waiting[0] for queue in self.queues if queue.waiting]
        delayed = [one for one in active if one.delay_s > TIE_S]
        moving = [one for one in active if one.delay_s <= TIE_S]
        share = max(len(moving), 1)
        changes = [one.delay_s for one in delayed] + [one.links_s * share for one in moving]
        passed_s = min([until_s - self.now_s, *changes])
        for one in delayed:
            one.delay_s -= passed_s
        for one in moving:
            one.links_s -= passed_s / share
        self.now_s += passed_s
        for queue in self.queues:
            if queue.waiting and max(queue.waiting[0].delay_s, queue.waiting[0].links_s) <= TIE_S:
                place = queue.waiting.popleft().place
                if queue.before:
                    self.fetched[place] = max(self.fetched.get(place, 0.0), self.now_s)
        return self.now_s < until_s and bool(changes)
