"""What every event loop does with tasks and devices; arrays as in ``task_run.py``."""

from topoopt.base.kernel import compiled, drop_top, enqueue, push
from topoopt.simulation.analytic.task_run import DIRTY, DONE, EVENTS, READY, TaskRun


@compiled
def schedule(t: TaskRun, time: float, code: int) -> None:
    """Add an event."""
    t.tally[EVENTS] = push(t.keys, t.codes, t.tally[EVENTS], time, code)


@compiled
def next_event(t: TaskRun) -> int:
    """Take the first event out and return its code."""
    code: int = t.codes[0]
    t.tally[EVENTS] = drop_top(t.keys, t.codes, t.tally[EVENTS])
    return code


@compiled
def queue_for_device(t: TaskRun, task: int, now: float) -> None:
    """Put a compute task that is ready into the queue of its device."""
    enqueue(task, t.device[task], now, t.start, t.head, t.tail, t.after)
    note_device(t, t.device[task])


@compiled
def note_device(t: TaskRun, device: int) -> None:
    """Note that a device may start a task."""
    if t.is_dirty[device] == 0:
        t.is_dirty[device] = 1
        t.dirty[t.tally[DIRTY]] = device
        t.tally[DIRTY] += 1


@compiled
def run_devices(t: TaskRun, now: float) -> None:
    """Start the first queued task of every idle device that may start one."""
    for i in range(t.tally[DIRTY]):
        task = start_next(t, t.dirty[i], now)
        if task >= 0:
            schedule(t, now + t.duration[task], task)
    t.tally[DIRTY] = 0


@compiled
def start_next(t: TaskRun, device: int, now: float) -> int:
    """Start the first queued task of a noted device and return it; -1 if the device is busy, or nothing is queued."""
    t.is_dirty[device] = 0
    task: int = t.head[device]
    if t.busy[device] == 1 or task < 0:
        return -1
    t.head[device] = t.after[task]
    if t.head[device] < 0:
        t.tail[device] = -1
    t.busy[device] = 1
    t.start[task] = now
    return task


@compiled
def end_task(t: TaskRun, task: int, now: float) -> None:
    """Let a task be done: its device is free, and what waited for nothing else is ready."""
    t.finish[task] = now
    t.tally[DONE] += 1
    if t.device[task] >= 0:
        t.busy[t.device[task]] = 0
        note_device(t, t.device[task])
    for e in range(t.successor_first[task], t.successor_first[task + 1]):
        other = t.successor[e]
        t.waiting[other] -= 1
        if t.waiting[other] == 0:
            t.ready[t.tally[READY]] = other
            t.tally[READY] += 1
