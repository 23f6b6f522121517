"""The event loop of profiled jobs that share links; arrays as in ``periodic_state.py`` and the fluid engine's.

A job sends at most one phase at a time, which is a class of the fluid engine: its weight is the job's, its ceiling the
rate of the phase. Between two changes of rates bytes flow at constant rates. Where weights change with bytes sent and a
link is short, there is a change whenever the bytes ratio of a job has grown by a quantum, and the rates between two
changes are those of the weights halfway (the midpoint rule, so that the error is of the quantum's square).
"""

from pathlib import Path

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.kernel import compiled, drop_top, entry, inlined, mix, push, stamp, stamped
from topoopt.clusters.interleave.periodic.periodic_state import (
    COMMUNICATION,
    ENDED,
    EVENTS,
    LOGGED,
    MARKS,
    NOW,
    PACKET_BYTES,
    QUANTUM,
    SENT_FIRST,
    STARTED,
    UNFINISHED,
    Course,
    Phases,
)
from topoopt.simulation import (
    ACTIVE,
    FLUID_STAMP,
    SHORT,
    TIE,
    Links,
    Sharing,
    fill,
    list_class,
    reweigh,
    strike_class,
)

PERIODIC_STAMP = stamp([Path(__file__), Path(__file__).with_name("periodic_state.py")]) ^ FLUID_STAMP

NEVER = np.inf
SERVED = 1.0 - 1e-9
"""Fraction of its capacity at which a link counts as full."""


@entry
@stamped(PERIODIC_STAMP)
def run_periodic(p: Phases, c: Course, x: Sharing, net: Links, until: float, seed: int, changes: int) -> bool:
    """Serve events up to ``until``, or till all jobs have their iterations; return whether it is over.

    It stops early when the log is full, or after a number of changes of rates; then call it again.
    """
    room, jobs = len(c.log_job), len(c.phase)
    for _ in range(changes):
        if c.tally[LOGGED] + jobs > room:
            return False
        if c.tally[UNFINISHED] == 0:
            return True
        following = min(_share(p, c, x, net), c.keys[0] if c.tally[EVENTS] > 0 else NEVER)
        if following == NEVER:
            return True
        if following > until:
            _serve(p, c, x, net, until)
            return True
        _serve(p, c, x, net, following)
        horizon = following * (1.0 + TIE)
        i = 0
        while i < x.tally[ACTIVE]:
            job = p.job[x.active[i]]
            if c.end[job] <= horizon:
                _end_phase(p, c, x, net, i, seed)
            else:
                i += 1
        while c.tally[EVENTS] > 0 and c.keys[0] <= horizon:
            job = c.codes[0]
            c.tally[EVENTS] = drop_top(c.keys, c.codes, c.tally[EVENTS])
            _begin_phase(p, c, x, net, job, seed)
    return False


@inlined
def _share(p: Phases, c: Course, x: Sharing, net: Links) -> float:
    """Set the rates of all senders until the next change; return its time, if no job begins before."""
    rising = _weigh(p, c, x, net, 0.0)
    following = _set_rates(p, c, x, net)
    if net.tally[SHORT] == 0 or not rising:
        return following
    step = following - c.scale[NOW]
    if c.tally[EVENTS] > 0:
        step = min(step, c.keys[0] - c.scale[NOW])
    for i in range(x.tally[ACTIVE]):
        job = p.job[x.active[i]]
        if c.rate[job] > 0.0:
            step = min(step, c.scale[QUANTUM] * p.burst[job] / c.rate[job])
    _weigh(p, c, x, net, 0.5 * step)
    following = min(_set_rates(p, c, x, net), float(c.scale[NOW] + step))
    return following


@inlined
def _weigh(p: Phases, c: Course, x: Sharing, net: Links, ahead: float) -> bool:
    """Set the weights of all that send as they are ``ahead`` s from now; return whether one of them changes."""
    rising = False
    for i in range(x.tally[ACTIVE]):
        k = x.active[i]
        job = p.job[k]
        weight = 1.0
        if c.done[job] >= p.learning[job]:
            rising = rising or p.rising[job] == 1
            weight = _force(p.force, job, (c.sent[job] + c.rate[job] * ahead) / p.burst[job])
        if weight != x.weight[k]:
            x.weight[k] = weight
            reweigh(net, k, weight - x.listed[k])
            x.listed[k] = weight
    return rising


@inlined
def _force(force: Floats, job: int, ratio: float) -> float:
    """Return the weight at a bytes ratio, straight between the points that are known."""
    last = force.shape[1] - 1
    at = min(ratio, 1.0) * last
    below = min(int(at), last - 1)
    weight: float = force[job, below] + (force[job, below + 1] - force[job, below]) * (at - below)
    return weight


@compiled
def _set_rates(p: Phases, c: Course, x: Sharing, net: Links) -> float:
    """Share the links among all that send; return when the first phase ends."""
    if net.tally[SHORT] > 0:
        fill(x, net)
    following: float = NEVER
    for i in range(x.tally[ACTIVE]):
        k = x.active[i]
        job = p.job[k]
        c.rate[job] = x.level[k] * x.weight[k] if net.tally[SHORT] > 0 else x.ceiling[k]
        c.end[job] = c.scale[NOW] + c.left[job] / c.rate[job]
        following = min(following, c.end[job])
    return following


@inlined
def _serve(p: Phases, c: Course, x: Sharing, net: Links, until: float) -> None:
    time = until - c.scale[NOW]
    for i in range(x.tally[ACTIVE]):
        k = x.active[i]
        job = p.job[k]
        _carry(c, net, k, job, min(c.rate[job] * time, c.left[job]))
    for i in range(net.tally[SHORT]):
        _mark(p, c, net, net.short[i], time)
    c.scale[NOW] = until


@compiled
def _carry(c: Course, net: Links, k: int, job: int, size: float) -> None:
    c.left[job] -= size
    c.sent[job] += size
    c.carried[job] += size
    for e in range(net.class_first[k], net.class_first[k + 1]):
        c.link_carried[net.class_link[e]] += size * net.coefficient[e]


@compiled
def _mark(p: Phases, c: Course, net: Links, m: int, time: float) -> None:
    """Count the time for which a link is oversubscribed, and the packets that a full one marks."""
    c.link_over[m] += time
    flows = 0.0
    for i in range(net.link_first[m], net.link_first[m] + net.users[m]):
        flows += net.coefficient[net.entry_at[i]] * c.rate[p.job[net.member[i]]]
    if flows < SERVED * net.capacity[m]:
        return
    part = (1.0 - 1.0 / net.load[m]) * time / c.scale[PACKET_BYTES]
    c.link_marks[m] += flows * part
    for i in range(net.link_first[m], net.link_first[m] + net.users[m]):
        job = p.job[net.member[i]]
        c.iteration[job, MARKS] += net.coefficient[net.entry_at[i]] * c.rate[job] * part


@compiled
def _begin_phase(p: Phases, c: Course, x: Sharing, net: Links, job: int, seed: int) -> None:
    """Start a job's phase; a phase without bytes ends at once."""
    k, now = c.phase[job], c.scale[NOW]
    if k == p.first[job]:
        c.iteration[job, SENT_FIRST] = now
        c.iteration[job, COMMUNICATION] = 0.0
        c.iteration[job, MARKS] = 0.0
    if p.fresh[k] == 1:
        c.sent[job] = 0.0
    c.phase_began[job] = now
    c.left[job] = p.size[k]
    c.rate[job] = 0.0
    if p.size[k] == 0.0:
        _pass_on(p, c, job, seed)
        return
    x.active[x.tally[ACTIVE]] = k
    x.tally[ACTIVE] += 1
    x.weight[k] = x.listed[k] = 0.0
    list_class(net, k)


@compiled
def _end_phase(p: Phases, c: Course, x: Sharing, net: Links, place: int, seed: int) -> None:
    """Remove a phase from those being sent, with its bytes left by rounding."""
    k = x.active[place]
    _carry(c, net, k, p.job[k], c.left[p.job[k]])
    reweigh(net, k, -x.listed[k])
    strike_class(net, k)
    x.tally[ACTIVE] -= 1
    for i in range(place, x.tally[ACTIVE]):
        x.active[i] = x.active[i + 1]
    _pass_on(p, c, p.job[k], seed)


@compiled
def _pass_on(p: Phases, c: Course, job: int, seed: int) -> None:
    """Start a job's computation after a phase, and set the time of its next phase."""
    k, now = c.phase[job], c.scale[NOW]
    c.iteration[job, COMMUNICATION] += now - c.phase_began[job]
    number = c.done[job] * (p.first[job + 1] - p.first[job]) + (k - p.first[job]) + 1
    scale = _scale(p.noise[job], seed, job, number)
    if k + 1 < p.first[job + 1]:
        c.phase[job] = k + 1
        begin = now + p.gap[k + 1] * scale
    else:
        c.phase[job] = p.first[job]
        lead = p.lead[job] * scale
        start = _start_next(p, c, job, now + p.gap[p.first[job]] * scale - lead)
        if p.most[job] >= 0 and c.done[job] >= p.most[job]:
            return
        begin = max(start + lead, now)
    c.tally[EVENTS] = push(c.keys, c.codes, c.tally[EVENTS], begin, job)


@compiled
def _start_next(p: Phases, c: Course, job: int, end: float) -> float:
    """Log the iteration that ends; return when the next one starts: then, or in the job's next slot."""
    row = c.tally[LOGGED]
    c.tally[LOGGED] += 1
    c.iteration[job, ENDED] = end
    for column in range(c.log.shape[1]):
        c.log[row, column] = c.iteration[job, column]
    c.log_job[row] = job
    c.done[job] += 1
    if c.done[job] == p.wanted[job]:
        c.tally[UNFINISHED] -= 1
    start = end
    if p.slot[job] > 0.0:
        start += _wait(p, c, job, end)
    c.iteration[job, STARTED] = start
    return start


@compiled
def _wait(p: Phases, c: Course, job: int, end: float) -> float:
    """Return a job's wait for its slot; if it is late, its group moves to later slots instead."""
    group = p.group[job]
    anchor = c.anchor[group] if group >= 0 else 0.0
    late = (end - p.begin[job] - anchor) % p.slot[job]
    early = p.slot[job] - late
    if min(late, early) <= p.tolerance[job]:
        return 0.0
    c.realigned[job] += 1
    if group >= 0 and late <= early:
        c.anchor[group] += late
        return 0.0
    return float(early)


@compiled
def _scale(noise: float, seed: int, job: int, number: int) -> float:
    """Return the factor on a stretch of computing by noise; deterministic in its arguments."""
    if noise == 0.0:
        return 1.0
    word = mix(mix(mix(np.uint64(seed)) + np.uint64(job)) + np.uint64(number))
    first = (float(word >> np.uint64(11)) + 0.5) * (1.0 / 9007199254740992.0)
    second = float(mix(word) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
    normal = np.sqrt(-2.0 * np.log(first)) * np.cos(2.0 * np.pi * second)
    return max(0.0, float(1.0 + noise * normal))
