"""The arrays of jobs that share links: their phases, the state of each job, and the log of iterations.

All arrays are C-contiguous and int64 or float64, so that the kernel compiles once.
"""

from typing import NamedTuple

from topoopt.base.arrays import Floats, Ints

EVENTS, LOGGED, UNFINISHED = range(3)
NOW, PACKET_BYTES, QUANTUM = range(3)

STARTED, SENT_FIRST, COMMUNICATION, ENDED, MARKS = range(5)
"""Columns of the log of iterations, in s; and ECN marks."""


class Phases(NamedTuple):
    """Phases of the jobs; each is a class of the fluid engine, with its links and its maximum rate.

    ================ ======= ============== ==============================================================
    name             dtype   shape          meaning
    ================ ======= ============== ==============================================================
    first            int64   (jobs+1,)      phases of a job are consecutive
    job              int64   (phases,)
    size             float64 (phases,)      bytes
    gap              float64 (phases,)      s of computing since the phase before ended
    fresh            int64   (phases,)      1 where MLTCP counts bytes anew
    lead             float64 (jobs,)        s of computing before a job's first phase that are of its iteration
    burst            float64 (jobs,)        most bytes between two places where they are counted anew
    force            float64 (jobs, points) weight by bytes ratio, from 0 to 1 in equal steps
    rising           int64   (jobs,)        whether that changes
    learning         int64   (jobs,)        iterations with weight 1
    noise            float64 (jobs,)        standard deviation of gaps, as a part of them
    begin            float64 (jobs,)        s; when the first iteration starts
    slot             float64 (jobs,)        s between the starts that a job is held to; 0: it is not
    tolerance        float64 (jobs,)        s by which it may miss them
    group            int64   (jobs,)        of which one that is late makes the others later; -1: none
    most             int64   (jobs,)        iterations after which a job ends; -1: never
    wanted           int64   (jobs,)        iterations before which the run does not end
    ================ ======= ============== ==============================================================
    """

    first: Ints
    job: Ints
    size: Floats
    gap: Floats
    fresh: Ints
    lead: Floats
    burst: Floats
    force: Floats
    rising: Ints
    learning: Ints
    noise: Floats
    begin: Floats
    slot: Floats
    tolerance: Floats
    group: Ints
    most: Ints
    wanted: Ints


class Course(NamedTuple):
    """Everything that is known between two events.

    ================ ======= ============== ==============================================================
    name             dtype   shape          meaning
    ================ ======= ============== ==============================================================
    phase            int64   (jobs,)        the phase that a job sends, or will send next
    left             float64 (jobs,)        bytes of it
    sent             float64 (jobs,)        bytes since they were counted anew
    rate             float64 (jobs,)        bytes/s
    end              float64 (jobs,)        s; when the phase ends at this rate
    phase_began      float64 (jobs,)        s
    iteration        float64 (jobs, 5)      the row of the log that is being filled
    done             int64   (jobs,)        iterations
    carried          float64 (jobs,)        bytes sent since the start
    realigned        int64   (jobs,)        how often a job waited for its slot, or its group for it
    anchor           float64 (jobs,)        s; by how much later than at first the slots of each group are
    keys, codes      f8, i8  (jobs+1,)      heap: when computing jobs begin to send
    link_carried     float64 (links,)       bytes
    link_over        float64 (links,)       s for which those who send could take more than there is
    link_marks       float64 (links,)       packets marked
    log              float64 (room, 5)      iterations that are done, in order; the first ``tally[LOGGED]``
    log_job          int64   (room,)
    tally            int64   (3,)           ``EVENTS``, ``LOGGED``, ``UNFINISHED`` jobs
    scale            float64 (3,)           ``NOW``, ``PACKET_BYTES``, ``QUANTUM`` of the bytes ratio
    ================ ======= ============== ==============================================================
    """

    phase: Ints
    left: Floats
    sent: Floats
    rate: Floats
    end: Floats
    phase_began: Floats
    iteration: Floats
    done: Ints
    carried: Floats
    realigned: Ints
    anchor: Floats
    keys: Floats
    codes: Ints
    link_carried: Floats
    link_over: Floats
    link_marks: Floats
    log: Floats
    log_job: Ints
    tally: Ints
    scale: Floats
