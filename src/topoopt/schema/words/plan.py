"""The words of finder and search, and all that a plan takes."""

import os
from typing import Annotated, TypedDict

from topoopt.schema.words.cost import OwnershipWords, PricingWords
from topoopt.schema.words.job import JobWords
from topoopt.schema.words.transformer import TrainingWords
from topoopt.schema.words.word import Word, panel


@panel("Topology finder")
class FinderRuleWords(TypedDict, total=False):
    """Rules of the topology finder."""

    preset: Annotated[str, Word("default|paper|released")]
    """All rules as in the paper, or as in the authors' code (also costs and search); flags win."""
    degree_split: Annotated[str, Word("RULE")]
    """Ports for AllReduce rings: proportional to the bytes, all-to-allreduce, by-group, without a ring of all
    servers, or by-group-but-one, by-group-but-two, which leave so many for tensor parallelism; proportional."""
    strides: Annotated[str, Word("best|nearest|lower-bound")]
    """Which rings get links; best."""
    damping: Annotated[str, Word("halving|c/(c+1)")]
    """What demand is left on a pair that got a link; halving."""
    routing: Annotated[str, Word("RULE")]
    """Of model-parallel traffic: coin-change, k-shortest, ecmp or single-shortest; coin-change."""
    wirings: Annotated[str, Word("strides|any")]
    """How servers are wired, all and in groups: along strides, as in the paper, or by what is the fastest; any."""
    wiring: Annotated[str | os.PathLike[str], Word("FAMILY|FILE")]
    """This one in place of the choice: lifted, kautz, torus, expander ..., or a file of topoopt topology, of which
    every cable stays where it is."""


class FinderWords(FinderRuleWords, total=False):
    """Rules of the topology finder, and its chance."""

    seed: int
    """Of all chance; 0. Equal seeds give equal answers."""


@panel("Search")
class SearchWords(TypedDict, total=False):
    """How long and in which way to search over operators."""

    search: Annotated[str, Word("alternating|released")]
    """Strategy and topology in turn, or the topology inside the chain; alternating."""
    starts: Annotated[str, Word("many|uniform")]
    """Begin at split tables and layers on several wirings each, or at uniform splits on one; many."""
    budget: int
    """Strategies to try, over all chains and rounds; 4000."""
    baseline_budget: int
    """The same for each baseline; 500."""
    chains: int
    """Independent searches; 2."""
    rounds: int
    """Most alternations of a chain; 4."""
    alpha: Annotated[float, Word("X")]
    """Slower by Δms is accepted with exp(-X·Δms); 1."""
    processes: int
    """For the chains; the answer is the same. 0 chooses."""


class TrafficWords(JobWords, TrainingWords, FinderWords, total=False):
    """All words that :func:`topoopt.traffic` takes."""


class PlanWords(JobWords, TrainingWords, FinderWords, SearchWords, PricingWords, OwnershipWords, total=False):
    """All words that :func:`topoopt.plan` takes."""
