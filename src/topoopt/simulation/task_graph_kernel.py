"""Edges by the task that they leave, each once: two passes of counting, compiled.

Arrays
------
before, after : int32 (edges,)     the two tasks of an edge, in any order
first : int64 (tasks+1,)           filled: where the edges out of each task begin
by_after : int32 (edges,)          room to work in: numbers of edges in order of ``after``
successor : int32 (edges,)         filled, ascending for each task
place : int64 (tasks+1,)           room to work in
"""

from topoopt.base.arrays import Ints, Ints32
from topoopt.base.kernel import concurrent_entry


@concurrent_entry
def sort_edges(
    before: Ints32, after: Ints32, first: Ints, by_after: Ints32, successor: Ints32, place: Ints
) -> int:
    """Fill the edges in order of (before, after), equal ones once; return how many there are."""
    tasks, edges = len(first) - 1, len(before)
    for task in range(tasks + 1):
        place[task] = 0
        first[task] = 0
    for e in range(edges):
        place[after[e] + 1] += 1
        first[before[e] + 1] += 1
    for task in range(tasks):
        place[task + 1] += place[task]
        first[task + 1] += first[task]
    for e in range(edges):
        by_after[place[after[e]]] = e
        place[after[e]] += 1
    for task in range(tasks):
        place[task] = first[task]
    for i in range(edges):
        e = by_after[i]
        successor[place[before[e]]] = after[e]
        place[before[e]] += 1
    kept, begin = int(first[0]), int(first[0])
    for task in range(tasks):
        end, row = first[task + 1], kept
        for i in range(begin, end):
            if kept == row or successor[i] != successor[kept - 1]:
                successor[kept] = successor[i]
                kept += 1
        begin = end
        first[task + 1] = kept
    return kept
