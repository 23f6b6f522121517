"""The table of studies: every figure of the paper that can be made again, by its name on the command line."""

from collections.abc import Mapping
from dataclasses import dataclass

from topoopt.errors import unknown_name
from topoopt.reproduction import (
    fig10,
    fig11,
    fig12,
    fig13,
    fig14,
    fig15,
    fig16,
    fig17,
    mixnet,
    motivation,
    table1,
)
from topoopt.reproduction.figure import Study


@dataclass(frozen=True, slots=True)
class StudyEntry:
    """One figure of the paper.

    Attributes
    ----------
    study : function
        Makes the figure anew.
    shown : str
        What the paper's figure shows, in a sentence or two.
    """

    title: str
    study: Study
    shown: str


STUDIES: Mapping[str, StudyEntry] = {
    # In the order of the paper.
    "motivation": StudyEntry(
        motivation.TITLE,
        motivation.motivation,
        "What the paper begins with: communication takes a growing share of an iteration as a job gets more "
        "accelerators; a full-bisection network at 400 Gb/s is dear; the traffic of the models, as heat maps; and two "
        "naive ways to wire 16 servers of three interfaces, one good for large flows only, one for short ones only.",
    ),
    "fig10": StudyEntry(
        fig10.TITLE,
        fig10.fig10,
        "The price of the network against the number of servers, for d=4 at 100 Gb/s and d=8 at 200 Gb/s. TopoOpt "
        "on patch panels is the cheapest of the fabrics that can be rewired; on average an OCS costs 1.33 times "
        "as much, and a full-bisection fat-tree of the same bandwidth 3.2 times.",
    ),
    "fig11": StudyEntry(
        fig11.TITLE,
        fig11.fig11,
        "Six models, each alone on 128 servers of d=4, at 10 to 200 Gb/s an interface, on every fabric. TopoOpt is up "
        "to 3.4 times as fast as a fat-tree of equal cost, and close to the ideal switch except where tables are "
        "exchanged.",
    ),
    "fig12": StudyEntry(
        fig12.TITLE,
        fig12.fig12,
        "DLRM with an embedding table on every server, at ever larger batches: the all-to-all of the tables grows with "
        "the batch while the AllReduce stays. At small batches TopoOpt is as fast as the ideal switch; at the "
        "largest its forwarding makes it slower than the fat-tree.",
    ),
    "fig13": StudyEntry(
        fig13.TITLE,
        fig13.fig13,
        "The same study, counting bytes: how many times the bytes demanded travel over links, because servers forward.",
    ),
    "fig14": StudyEntry(
        fig14.TITLE,
        fig14.fig14,
        "The cumulative distribution of path lengths between servers for d=4 and d=8.",
    ),
    "fig15": StudyEntry(
        fig15.TITLE,
        fig15.fig15,
        "The cumulative distribution of bytes over links, AllReduce and forwarded model-parallel traffic together.",
    ),
    "fig16": StudyEntry(
        fig16.TITLE,
        fig16.fig16,
        "A cluster of 432 servers, d=8, shared by 5 to 27 jobs of 16 servers: mean and 99th percentile of iteration "
        "times. On TopoOpt every job has links of its own, so that its time does not depend on the load; on "
        "fat-trees jobs slow each other down.",
    ),
    "fig17": StudyEntry(
        fig17.TITLE,
        fig17.fig17,
        "DLRM and BERT on circuits that follow the traffic, with and without servers that forward, against the time "
        "that a change of circuits takes. A switch of 10 ms is far worse than wiring once; one of microseconds "
        "catches up; forwarding helps where changes are slow.",
    ),
    "table1": StudyEntry(
        table1.TITLE,
        table1.table1,
        "The optical switching technologies, from patch panels that take minutes to lasers that take nanoseconds.",
    ),
    "mixnet": StudyEntry(
        mixnet.TITLE,
        mixnet.mixnet,
        "Of another paper, MixNet (Liao et al., SIGCOMM 2025): mixtures of experts on a fat-tree, on circuits that "
        "follow the experts' all-to-alls inside regions, on rails, and on TopoOpt wired once, at 100 to 800 Gb/s. "
        "MixNet is near the fat-tree at a fraction of its price; TopoOpt is the slowest, by far for LLaMA-MoE.",
    ),
}


def find_study(name: str) -> StudyEntry:
    """Return a study by its name; an unknown one is an :class:`~topoopt.errors.InvalidInput` with the nearest."""
    if name not in STUDIES:
        raise unknown_name("figure", name, [*STUDIES, "all", "list"])
    return STUDIES[name]
