"""The rollout of one replica: all answers begin at once, thin out as they end, and the longest ends last."""

from collections import deque
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import Infeasible
from topoopt.inference import StepTable
from topoopt.reinforcement.job import ResponseLengths


@dataclass(frozen=True, slots=True)
class Replica:
    """Resources of a rollout replica.

    Attributes
    ----------
    table : StepTable
        Step times.
    capacity_tokens : float
        Tokens whose keys and values it can keep.
    max_batch : int
        Answers that it works on at once, at most.
    page_tokens : int
        Tokens of a page of keys and values: the last page of an answer may be empty but for one.
    """

    table: StepTable
    capacity_tokens: float
    max_batch: int
    page_tokens: int = 16


@dataclass(frozen=True, slots=True, eq=False)
class Rollout:
    """Simulated rollout of a replica.

    Attributes
    ----------
    time_s, prompts_s : float
        Time of the whole rollout, and of prefill alone.
    steps : int
        Decode steps.
    tokens : int
        Tokens of all answers.
    most_cached_tokens : float
        The fullest moment, pages that are partly empty counted whole.
    largest_batch : int
        Answers at once, at most.
    preempted : int
        Number of times that an answer was preempted for lack of KV cache.
    waited : bool
        Whether an answer had to wait for room at all.
    elapsed_s, alive, left : arrays (changes,) of float
        Number of answers being generated, and number of unfinished ones, from each moment on.
    """

    time_s: float
    prompts_s: float
    steps: int
    tokens: int
    most_cached_tokens: float
    largest_batch: int
    preempted: int
    waited: bool
    elapsed_s: Floats
    alive: Floats
    left: Floats

    @property
    def answers(self) -> int:
        """Answers of this replica."""
        return int(self.left[0])

    @property
    def tail_share(self) -> float:
        """Share of the time in which less than a quarter of the largest batch is worked on."""
        spans = np.diff(np.append(self.elapsed_s, self.time_s))
        return (
            float(spans[self.alive < self.largest_batch / 4].sum() / self.time_s) if self.time_s > 0 else 0.0
        )


def play_rollout(replica: Replica, lengths: ResponseLengths, prompt_tokens: int, group: int) -> Rollout:
    """Simulate the rollout of one replica: with ``l`` tokens generated, the unfinished answers take a step together.

    Without a limit of memory the time is the sum over l of ``t_dec(alive(l), prompt + l)``. With one, answers wait
    until there is room, and the youngest is put back, to be read again, where there is none left.

    Parameters
    ----------
    lengths
        Lengths of the answers of this replica.
    group
        Answers to the same prompt, which share its keys and values.

    Raises
    ------
    Infeasible
        If keys and values of a single answer do not fit.
    """
    return _Play(replica, lengths, prompt_tokens, group).run()


class _Play:
    def __init__(self, replica: Replica, lengths: ResponseLengths, prompt_tokens: int, group: int) -> None:
        self.replica, self.prompt_tokens = replica, prompt_tokens
        self.kept_tokens = prompt_tokens / group + replica.page_tokens - 1
        """KV-cache tokens per answer besides its own: its share of the prompt, and the unused part of its last page."""
        if self.kept_tokens + lengths.longest > replica.capacity_tokens:
            raise Infeasible(
                f"rollout: keys and values of one answer of {lengths.longest} tokens do not fit, there is room for "
                f"{replica.capacity_tokens:.0f}; take more accelerators a replica, or a smaller max_length"
            )
        self.waiting = deque((int(length), 0) for length in lengths.in_order_of_arrival())
        self.group, self.tokens, self.mean = group, int(lengths.tokens.sum()), lengths.mean
        most = min(replica.max_batch, len(self.waiting))
        self.batch_s = _batch_s(replica.table, most)
        self.ends: list[
            tuple[int, int, int]
        ] = []  # (step of its last token, number, length), the next to end first
        self.begun: dict[
            int, tuple[int, int, int]
        ] = {}  # number -> (length, tokens when it began, step when it began)
        self.number = self.step = self.preempted = self.largest = 0
        self.own_tokens = 0  # of all that are alive
        self.time_s = self.prompts_s = self.most = 0.0
        self.waited = False
        self.fresh = self.read = 0
        self.course: list[tuple[float, int, int]] = []

    @property
    def cached(self) -> float:
        return len(self.begun) * self.kept_tokens + self.own_tokens

    def run(self) -> Rollout:
        full = False
        while self.waiting or self.begun:
            if not full:
                self._admit()
            full = self._advance()
        elapsed, alive, left = zip(*self.course, strict=True)
        return Rollout(
            self.time_s,
            self.prompts_s,
            self.step,
            self.tokens,
            self.most,
            self.largest,
            self.preempted,
            self.waited,
            np.array(elapsed, np.float64),
            np.array(alive, np.float64),
            np.array(left, np.float64),
        )

    def _admit(self) -> None:
        """Start answers while there is room for them and for one more page of every other answer."""
        fresh, again = 0, 0
        capacity, page = self.replica.capacity_tokens, self.replica.page_tokens
        while self.waiting and len(self.begun) < self.replica.max_batch:
            length, written = self.waiting[0]
            needed = self.cached + self.kept_tokens + written + page * (len(self.begun) + 1)
            if self.begun and needed > capacity:
                self.waited = True
                break
            self.waiting.popleft()
            self.begun[self.number] = (length, written, self.step)
            heappush(self.ends, (self.step + length - written, self.number, length))
            self.number += 1
            self.own_tokens += written
            fresh, again = (fresh, again + written + self.prompt_tokens) if written else (fresh + 1, again)
        self.largest = max(self.largest, len(self.begun))
        self.most = max(self.most, self.cached)
        self.fresh += fresh
        prompts = (
            -(-self.fresh // self.group) - self.read
        )  # answers to a prompt find its keys and values there
        self.read += prompts
        seconds = _reading_s(self.replica.table, prompts * self.prompt_tokens, prompts)
        seconds += _reading_s(self.replica.table, again, 1) if again else 0.0
        self.time_s += seconds
        self.prompts_s += seconds

    def _advance(self) -> bool:
        """Advance until an answer ends or there is no room; return whether one was preempted."""
        while self.ends and self.ends[0][1] not in self.begun:
            heappop(self.ends)  # was put back
        alive, room = len(self.begun), self.replica.capacity_tokens - self.cached
        self.course.append((self.time_s, alive, alive + len(self.waiting)))
        until_end = self.ends[0][0] - self.step
        until_full = int(room // alive)
        steps = min(until_end, until_full)
        # a step takes longer with every token before it
        table, stages = self.replica.table, self.replica.table.stages
        seen = self.own_tokens + alive * self.prompt_tokens
        middle = seen + alive * (steps - 1) / 2
        self.time_s += float(steps * (self.batch_s[alive] + table.decode_s_per_token * middle / stages))
        self.step += steps
        self.own_tokens += alive * steps
        self.most = max(self.most, self.cached)
        if steps < until_end:
            self._put_back()
            return True
        while self.ends and self.ends[0][0] == self.step:
            _, number, length = heappop(self.ends)
            if number in self.begun:
                del self.begun[number]
                self.own_tokens -= length
        return False

    def _put_back(self) -> None:
        number = max(self.begun)
        length, written, began = self.begun.pop(number)
        written += self.step - began
        self.own_tokens -= written
        self.waiting.appendleft((length, written))
        self.preempted += 1


def steady_rate(
    replica: Replica, lengths: ResponseLengths, prompt_tokens: int, group: int
) -> tuple[float, int]:
    """Return the steady token rate of a replica that starts an answer whenever one ends, and its batch.

    An answer is found, at any moment, half way through a length that is drawn by how long it takes: E[l²]/2E[l].
    """
    tokens = lengths.tokens.astype(np.float64)
    written = float((tokens**2).mean() / tokens.mean() / 2)
    kept = prompt_tokens / group + replica.page_tokens - 1 + written
    batch = int(min(replica.max_batch, replica.capacity_tokens // kept))
    if batch < 1:
        raise Infeasible(
            f"rollout: keys and values of one answer do not fit, there is room for {replica.capacity_tokens:.0f} "
            "tokens; take more accelerators a replica, or a smaller max_length"
        )
    seen = batch * (prompt_tokens + written)
    step_s = float(_batch_s(replica.table, batch)[batch])
    step_s += replica.table.decode_s_per_token * seen / replica.table.stages
    prompts = batch / lengths.mean / group  # that begin in a step
    at_once = max(1.0, prompts)
    step_s += _reading_s(replica.table, prompt_tokens * at_once, at_once) * prompts / at_once
    return batch / step_s, batch


def _batch_s(table: StepTable, most: int) -> Floats:
    """Return the seconds of a step by batch, 0 to ``most``, without the time for caches.

    With several stages, each works on its own part of the batch: a step ends when all parts have gone through all
    stages and each has a token more.
    """
    batch = np.arange(most + 1) / table.stages
    part = np.maximum(batch, 1.0)
    return np.interp(part, table.tokens, table.base_s) + np.interp(part, table.tokens, table.head_s)


def _reading_s(table: StepTable, tokens: float, prompts: float) -> float:
    """Return the prefill time of prompts of equal length, in steps within the table."""
    if not tokens:
        return 0.0
    parts = max(1.0, tokens / float(table.tokens[-1]))
    return parts * table.prefill_s(tokens / parts, max(1.0, prompts / parts))
