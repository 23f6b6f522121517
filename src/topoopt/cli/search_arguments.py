"""The arguments of finder and search."""

from dataclasses import dataclass
from typing import Annotated

from typer import Option

SEARCH, FINDER = "Search", "Topology finder"


@dataclass(frozen=True, slots=True)
class FinderArguments:
    """Rules of the topology finder; ``None`` where a flag was not given."""

    preset: Annotated[
        str | None,
        Option(
            metavar="default|paper|released",
            rich_help_panel=FINDER,
            help="All rules as in the paper, or as in the authors' code (also costs and search); flags win.",
        ),
    ] = None
    degree_split: Annotated[
        str | None,
        Option(
            metavar="RULE",
            rich_help_panel=FINDER,
            help="Ports for AllReduce rings: proportional to the bytes, all-to-allreduce, or by-group, without a ring "
            "of all servers; proportional.",
        ),
    ] = None
    strides: Annotated[
        str | None,
        Option(
            metavar="best|nearest|lower-bound", rich_help_panel=FINDER, help="Which rings get links; best."
        ),
    ] = None
    damping: Annotated[
        str | None,
        Option(
            metavar="halving|c/(c+1)",
            rich_help_panel=FINDER,
            help="What demand is left on a pair that got a link; halving.",
        ),
    ] = None
    routing: Annotated[
        str | None,
        Option(
            metavar="RULE",
            rich_help_panel=FINDER,
            help="Of model-parallel traffic: coin-change, k-shortest, ecmp or single-shortest; coin-change.",
        ),
    ] = None
    seed: Annotated[
        int | None, Option(metavar="N", help="Of all chance; 0. Equal seeds give equal answers.")
    ] = None


@dataclass(frozen=True, slots=True)
class SearchArguments:
    """How long and in which way to search; ``None`` where a flag was not given."""

    search: Annotated[
        str | None,
        Option(
            metavar="alternating|released",
            rich_help_panel=SEARCH,
            help="Strategy and topology in turn, or the topology inside the chain; alternating.",
        ),
    ] = None
    budget: Annotated[
        int | None,
        Option(
            metavar="N", rich_help_panel=SEARCH, help="Strategies to try, over all chains and rounds; 4000."
        ),
    ] = None
    baseline_budget: Annotated[
        int | None, Option(metavar="N", rich_help_panel=SEARCH, help="The same for each baseline; 500.")
    ] = None
    chains: Annotated[
        int | None, Option(metavar="N", rich_help_panel=SEARCH, help="Independent searches; 2.")
    ] = None
    rounds: Annotated[
        int | None, Option(metavar="N", rich_help_panel=SEARCH, help="Most alternations of a chain; 4.")
    ] = None
    alpha: Annotated[
        float | None,
        Option(metavar="X", rich_help_panel=SEARCH, help="Slower by Δms is accepted with exp(-X·Δms); 1."),
    ] = None
    processes: Annotated[
        int | None,
        Option(
            metavar="N", rich_help_panel=SEARCH, help="For the chains; the answer is the same. 0 chooses."
        ),
    ] = None
