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
root_first     int64   (jobs+1,)    CSR pointer into ``root``
root           int64   (roots,)     tasks to begin with: computations, and the first of the timed ones
next_timed     int64   (tasks,)     of communication that waits for no task: what follows by lead, else -1
class_first    int64   (classes+1,) CSR pointer into ``class_link`` and ``coefficient``
class_link     int64   (entries,)   links that several classes use
coefficient    float64 (entries,)   s/byte; part of the link that is taken for each byte/s of the class
ceiling        float64 (classes,)   bytes/s that a class can have at most
link_first     int64   (links+1,)   CSR pointer into ``link_class``
link_class     int64   (entries,)   classes of a link
link_entry     int64   (entries,)   place of the same entry in ``class_link``
sample         float64 (jobs, n)    s; iterations of each job, in order
============== ======= ============ ====================================================================

Events are (time, code) in a binary heap: code < tasks ends the lead or the tail of a task, else begins a job. Equal
times are served in order of code.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from topoopt.kernel import drop_top, enqueue, push

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEVER = np.inf
TIE = 1e-12
"""Relative distance below which two times, or two fair shares, are one."""
FULL = 1.0 + 1e-9
"""A link that its classes cannot fill beyond this is never short."""


@njit(cache=True, error_model="numpy")
def _swap(one: int, other: int, entry: Ints, slot: Ints, link: Ints, part: Floats, most: Floats) -> None:
    """Let two entries of a class change places."""
    link[one], link[other] = link[other], link[one]
    part[one], part[other] = part[other], part[one]
    most[one], most[other] = most[other], most[one]
    entry[one], entry[other] = entry[other], entry[one]
    slot[entry[one]] = one
    slot[entry[other]] = other


@njit(cache=True, error_model="numpy")
def _note(
    c: int,
    users_more: int,
    weight_more: float,
    hot_count: int,
    class_first: Ints,
    link_first: Ints,
    link_class: Ints,
    link_entry: Ints,
    entry: Ints,
    slot: Ints,
    link: Ints,
    part: Floats,
    most: Floats,
    hot_entries: Ints,
    hot: Ints,
    hot_place: Ints,
    load: Floats,
    demand: Floats,
    users: Ints,
    toggled: Ints,
) -> int:
    """Note on all links of a class that it begins or stops to send, or weighs more; return how many links are hot.

    A link is *hot* when the classes that send can fill it, each at its ceiling; no other is ever short. Hot links are
    listed, ``hot[:hot_count]``, and come first among the entries of each class.
    """
    toggles = 0
    for e in range(class_first[c], class_first[c + 1]):
        m = link[e]
        users[m] += users_more
        # no trace of rounding stays where nobody is left
        load[m] = load[m] + users_more * most[e] if users[m] > 0 else 0.0
        demand[m] = demand[m] + weight_more * part[e] if users[m] > 0 else 0.0
        if (load[m] > FULL) != (hot_place[m] >= 0):
            toggled[toggles] = m
            toggles += 1
    for i in range(toggles):
        m = toggled[i]
        if hot_place[m] < 0:
            hot_place[m] = hot_count
            hot[hot_count] = m
            hot_count += 1
            for k in range(link_first[m], link_first[m + 1]):
                other = link_class[k]
                place = class_first[other] + hot_entries[other]
                hot_entries[other] += 1
                _swap(slot[link_entry[k]], place, entry, slot, link, part, most)
        else:
            hot_count -= 1
            moved = hot[hot_count]
            hot[hot_place[m]] = moved
            hot_place[moved] = hot_place[m]
            hot_place[m] = -1
            for k in range(link_first[m], link_first[m + 1]):
                other = link_class[k]
                hot_entries[other] -= 1
                place = class_first[other] + hot_entries[other]
                _swap(slot[link_entry[k]], place, entry, slot, link, part, most)
    return hot_count


@njit(cache=True, error_model="numpy")
def _share(
    active_count: int,
    active: Ints,
    hot_count: int,
    hot: Ints,
    class_first: Ints,
    hot_entries: Ints,
    link: Ints,
    part: Floats,
    link_first: Ints,
    link_class: Ints,
    demand: Floats,
    users: Ints,
    ceiling: Floats,
    sending: Ints,
    weight: Floats,
    left: Floats,
    asked: Floats,
    unfrozen: Ints,
    share: Floats,
    limited: Ints,
    rate: Floats,
) -> None:
    """Set ``rate`` of the classes that send, by progressive filling: all rise together in proportion to ``weight``.

    What is full first stops those who use it: a link, or the ceiling of a class. The others rise on. The arrays from
    ``left`` to ``limited`` are room to work in.
    """
    open_links = 0
    for i in range(hot_count):
        m = hot[i]
        left[m] = 1.0
        asked[m] = demand[m]
        unfrozen[m] = users[m]
        share[m] = 1.0 / demand[m]
        limited[open_links] = m
        open_links += 1
    for i in range(active_count):
        rate[active[i]] = -1.0
    count = active_count
    reached = 0.0
    while count > 0:
        level = NEVER
        full = -1
        kept = 0
        for i in range(open_links):
            m = limited[i]
            limited[kept] = m
            kept += unfrozen[m] > 0
            if share[m] < level:
                level = share[m]
                full = m
        open_links = kept
        alone = -1
        for i in range(active_count):
            c = active[i]
            if rate[c] < 0.0 and ceiling[c] <= level * weight[c]:
                level = ceiling[c] / weight[c]
                alone = c
        first, last = 0, 1
        if alone < 0:
            first, last = link_first[full], link_first[full + 1]
        level = max(level, reached)  # never below an earlier one by rounding
        reached = level
        for k in range(first, last):
            c = link_class[k] if alone < 0 else alone
            if sending[c] == 0 or rate[c] >= 0.0:
                continue
            rate[c] = level * weight[c]
            count -= 1
            for e in range(class_first[c], class_first[c] + hot_entries[c]):
                m = link[e]
                left[m] -= part[e] * rate[c]
                asked[m] -= part[e] * weight[c]
                unfrozen[m] -= 1
                share[m] = left[m] / asked[m] if unfrozen[m] > 0 else NEVER


@njit(cache=True, error_model="numpy")
def run_back_to_back(
    iterations: int,
    per_collective: bool,
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
    root_first: Ints,
    root: Ints,
    next_timed: Ints,
    class_first: Ints,
    class_link: Ints,
    coefficient: Floats,
    ceiling: Floats,
    link_first: Ints,
    link_class: Ints,
    link_entry: Ints,
    sample: Floats,
) -> tuple[Ints, Floats, int]:
    """Run all jobs, iteration after iteration, until each has done so many while all of them ran.

    Iterations that begin before the last job does are not counted.

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
    began = np.full(jobs, -1.0)
    counted = np.zeros(jobs, np.int64)
    total = np.zeros(jobs)
    late = np.zeros(jobs)
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
    # the links, and the entries of each class in an order of their own
    link = class_link.copy()
    part = coefficient.copy()
    most = np.empty(len(part))
    entry = np.arange(len(part))
    slot = np.arange(len(part))
    for c in range(classes):
        for e in range(class_first[c], class_first[c + 1]):
            most[e] = part[e] * ceiling[c]
    listed = np.zeros(classes, np.int64)
    listed_weight = np.zeros(classes)
    load = np.zeros(links)
    demand = np.zeros(links)
    users = np.zeros(links, np.int64)
    hot = np.empty(links, np.int64)
    hot_count = 0
    hot_place = np.full(links, -1, np.int64)
    hot_entries = np.zeros(classes, np.int64)
    toggled = np.empty(links, np.int64)
    left = np.empty(links)
    asked = np.empty(links)
    unfrozen = np.empty(links, np.int64)
    share = np.empty(links)
    limited = np.empty(links, np.int64)
    events = 0
    settled = 0.0
    unfinished = jobs
    for j in range(jobs):
        owner[job_task[j] : job_task[j + 1]] = j
        settled = max(settled, begin[j])
        heap = push(keys, codes, heap, begin[j], tasks + j)

    while unfinished > 0 and events <= most_events:
        now = keys[0] if heap > 0 else NEVER
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
                if successor_first[task] == successor_first[task + 1]:
                    j = owner[task]
                    late[j] = max(late[j], now + tail[task])
                    opened[j] -= 1
                    if opened[j] == 0:
                        heap = push(keys, codes, heap, late[j], tasks + j)
                    continue
                stage[task] = 1
                heap = push(keys, codes, heap, now + tail[task], task)
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
        while heap > 0 and keys[0] <= now and unfinished > 0:
            code = codes[0]
            heap = drop_top(keys, codes, heap)
            events += 1
            releasing = 0
            if code < tasks and stage[code] == 0 and next_timed[code] >= 0:
                other = next_timed[code]
                stage[other] = 0
                heap = push(keys, codes, heap, began[owner[code]] + lead[other], other)
            if code >= tasks:
                # an iteration begins
                j = code - tasks
                if began[j] >= settled:
                    if counted[j] < sample.shape[1]:
                        sample[j, counted[j]] = now - began[j]
                    total[j] += now - began[j]
                    counted[j] += 1
                    if counted[j] == iterations:
                        unfinished -= 1
                began[j] = now
                late[j] = now
                opened[j] = job_task[j + 1] - job_task[j]
                for i in range(root_first[j], root_first[j + 1]):
                    to_release[releasing] = root[i]
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
                        waiting[other] = predecessors[other]
                        to_release[releasing] = other
                        releasing += 1
                late[j] = max(late[j], now)
                if opened[j] == 0:
                    heap = push(keys, codes, heap, late[j], tasks + j)
            for i in range(releasing):
                task = to_release[i]
                d = device[task]
                if d < 0:
                    stage[task] = 0
                    heap = push(keys, codes, heap, now + lead[task], task)
                    continue
                enqueue(task, d, now, ready, head, last, after)
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
            heap = push(keys, codes, heap, now + lead[task], task)
        if changed_count == 0:
            continue
        # share anew
        for i in range(changed_count):
            c = changed[i]
            is_changed[c] = 0
            sends = 1 if sending[c] > 0 else 0
            weighs = float(sending[c]) if per_collective else float(sends)
            if sends == listed[c] and weighs == listed_weight[c]:
                continue
            hot_count = _note(
                c, sends - listed[c], weighs - listed_weight[c], hot_count, class_first, link_first,
                link_class, link_entry, entry, slot, link, part, most, hot_entries, hot, hot_place,
                load, demand, users, toggled,
            )  # fmt: skip
            listed[c] = sends
            listed_weight[c] = weighs
            weight[c] = max(weighs, 1.0)
        changed_count = 0
        active_count = 0
        for c in range(classes):
            if sending[c] > 0:
                served[c] += rate[c] / sending[c] * (now - touched_at[c])
                touched_at[c] = now
                active[active_count] = c
                active_count += 1
        _share(
            active_count, active, hot_count, hot, class_first, hot_entries, link, part, link_first, link_class,
            demand, users, ceiling, sending, weight, left, asked, unfrozen, share, limited, rate,
        )  # fmt: skip
        events += active_count
        for i in range(active_count):
            c = active[i]
            behind = max(ends_at[first_task[c]] - served[c], 0.0)
            end_time[c] = now + behind * sending[c] / rate[c]
    return counted, total, events


@njit(cache=True, error_model="numpy")
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
