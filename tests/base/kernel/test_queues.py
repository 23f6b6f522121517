"""The queues of the simulators: order by time, then by number."""

import heapq

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.kernel import drop_top, enqueue, push

EVENTS = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0, 2.5]), st.integers(0, 9)), max_size=40)


@given(EVENTS, st.lists(st.booleans(), max_size=60))
def test_the_heap_gives_back_what_the_library_of_python_does(
    events: list[tuple[float, int]], drops: list[bool]
) -> None:
    keys, codes, size = np.empty(64), np.empty(64, np.int64), 0
    oracle: list[tuple[float, int]] = []
    waiting = list(events)
    for drop in [*drops, *[False] * len(events), *[True] * len(events)]:
        if drop and oracle:
            assert (keys[0], codes[0]) == heapq.heappop(oracle)
            size = drop_top(keys, codes, size)
        elif not drop and waiting:
            event = waiting.pop()
            heapq.heappush(oracle, event)
            size = push(keys, codes, size, *event)
        assert size == len(oracle)


@given(st.lists(st.tuples(st.integers(0, 1), st.sampled_from([0.0, 1.0, 2.0])), max_size=20))
def test_a_device_serves_tasks_by_ready_time_then_by_number(tasks: list[tuple[int, float]]) -> None:
    count = len(tasks)
    ready, after = np.zeros(count), np.full(count, -1)
    head, tail = np.full(2, -1), np.full(2, -1)
    for task in sorted(range(count), key=lambda task: (tasks[task][1], -task)):  # numbers against the order
        device, now = tasks[task]
        enqueue(task, device, now, ready, head, tail, after)
    for device in (0, 1):
        served, here = [], int(head[device])
        while here >= 0:
            served.append(here)
            here = int(after[here])
        assert served == sorted(
            (task for task in range(count) if tasks[task][0] == device),
            key=lambda task: (tasks[task][1], task),
        )
        assert tail[device] == (served[-1] if served else -1)
