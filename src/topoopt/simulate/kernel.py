"""The hot loops: max-min fair rates, and two event loops over a task graph.

Arrays (all C-contiguous; int64 or float64 only, so that each kernel compiles once):

============== ======= ============ ====================================================================
name           dtype   shape        meaning
============== ======= ============ ====================================================================
server         int64   (tasks,)     device of a compute task, -1 for communication
duration       float64 (tasks,)     s; of communication: the delay before it
successor_first int64  (tasks+1,)   CSR pointer into ``successor``
successor      int64   (edges,)     tasks that wait for a task
predecessors   int64   (tasks,)     how many tasks a task waits for
task_flow      int64   (tasks+1,)   CSR pointer: flows of a communication task are consecutive
flow_class     int64   (flows,)     class of each flow; a class is a set of links with coefficients
flow_bytes     float64 (flows,)     bytes for which the flow holds a link with coefficient 1
flow_before    float64 (flows,)     s between readiness and the first byte
flow_after     float64 (flows,)     s between the last byte and the end
flow_weight    float64 (flows,)     share in max-min fairness
class_first    int64   (classes+1,) CSR pointer into ``class_link`` and ``class_coefficient``
class_link     int64   (entries,)   directed links
class_coefficient float64 (entries,) bytes on the link per byte of the flow
capacity       float64 (links,)     bytes/s
============== ======= ============ ====================================================================

Events are (time, code) in a binary heap: code < tasks ends a task, < tasks + flows starts that flow's bytes,
else ends that flow. Equal times are served in order of code.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from topoopt.kernel import drop_top, enqueue, push

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEVER = np.inf
TIE = 1e-12
"""Relative distance below which two completion times, or two fair shares, are one."""


@njit(cache=True)
def max_min_levels(
    count: int,
    active: Ints,
    class_first: Ints,
    class_link: Ints,
    class_coefficient: Floats,
    class_weight: Floats,
    capacity: Floats,
    level: Floats,
) -> None:
    """Set ``level``, the fair rate per unit of weight, of the first ``count`` classes in ``active``."""
    links = len(capacity)
    demand = np.zeros(links)
    users = np.zeros(links, np.int64)
    for i in range(count):
        c = active[i]
        for e in range(class_first[c], class_first[c + 1]):
            demand[class_link[e]] += class_coefficient[e] * class_weight[c]
            users[class_link[e]] += 1
    first = np.zeros(links + 1, np.int64)
    for m in range(links):
        first[m + 1] = first[m] + users[m]
    member = np.empty(first[links], np.int64)
    place = first[:links].copy()
    for i in range(count):
        c = active[i]
        for e in range(class_first[c], class_first[c + 1]):
            member[place[class_link[e]]] = c
            place[class_link[e]] += 1
    keys = np.empty(links + 1)
    codes = np.empty(links + 1, np.int64)
    left = np.empty(links)
    _fill(
        count, active, class_first, class_link, class_coefficient, class_weight,
        first, member, users, np.empty(links, np.int64), demand, capacity, left, keys, codes, level,
    )  # fmt: skip


@njit(cache=True)
def _fill(
    count: int,
    active: Ints,
    class_first: Ints,
    class_link: Ints,
    class_coefficient: Floats,
    class_weight: Floats,
    first: Ints,
    member: Ints,
    users: Ints,
    unfrozen: Ints,
    demand: Floats,
    capacity: Floats,
    left: Floats,
    keys: Floats,
    codes: Ints,
    level: Floats,
) -> None:
    """Progressive filling: all levels rise together; the link that fills first freezes its classes; and so on.

    A link's share only grows as others freeze, so a heap with stale (too small) keys finds the next one. The
    classes on link m are ``member[first[m] : first[m] + users[m]]``, which together ask for ``demand[m]`` per unit
    of level; that is used up. ``unfrozen``, ``left``, ``keys`` and ``codes`` are room to work in.
    """
    for i in range(count):
        level[active[i]] = -1.0
    size = 0
    for m in range(len(capacity)):
        left[m] = capacity[m]
        unfrozen[m] = users[m]
        if unfrozen[m] > 0:
            size = push(keys, codes, size, left[m] / demand[m], m)
    while size > 0:
        key = keys[0]
        m = codes[0]
        size = drop_top(keys, codes, size)
        if unfrozen[m] == 0:
            continue
        share = left[m] / demand[m]
        if share > key * (1.0 + TIE):
            size = push(keys, codes, size, share, m)
            continue
        for i in range(first[m], first[m] + users[m]):
            c = member[i]
            if level[c] >= 0.0:
                continue
            level[c] = key  # the true share, but never below an earlier one by rounding
            for e in range(class_first[c], class_first[c + 1]):
                used = class_coefficient[e] * class_weight[c]
                left[class_link[e]] -= used * key
                demand[class_link[e]] -= used
                unfrozen[class_link[e]] -= 1


@njit(cache=True)
def _list_class(
    c: int,
    class_first: Ints,
    class_link: Ints,
    link_first: Ints,
    member: Ints,
    entry_at: Ints,
    place: Ints,
    users: Ints,
) -> None:
    """Note on all links of a class that it is active."""
    for e in range(class_first[c], class_first[c + 1]):
        m = class_link[e]
        place[e] = link_first[m] + users[m]
        member[place[e]] = c
        entry_at[place[e]] = e
        users[m] += 1


@njit(cache=True)
def _strike_class(
    c: int,
    class_first: Ints,
    class_link: Ints,
    link_first: Ints,
    member: Ints,
    entry_at: Ints,
    place: Ints,
    users: Ints,
) -> None:
    """Note on all links of a class that it is active no more; the last of a link takes its place."""
    for e in range(class_first[c], class_first[c + 1]):
        m = class_link[e]
        users[m] -= 1
        last = link_first[m] + users[m]
        member[place[e]] = member[last]
        entry_at[place[e]] = entry_at[last]
        place[entry_at[last]] = place[e]


@njit(cache=True)
def _reweigh_class(
    c: int,
    change: float,
    class_first: Ints,
    class_link: Ints,
    class_coefficient: Floats,
    users: Ints,
    demand: Floats,
) -> None:
    """Add to the demand of a class on all its links."""
    for e in range(class_first[c], class_first[c + 1]):
        m = class_link[e]
        # no trace of rounding stays where nobody is left
        demand[m] = demand[m] + class_coefficient[e] * change if users[m] > 0 else 0.0


@njit(cache=True)
def _release(
    task: int,
    now: float,
    server: Ints,
    duration: Floats,
    task_flow: Ints,
    flow_before: Floats,
    start: Floats,
    open_flows: Ints,
    head: Ints,
    tail: Ints,
    after: Ints,
    keys: Floats,
    codes: Ints,
    size: int,
) -> int:
    """Make a task ready at ``now``; return the heap's size."""
    start[task] = now
    if server[task] >= 0:
        enqueue(task, server[task], now, start, head, tail, after)
        return size
    tasks = len(server)
    begin = now + duration[task]
    open_flows[task] = task_flow[task + 1] - task_flow[task]
    if open_flows[task] == 0:
        return push(keys, codes, size, begin, task)
    for f in range(task_flow[task], task_flow[task + 1]):
        size = push(keys, codes, size, begin + flow_before[f], tasks + f)
    return size


@njit(cache=True)
def _mark(device: int, dirty: Ints, dirty_count: int, is_dirty: Ints) -> int:
    """Note that a device may start a task (-1 is no device); return how many are noted."""
    if device < 0 or is_dirty[device] == 1:
        return dirty_count
    is_dirty[device] = 1
    dirty[dirty_count] = device
    return dirty_count + 1


@njit(cache=True)
def _run_devices(
    now: float,
    dirty: Ints,
    dirty_count: int,
    is_dirty: Ints,
    busy: Ints,
    head: Ints,
    tail: Ints,
    after: Ints,
    start: Floats,
    duration: Floats,
    keys: Floats,
    codes: Ints,
    size: int,
) -> int:
    """Start the first queued task of every idle device whose state changed; return the heap's size."""
    for i in range(dirty_count):
        device = dirty[i]
        is_dirty[device] = 0
        task = head[device]
        if busy[device] == 1 or task < 0:
            continue
        head[device] = after[task]
        if head[device] < 0:
            tail[device] = -1
        busy[device] = 1
        start[task] = now
        size = push(keys, codes, size, now + duration[task], task)
    return size


@njit(cache=True)
def run_events(
    fair: bool,
    tolerance: float,
    devices: int,
    server: Ints,
    duration: Floats,
    successor_first: Ints,
    successor: Ints,
    predecessors: Ints,
    task_flow: Ints,
    flow_class: Ints,
    flow_bytes: Floats,
    flow_before: Floats,
    flow_after: Floats,
    flow_weight: Floats,
    class_first: Ints,
    class_link: Ints,
    class_coefficient: Floats,
    capacity: Floats,
) -> tuple[Floats, Floats, int]:
    """Run the task graph once; return start and finish of every task and how many tasks finished.

    With ``fair`` the active flows share links max-min fairly: rates are held between solutions, and what
    happens within ``tolerance`` × now after a change is handled with it. Within a class all flows get the
    same rate per weight, so a class keeps one virtual clock (bytes served per unit of weight) and its flows
    in order of the clock value at which they end.

    Without, each link serves flows first come, first served, at full bandwidth, and a flow holds all its
    links independently (cut-through); it ends when its last link is done.
    """
    tasks = len(server)
    flows = len(flow_class)
    classes = len(class_first) - 1
    start = np.full(tasks, np.nan)
    finish = np.full(tasks, np.nan)
    waiting = predecessors.copy()
    open_flows = np.zeros(tasks, np.int64)
    head = np.full(devices, -1, np.int64)
    tail = np.full(devices, -1, np.int64)
    after = np.full(tasks, -1, np.int64)
    busy = np.zeros(devices, np.int64)
    dirty = np.empty(devices, np.int64)
    is_dirty = np.zeros(devices, np.int64)
    dirty_count = 0
    keys = np.empty(tasks + flows + 1)
    codes = np.empty(tasks + flows + 1, np.int64)
    size = 0
    finished = 0
    link_free = np.zeros(len(capacity))
    owner = np.empty(flows, np.int64)
    for task in range(tasks):
        owner[task_flow[task] : task_flow[task + 1]] = task
    # fair sharing only
    active = np.empty(classes, np.int64)
    active_count = 0
    weight = np.zeros(classes)
    level = np.zeros(classes)
    served = np.zeros(classes)
    first_flow = np.full(classes, -1, np.int64)
    next_flow = np.full(flows, -1, np.int64)
    ends_at = np.zeros(flows)
    entering = np.empty(flows, np.int64)
    clock = 0.0
    next_end = NEVER
    links = len(capacity)
    entries = len(class_link)
    # who is active on each link, kept up to date so that sharing anew needs no search
    listed_weight = np.zeros(classes)
    link_first = np.zeros(links + 1, np.int64)
    for e in range(entries):
        link_first[class_link[e] + 1] += 1
    for m in range(links):
        link_first[m + 1] += link_first[m]
    member = np.empty(entries, np.int64)
    entry_at = np.empty(entries, np.int64)
    place = np.empty(entries, np.int64)
    users = np.zeros(links, np.int64)
    demand = np.zeros(links)
    unfrozen = np.empty(links, np.int64)
    asked = np.empty(links)
    left = np.empty(links)
    link_keys = np.empty(links + 1)
    link_codes = np.empty(links + 1, np.int64)

    for task in range(tasks):
        if waiting[task] == 0:
            size = _release(
                task, 0.0, server, duration, task_flow, flow_before, start, open_flows,
                head, tail, after, keys, codes, size,
            )  # fmt: skip
            dirty_count = _mark(server[task], dirty, dirty_count, is_dirty)
    size = _run_devices(
        0.0, dirty, dirty_count, is_dirty, busy, head, tail, after, start, duration, keys, codes, size
    )
    dirty_count = 0

    while size > 0 or next_end < NEVER:
        # the next change: an event of the heap, or the end of a flow at the present rates
        now = keys[0] if size > 0 else NEVER
        horizon = now
        entering_count = 0
        if next_end <= now:
            horizon = next_end * (1.0 + tolerance)
            # every flow that ends by then ends at its own time
            limit = horizon + TIE * horizon
            for i in range(active_count):
                c = active[i]
                while first_flow[c] >= 0:
                    f = first_flow[c]
                    end = clock + (ends_at[f] - served[c]) / level[c]
                    if end > limit:
                        break
                    first_flow[c] = next_flow[f]
                    weight[c] -= flow_weight[f]
                    size = push(keys, codes, size, max(end, clock) + flow_after[f], tasks + flows + f)
        changed = next_end <= now
        while size > 0 and keys[0] <= horizon:
            now = keys[0]
            while size > 0 and keys[0] == now:
                code = codes[0]
                size = drop_top(keys, codes, size)
                if tasks <= code < tasks + flows:
                    f = code - tasks
                    if fair:
                        entering[entering_count] = f
                        entering_count += 1
                        if not changed:
                            changed = True
                            horizon = min(now * (1.0 + tolerance), next_end)
                        continue
                    c = flow_class[f]
                    end = now
                    for e in range(class_first[c], class_first[c + 1]):
                        m = class_link[e]
                        begin = max(link_free[m], now)
                        link_free[m] = begin + flow_bytes[f] * class_coefficient[e] / capacity[m]
                        end = max(end, link_free[m])
                    size = push(keys, codes, size, end + flow_after[f], tasks + flows + f)
                    continue
                task = code
                if code >= tasks + flows:
                    task = owner[code - tasks - flows]
                    open_flows[task] -= 1
                    if open_flows[task] > 0:
                        continue
                elif server[task] >= 0:
                    busy[server[task]] = 0
                    dirty_count = _mark(server[task], dirty, dirty_count, is_dirty)
                finish[task] = now
                finished += 1
                for e in range(successor_first[task], successor_first[task + 1]):
                    other = successor[e]
                    waiting[other] -= 1
                    if waiting[other] > 0:
                        continue
                    size = _release(
                        other, now, server, duration, task_flow, flow_before, start, open_flows,
                        head, tail, after, keys, codes, size,
                    )  # fmt: skip
                    dirty_count = _mark(server[other], dirty, dirty_count, is_dirty)
            size = _run_devices(
                now, dirty, dirty_count, is_dirty, busy, head, tail, after, start, duration,
                keys, codes, size,
            )  # fmt: skip
            dirty_count = 0
        if not changed:
            continue
        # serve everyone up to the horizon, let new flows in, and share anew
        kept = 0
        for i in range(active_count):
            c = active[i]
            served[c] += level[c] * (horizon - clock)
            if first_flow[c] >= 0:
                active[kept] = c
                kept += 1
            else:
                weight[c] = 0.0
                _strike_class(c, class_first, class_link, link_first, member, entry_at, place, users)
            if weight[c] != listed_weight[c]:
                change = weight[c] - listed_weight[c]
                _reweigh_class(c, change, class_first, class_link, class_coefficient, users, demand)
                listed_weight[c] = weight[c]
        active_count = kept
        clock = horizon
        for i in range(entering_count):
            f = entering[i]
            c = flow_class[f]
            if first_flow[c] < 0:
                active[active_count] = c
                active_count += 1
                served[c] = 0.0
                _list_class(c, class_first, class_link, link_first, member, entry_at, place, users)
            ends_at[f] = served[c] + flow_bytes[f] / flow_weight[f]
            weight[c] += flow_weight[f]
            listed_weight[c] = weight[c]
            _reweigh_class(c, flow_weight[f], class_first, class_link, class_coefficient, users, demand)
            before = -1
            here = first_flow[c]
            while here >= 0 and ends_at[here] <= ends_at[f]:
                before = here
                here = next_flow[here]
            next_flow[f] = here
            if before < 0:
                first_flow[c] = f
            else:
                next_flow[before] = f
        asked[:] = demand
        _fill(
            active_count, active, class_first, class_link, class_coefficient, weight,
            link_first, member, users, unfrozen, asked, capacity, left, link_keys, link_codes, level,
        )  # fmt: skip
        next_end = NEVER
        for i in range(active_count):
            c = active[i]
            end = clock + max(ends_at[first_flow[c]] - served[c], 0.0) / level[c]
            next_end = min(next_end, end)
    return start, finish, finished
