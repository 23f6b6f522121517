"""The task graph inside the engine: serial devices, delays, and streams of connections round by round."""

from topoopt.kernel import compiled
from topoopt.simulate.packet.kernel.heaps import push_timer
from topoopt.simulate.packet.kernel.layout import (
    BEGUN,
    COMPUTE_END,
    D_BUSY,
    D_CALLED,
    D_HEAD,
    D_TAIL,
    DELAY_END,
    DEVICE_START,
    KIND_SHIFT,
    S_CURSOR,
    S_EDGES,
    S_OPEN,
    S_ROUND,
    S_ROUNDS,
    S_TASK,
    STARTING_TAIL,
    T_AFTER,
    T_DEVICE,
    T_DURATION,
    T_FINISH,
    T_OPEN,
    T_READY,
    T_START,
    T_WAITING,
    TASKS_DONE,
    State,
)


@compiled
def begin(s: State) -> None:
    """Release the tasks that wait for none."""
    s.count[BEGUN] = 1
    for task in range(len(s.task)):
        if s.task[task, T_WAITING] == 0:
            release(s, task, 0)


@compiled
def release(s: State, task: int, now: int) -> None:
    """Make a task ready: it queues for its device, or its delay begins."""
    s.task[task, T_START] = now
    device = s.task[task, T_DEVICE]
    if device < 0:
        push_timer(s, now + s.task[task, T_DURATION], (DELAY_END << KIND_SHIFT) | task)
        return
    s.task[task, T_READY] = now
    before, here = -1, s.device[device, D_HEAD]
    last = s.device[device, D_TAIL]
    if last >= 0 and (s.task[last, T_READY] < now or last < task):
        before, here = last, -1
    while here >= 0 and (s.task[here, T_READY] < now or here < task):
        before, here = here, s.task[here, T_AFTER]
    s.task[task, T_AFTER] = here
    if here < 0:
        s.device[device, D_TAIL] = task
    if before < 0:
        s.device[device, D_HEAD] = task
    else:
        s.task[before, T_AFTER] = task
    _call(s, device, now)


@compiled
def _call(s: State, device: int, now: int) -> None:
    """Let an idle device look at its queue after everything else that happens now."""
    if s.device[device, D_BUSY] == 0 and s.device[device, D_CALLED] == 0 and s.device[device, D_HEAD] >= 0:
        s.device[device, D_CALLED] = 1
        push_timer(s, now, (DEVICE_START << KIND_SHIFT) | device)


@compiled
def start_device(s: State, device: int, now: int) -> None:
    """Start the first task in the queue of a device."""
    s.device[device, D_CALLED] = 0
    task = s.device[device, D_HEAD]
    if s.device[device, D_BUSY] == 1 or task < 0:
        return
    s.device[device, D_HEAD] = s.task[task, T_AFTER]
    if s.device[device, D_HEAD] < 0:
        s.device[device, D_TAIL] = -1
    s.device[device, D_BUSY] = 1
    s.task[task, T_START] = now
    push_timer(s, now + s.task[task, T_DURATION], (COMPUTE_END << KIND_SHIFT) | task)


@compiled
def end_compute(s: State, task: int, now: int) -> None:
    """End a compute task; its device takes the next."""
    device = s.task[task, T_DEVICE]
    s.device[device, D_BUSY] = 0
    finish_task(s, task, now)
    _call(s, device, now)


@compiled
def begin_streams(s: State, task: int, now: int) -> None:
    """Begin the streams of a communication task after its delay; without any it is done."""
    first, last = s.task_stream[task], s.task_stream[task + 1]
    s.task[task, T_OPEN] = last - first
    if first == last:
        finish_task(s, task, now)
    for stream in range(first, last):
        s.stream[stream, S_ROUND] = 0
        _begin_round(s, stream)


@compiled
def _begin_round(s: State, stream: int) -> None:
    """Queue a stream among those that have connections to open."""
    s.stream[stream, S_OPEN] = s.stream[stream, S_EDGES]
    s.stream[stream, S_CURSOR] = 0
    tail = s.count[STARTING_TAIL]
    s.starting[tail] = stream
    s.count[STARTING_TAIL] = tail + 1 if tail + 1 < len(s.starting) else 0


@compiled
def connection_done(s: State, stream: int, now: int) -> None:
    """Count a connection of a stream as done; with the last of a round the next begins."""
    s.stream[stream, S_OPEN] -= 1
    if s.stream[stream, S_OPEN] > 0:
        return
    s.stream[stream, S_ROUND] += 1
    if s.stream[stream, S_ROUND] < s.stream[stream, S_ROUNDS]:
        _begin_round(s, stream)
        return
    task = s.stream[stream, S_TASK]
    s.task[task, T_OPEN] -= 1
    if s.task[task, T_OPEN] == 0:
        finish_task(s, task, now)


@compiled
def finish_task(s: State, task: int, now: int) -> None:
    """End a task and release those that waited for it alone."""
    s.task[task, T_FINISH] = now
    s.count[TASKS_DONE] += 1
    for i in range(s.successor_first[task], s.successor_first[task + 1]):
        other = s.successor[i]
        s.task[other, T_WAITING] -= 1
        if s.task[other, T_WAITING] == 0:
            release(s, other, now)
