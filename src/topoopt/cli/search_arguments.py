"""The arguments of finder and search, and what a preset, a job file and flags make of them together."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from topoopt.errors import InvalidInput, unknown_name

if TYPE_CHECKING:
    from topoopt.job import JobRequest
    from topoopt.search import SearchOptions

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


_RENAMED = {"search": "mode", "alpha": "alpha_per_ms"}


def search_options(
    request: "JobRequest", finder: FinderArguments, search: SearchArguments = SearchArguments()
) -> "tuple[SearchOptions, JobRequest]":
    """Return the options, and the request with what the preset says about costs.

    A preset is the lowest layer, a job file's ``search`` goes above it, flags above both.

    Raises
    ------
    InvalidInput
        For an unknown preset, key or name, or a value of the wrong kind.
    """
    from topoopt.search import SearchOptions, preset

    in_file = dict(request.search)
    named = str(in_file.pop("preset", "default"))
    chosen = dict(preset(named if finder.preset is None else finder.preset))
    known = asdict(SearchOptions())
    costs = {key: chosen.pop(key) for key in list(chosen) if key not in known}
    if request.traffic:  # bytes are bytes: there is nothing to count otherwise
        costs = {}
    place = request.files[0] if request.files else "job file"
    said = {**_checked(in_file, known, place), **_flags(finder), **_flags(search)}
    return SearchOptions(**{**chosen, **said}), replace(
        request, settings={**costs, **request.settings}, search={}
    )


def _flags(arguments: FinderArguments | SearchArguments) -> dict[str, Any]:
    return {
        _RENAMED.get(item.name, item.name): getattr(arguments, item.name)
        for item in fields(arguments)
        if item.name != "preset" and getattr(arguments, item.name) is not None
    }


def _checked(said: Mapping[str, Any], known: Mapping[str, Any], place: str) -> dict[str, Any]:
    kinds = {int: "an integer", float: "a number", str: "text", bool: "true or false"}
    for key, value in said.items():
        if key not in known:
            raise unknown_name(f"{place}: search: key", key, [*known, "preset"])
        kind = type(known[key])
        allowed = (int, float) if kind is float else kind
        if isinstance(value, bool) != (kind is bool) or not isinstance(value, allowed):
            raise InvalidInput(f"{place}: search.{key}: expected {kinds[kind]}, got {value!r}")
    return dict(said)
