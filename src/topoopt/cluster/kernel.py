"""The hot loops of jobs that share links: iterations back to back under max-min fair flows, and idle links left out.

Arrays (all C-contiguous; int64 or float64 only, so that each kernel compiles once):

============== ======= ============ ====================================================================
name           dtype   shape        meaning
============== ======= ============ ====================================================================
job_task       int64   (jobs+1,)    tasks of a job are consecutive
begin          float64 (jobs,)      s; when a job's first iteration begins
device         int64   (tasks,)     device of a compute task, -1 for communication
lead           float64 (tasks,)     s; of a compute task its length, of communication until its first byte
tail           float64 (tasks,)     s between a task's last byte and its end
size           float64 (tasks,)     bytes; 0: nothing is sent
task_class     int64   (tasks,)     class of a task that sends, else -1
successor_first int64  (tasks+1,)   CSR pointer into ``successor``
successor      int64   (edges,)     tasks of the same job that wait for a task
predecessors   int64   (tasks,)     how many tasks a task waits for
class_first    int64   (classes+1,) CSR pointer into ``class_link`` and ``coefficient``
class_link     int64   (entries,)   links that several classes use
coefficient    float64 (entries,)   s/byte; part of the link that is taken for each byte/s of the class
ceiling        float64 (classes,)   bytes/s that a class can have at most
link_first     int64   (links+1,)   CSR pointer into ``link_class``
link_class     int64   (entries,)   classes of a link
sample         float64 (jobs, n)    s; iterations of each job, in order
============== ======= ============ ====================================================================

Events are (time, code) in a binary heap: code < tasks ends the lead or the tail of a task, else begins a job. Equal
times are served in order of code.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEVER = np.inf
TIE = 1e-12
"""Relative distance below which two times, or two fair shares, are one."""


@njit(cache=True)
def _push(keys: Floats, codes: Ints, size: int, key: float, code: int) -> int:
    """Add to the heap and return its new size."""
    hole = size
    while hole > 0:
        parent = (hole - 1) >> 1
        if keys[parent] < key or (keys[parent] == key and codes[parent] < code):
            break
        keys[hole] = keys[parent]
        codes[hole] = codes[parent]
        hole = parent
    keys[hole] = key
    codes[hole] = code
    return size + 1


@njit(cache=True)
def _drop_top(keys: Floats, codes: Ints, size: int) -> int:
    """Remove the first of the heap and return its new size."""
    size -= 1
    key = keys[size]
    code = codes[size]
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            keys[right] < keys[child] or (keys[right] == keys[child] and codes[right] < codes[child])
        ):
            child = right
        if key < keys[child] or (key == keys[child] and code < codes[child]):
            break
        keys[hole] = keys[child]
        codes[hole] = codes[child]
        hole = child
    keys[hole] = key
    codes[hole] = code
    return size


@njit(cache=True)
def _enqueue(task: int, device: int, now: float, ready: Floats, head: Ints, last: Ints, after: Ints) -> None:
    """Put a compute task into its device's queue, in order of (ready time, task)."""
    ready[task] = now
    after[task] = -1
    end = last[device]
    if end < 0:
        head[device] = task
        last[device] = task
        return
    if ready[end] < now or end < task:
        after[end] = task
        last[device] = task
        return
    before = -1
    here = head[device]
    while ready[here] < now or here < task:
        before = here
        here = after[here]
    after[task] = here
    if before < 0:
        head[device] = task
    else:
        after[before] = task


@njit(cache=True)
def _reach(
    changed: Ints,
    changed_count: int,
    class_first: Ints,
    class_link: Ints,
    link_first: Ints,
    link_class: Ints,
    sending: Ints,
    class_mark: Ints,
    link_mark: Ints,
    mark: int,
    near: Ints,
    touched: Ints,
) -> tuple[int, int]:
    """List the sending classes that changed ones reach over links, and those links; return how many each are."""
    near_count, touched_count, seen = 0, 0, 0
    for i in range(changed_count):
        c = changed[i]
        if class_mark[c] != mark:
            class_mark[c] = mark
            near[near_count] = c
            near_count += 1
    while seen < near_count:
        c = near[seen]
        seen += 1
        for e in range(class_first[c], class_first[c + 1]):
            m = class_link[e]
            if link_mark[m] == mark:
                continue
            link_mark[m] = mark
            touched[touched_count] = m
            touched_count += 1
            for k in range(link_first[m], link_first[m + 1]):
                other = link_class[k]
                if sending[other] > 0 and class_mark[other] != mark:
                    class_mark[other] = mark
                    near[near_count] = other
                    near_count += 1
    return near_count, touched_count


@njit(cache=True)
def _share(
    near_count: int,
    near: Ints,
    touched_count: int,
    touched: Ints,
    class_first: Ints,
    class_link: Ints,
    coefficient: Floats,
    ceiling: Floats,
    link_first: Ints,
    link_class: Ints,
    sending: Ints,
    weight: Floats,
    left: Floats,
    demand: Floats,
    unfrozen: Ints,
    rate: Floats,
) -> None:
    """Set ``rate`` of the listed classes, by progressive filling: all rise together in proportion to ``weight``.

    The link that fills first, or the class that reaches its ceiling first, freezes; the others rise on.
    ``left``, ``demand`` and ``unfrozen`` are room to work in, one entry a link.
    """
    for i in range(touched_count):
        m = touched[i]
        left[m] = 1.0
        demand[m] = 0.0
        unfrozen[m] = 0
    open_count = 0
    for i in range(near_count):
        c = near[i]
        rate[c] = 0.0
        if sending[c] == 0:
            continue
        near[open_count] = c
        open_count += 1
        rate[c] = -1.0
        for e in range(class_first[c], class_first[c + 1]):
            m = class_link[e]
            demand[m] += coefficient[e] * weight[c]
            unfrozen[m] += 1
    reached = 0.0
    while open_count > 0:
        level = NEVER
        for i in range(open_count):
            c = near[i]
            level = min(level, ceiling[c] / weight[c])
        kept = 0
        for i in range(touched_count):
            m = touched[i]
            if unfrozen[m] > 0:
                touched[kept] = m
                kept += 1
                level = min(level, left[m] / demand[m])
        touched_count = kept
        level = max(level, reached)  # never below an earlier one by rounding
        reached = level
        limit = level * (1.0 + TIE)
        for i in range(open_count):
            c = near[i]
            if ceiling[c] / weight[c] <= limit:
                rate[c] = ceiling[c]
        for i in range(touched_count):
            m = touched[i]
            if left[m] > limit * demand[m]:
                continue
            for k in range(link_first[m], link_first[m + 1]):
                c = link_class[k]
                if sending[c] > 0 and rate[c] < 0.0:
                    rate[c] = level * weight[c]
        kept = 0
        for i in range(open_count):
            c = near[i]
            if rate[c] < 0.0:
                near[kept] = c
                kept += 1
                continue
            for e in range(class_first[c], class_first[c + 1]):
                m = class_link[e]
                left[m] -= coefficient[e] * rate[c]
                demand[m] -= coefficient[e] * weight[c]
                unfrozen[m] -= 1
        open_count = kept


@njit(cache=True)
def run_back_to_back(
    iterations: int,
    per_collective: bool,
    hold: float,
    most_events: int,
    devices: int,
    job_task: Ints,
    begin: Floats,
    device: Ints,
    lead: Floats,
    tail: Floats,
    size: Floats,
    task_class: Ints,
    successor_first: Ints,
    successor: Ints,
    predecessors: Ints,
    class_first: Ints,
    class_link: Ints,
    coefficient: Floats,
    ceiling: Floats,
    link_first: Ints,
    link_class: Ints,
    sample: Floats,
) -> tuple[Ints, Floats, int]:
    """Run all jobs, iteration after iteration, until each has done so many while all of them ran.

    Iterations that begin before the last job does are not counted. The rates of flows are held for ``hold`` s after
    one begins or ends, and shared anew then.

    Within a class, tasks that send at the same time share its rate equally, so it keeps one virtual clock (bytes
    served to each) and its tasks in order of the clock value at which they end. Against other classes it
    weighs 1, or with ``per_collective`` as much as it has tasks that send.

    Returns
    -------
    counted : int64 array, shape (jobs,)
        Iterations of each job that count; of those ``sample`` holds the first.
    total : float64 array, shape (jobs,)
        Seconds that they took together.
    events : int
        More than ``most_events`` if the run was given up.
    """
    jobs = len(begin)
    tasks = len(device)
    classes = len(ceiling)
    links = len(link_first) - 1
    waiting = predecessors.copy()
    stage = np.zeros(tasks, np.int64)
    ready = np.zeros(tasks)
    after = np.full(tasks, -1, np.int64)
    head = np.full(devices, -1, np.int64)
    last = np.full(devices, -1, np.int64)
    busy = np.zeros(devices, np.int64)
    dirty = np.empty(devices + 1, np.int64)
    is_dirty = np.zeros(devices, np.int64)
    keys = np.empty(tasks + jobs + 1)
    codes = np.empty(tasks + jobs + 1, np.int64)
    heap = 0
    owner = np.empty(tasks, np.int64)
    opened = np.zeros(jobs, np.int64)
    began = np.zeros(jobs)
    counted = np.zeros(jobs, np.int64)
    total = np.zeros(jobs)
    to_release = np.empty(tasks + 1, np.int64)
    # classes that send, each with its virtual clock
    sending = np.zeros(classes, np.int64)
    weight = np.ones(classes)
    rate = np.zeros(classes)
    served = np.zeros(classes)
    touched_at = np.zeros(classes)
    first_task = np.full(classes, -1, np.int64)
    next_task = np.full(tasks, -1, np.int64)
    ends_at = np.zeros(tasks)
    end_time = np.full(classes, NEVER)
    active = np.empty(classes, np.int64)
    active_count = 0
    changed = np.empty(classes, np.int64)
    is_changed = np.zeros(classes, np.int64)
    changed_count = 0
    due = NEVER
    # room for sharing anew
    class_mark = np.zeros(classes, np.int64)
    link_mark = np.zeros(links, np.int64)
    mark = 0
    near = np.empty(classes, np.int64)
    touched = np.empty(links, np.int64)
    left = np.empty(links)
    demand = np.empty(links)
    unfrozen = np.empty(links, np.int64)
    events = 0
    settled = 0.0
    unfinished = jobs
    for j in range(jobs):
        owner[job_task[j] : job_task[j + 1]] = j
        settled = max(settled, begin[j])
        heap = _push(keys, codes, heap, begin[j], tasks + j)

    while unfinished > 0 and events <= most_events:
        now = due
        if heap > 0:
            now = min(now, keys[0])
        for i in range(active_count):
            now = min(now, end_time[active[i]])
        # tasks whose last byte leaves
        for i in range(active_count):
            c = active[i]
            if end_time[c] > now * (1.0 + TIE):
                continue
            served[c] = ends_at[first_task[c]]
            touched_at[c] = now
            while first_task[c] >= 0 and ends_at[first_task[c]] <= served[c] * (1.0 + TIE):
                task = first_task[c]
                first_task[c] = next_task[task]
                sending[c] -= 1
                stage[task] = 1
                heap = _push(keys, codes, heap, now + tail[task], task)
            if (sending[c] == 0 or per_collective) and is_changed[c] == 0:
                is_changed[c] = 1
                changed[changed_count] = c
                changed_count += 1
            end_time[c] = NEVER
            if sending[c] == 0:
                rate[c] = 0.0
            else:
                end_time[c] = now + (ends_at[first_task[c]] - served[c]) * sending[c] / rate[c]
        dirty_count = 0
        while heap > 0 and keys[0] <= now:
            code = codes[0]
            heap = _drop_top(keys, codes, heap)
            events += 1
            releasing = 0
            if code >= tasks:
                # an iteration begins
                j = code - tasks
                began[j] = now
                opened[j] = job_task[j + 1] - job_task[j]
                for task in range(job_task[j], job_task[j + 1]):
                    waiting[task] = predecessors[task]
                    if waiting[task] == 0:
                        to_release[releasing] = task
                        releasing += 1
            elif device[code] < 0 and stage[code] == 0 and size[code] > 0.0:
                # the first byte of a task leaves
                task = code
                c = task_class[task]
                if sending[c] == 0:
                    served[c] = 0.0
                else:
                    served[c] += rate[c] / sending[c] * (now - touched_at[c])
                touched_at[c] = now
                ends_at[task] = served[c] + size[task]
                before = -1
                here = first_task[c]
                while here >= 0 and ends_at[here] <= ends_at[task]:
                    before = here
                    here = next_task[here]
                next_task[task] = here
                if before < 0:
                    first_task[c] = task
                else:
                    next_task[before] = task
                sending[c] += 1
                if (sending[c] == 1 or per_collective) and is_changed[c] == 0:
                    is_changed[c] = 1
                    changed[changed_count] = c
                    changed_count += 1
                end_time[c] = NEVER
                if rate[c] > 0.0:
                    end_time[c] = now + (ends_at[first_task[c]] - served[c]) * sending[c] / rate[c]
                continue
            else:
                task = code
                j = owner[task]
                if device[task] >= 0:
                    d = device[task]
                    busy[d] = 0
                    if is_dirty[d] == 0:
                        is_dirty[d] = 1
                        dirty[dirty_count] = d
                        dirty_count += 1
                opened[j] -= 1
                for e in range(successor_first[task], successor_first[task + 1]):
                    other = successor[e]
                    waiting[other] -= 1
                    if waiting[other] == 0:
                        to_release[releasing] = other
                        releasing += 1
                if opened[j] == 0:
                    heap = _push(keys, codes, heap, now, tasks + j)
                    if began[j] >= settled:
                        if counted[j] < sample.shape[1]:
                            sample[j, counted[j]] = now - began[j]
                        total[j] += now - began[j]
                        counted[j] += 1
                        if counted[j] == iterations:
                            unfinished -= 1
            for i in range(releasing):
                task = to_release[i]
                d = device[task]
                if d < 0:
                    stage[task] = 0
                    heap = _push(keys, codes, heap, now + lead[task], task)
                    continue
                _enqueue(task, d, now, ready, head, last, after)
                if is_dirty[d] == 0:
                    is_dirty[d] = 1
                    dirty[dirty_count] = d
                    dirty_count += 1
        for i in range(dirty_count):
            d = dirty[i]
            is_dirty[d] = 0
            task = head[d]
            if busy[d] == 1 or task < 0:
                continue
            head[d] = after[task]
            if head[d] < 0:
                last[d] = -1
            busy[d] = 1
            heap = _push(keys, codes, heap, now + lead[task], task)
        if changed_count > 0 and due == NEVER:
            due = now + hold
        if now < due or changed_count == 0:
            continue
        # share anew
        due = NEVER
        mark += 1
        near_count, touched_count = _reach(
            changed, changed_count, class_first, class_link, link_first, link_class,
            sending, class_mark, link_mark, mark, near, touched,
        )  # fmt: skip
        for i in range(near_count):
            c = near[i]
            if sending[c] > 0:
                served[c] += rate[c] / sending[c] * (now - touched_at[c])
                weight[c] = float(sending[c]) if per_collective else 1.0
            touched_at[c] = now
        _share(
            near_count, near, touched_count, touched, class_first, class_link, coefficient, ceiling,
            link_first, link_class, sending, weight, left, demand, unfrozen, rate,
        )  # fmt: skip
        events += near_count
        for i in range(changed_count):
            is_changed[changed[i]] = 0
        changed_count = 0
        active_count = 0
        for c in range(classes):
            if sending[c] == 0:
                continue
            active[active_count] = c
            active_count += 1
            if class_mark[c] == mark:
                behind = max(ends_at[first_task[c]] - served[c], 0.0)
                end_time[c] = now + behind * sending[c] / rate[c]
    return counted, total, events


@njit(cache=True)
def covered_links(first: Ints, of_class: Ints, part: Floats, classes: int) -> NDArray[np.bool_]:
    """Return which links can never be short before another one is, shape (links,).

    Link m has the classes ``of_class[first[m] : first[m+1]]``, ascending, and takes ``part`` of each. Another link that
    takes as much of all these classes is full no later; of equal links the first stays.
    """
    links = len(first) - 1
    users = np.zeros(classes + 1, np.int64)
    for e in range(first[links]):
        users[of_class[e] + 1] += 1
    for c in range(classes):
        users[c + 1] += users[c]
    place = users[:classes].copy()
    member = np.empty(first[links], np.int64)
    covered = np.zeros(links, np.bool_)
    for m in range(links):
        for e in range(first[m], first[m + 1]):
            member[place[of_class[e]]] = m
            place[of_class[e]] += 1
    for m in range(links):
        rarest = of_class[first[m]]
        for e in range(first[m], first[m + 1]):
            c = of_class[e]
            if users[c + 1] - users[c] < users[rarest + 1] - users[rarest]:
                rarest = c
        for k in range(users[rarest], users[rarest + 1]):
            other = member[k]
            if other == m:
                continue
            here = first[m]
            less = False
            for e in range(first[other], first[other + 1]):
                if here < first[m + 1] and of_class[e] == of_class[here]:
                    if part[e] < part[here] * (1.0 - TIE):
                        break
                    less = less or part[e] > part[here] * (1.0 + TIE)
                    here += 1
                else:
                    less = True
            if here == first[m + 1] and (less or other < m):
                covered[m] = True
                break
    return covered
