"""The task graph inside the engine: serial devices, delays, and streams of connections round by round."""

from topoopt.base.kernel import compiled
from topoopt.simulation.packet.kernel.heaps import push_timer
from topoopt.simulation.packet.kernel.layout import KIND_SHIFT, Count, Device, State, Stream, Task, Timer


@compiled
def begin(s: State) -> None:
    """Release the tasks that wait for none."""
    s.count[Count.BEGUN] = 1
    for task in range(len(s.task)):
        if s.task[task, Task.WAITING] == 0:
            release(s, task, 0)


@compiled
def release(s: State, task: int, now: int) -> None:
    """Mark a task as ready: it queues for its device, or its delay begins."""
    s.task[task, Task.START] = now
    device = s.task[task, Task.DEVICE]
    if device < 0:
        push_timer(s, now + s.task[task, Task.DURATION], (Timer.DELAY_END << KIND_SHIFT) | task)
        return
    s.task[task, Task.READY] = now
    before, here = -1, s.device[device, Device.HEAD]
    last = s.device[device, Device.TAIL]
    if last >= 0 and (s.task[last, Task.READY] < now or last < task):
        before, here = last, -1
    while here >= 0 and (s.task[here, Task.READY] < now or here < task):
        before, here = here, s.task[here, Task.AFTER]
    s.task[task, Task.AFTER] = here
    if here < 0:
        s.device[device, Device.TAIL] = task
    if before < 0:
        s.device[device, Device.HEAD] = task
    else:
        s.task[before, Task.AFTER] = task
    _call(s, device, now)


@compiled
def _call(s: State, device: int, now: int) -> None:
    """Schedule a check of an idle device's queue after everything else at this time."""
    if (
        s.device[device, Device.BUSY] == 0
        and s.device[device, Device.CALLED] == 0
        and s.device[device, Device.HEAD] >= 0
    ):
        s.device[device, Device.CALLED] = 1
        push_timer(s, now, (Timer.DEVICE_START << KIND_SHIFT) | device)


@compiled
def start_device(s: State, device: int, now: int) -> None:
    """Start the first task in the queue of a device."""
    s.device[device, Device.CALLED] = 0
    task = s.device[device, Device.HEAD]
    if s.device[device, Device.BUSY] == 1 or task < 0:
        return
    s.device[device, Device.HEAD] = s.task[task, Task.AFTER]
    if s.device[device, Device.HEAD] < 0:
        s.device[device, Device.TAIL] = -1
    s.device[device, Device.BUSY] = 1
    s.task[task, Task.START] = now
    push_timer(s, now + s.task[task, Task.DURATION], (Timer.COMPUTE_END << KIND_SHIFT) | task)


@compiled
def end_compute(s: State, task: int, now: int) -> None:
    """End a compute task; its device takes the next."""
    device = s.task[task, Task.DEVICE]
    s.device[device, Device.BUSY] = 0
    finish_task(s, task, now)
    _call(s, device, now)


@compiled
def begin_streams(s: State, task: int, now: int) -> None:
    """Begin the streams of a communication task after its delay; without any it is done."""
    first, last = s.task_stream[task], s.task_stream[task + 1]
    s.task[task, Task.OPEN] = last - first
    if first == last:
        finish_task(s, task, now)
    for stream in range(first, last):
        s.stream[stream, Stream.ROUND] = 0
        _begin_round(s, stream)


@compiled
def _begin_round(s: State, stream: int) -> None:
    """Queue a stream that has connections to open."""
    s.stream[stream, Stream.OPEN] = s.stream[stream, Stream.EDGES]
    s.stream[stream, Stream.CURSOR] = 0
    tail = s.count[Count.STARTING_TAIL]
    s.starting[tail] = stream
    s.count[Count.STARTING_TAIL] = tail + 1 if tail + 1 < len(s.starting) else 0


@compiled
def connection_done(s: State, stream: int, now: int) -> None:
    """Count a connection of a stream as done; with the last of a round the next begins."""
    s.stream[stream, Stream.OPEN] -= 1
    if s.stream[stream, Stream.OPEN] > 0:
        return
    s.stream[stream, Stream.ROUND] += 1
    if s.stream[stream, Stream.ROUND] < s.stream[stream, Stream.ROUNDS]:
        _begin_round(s, stream)
        return
    task = s.stream[stream, Stream.TASK]
    s.task[task, Task.OPEN] -= 1
    if s.task[task, Task.OPEN] == 0:
        finish_task(s, task, now)


@compiled
def finish_task(s: State, task: int, now: int) -> None:
    """End a task and release the tasks that waited for it alone."""
    s.task[task, Task.FINISH] = now
    s.count[Count.TASKS_DONE] += 1
    for i in range(s.successor_first[task], s.successor_first[task + 1]):
        other = s.successor[i]
        s.task[other, Task.WAITING] -= 1
        if s.task[other, Task.WAITING] == 0:
            release(s, other, now)
