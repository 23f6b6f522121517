"""``topoopt topology``: the best rings for so many servers and ports, and how far apart they leave the servers."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from topoopt.errors import InvalidInput

if TYPE_CHECKING:
    from topoopt.routing import CoinTable

SHOWN_DISTANCES = 12


def topology(
    servers: Annotated[int, typer.Option(metavar="N", show_default=False, help="Servers.")],
    degree: Annotated[
        int | None, typer.Option(metavar="N", help="Ports of a server; not needed with a list of strides.")
    ] = None,
    links: Annotated[
        str,
        typer.Option(
            metavar="duplex|directed",
            help="A port is a fiber pair to one neighbor, or sends to one and hears another.",
        ),
    ] = "duplex",
    strides: Annotated[
        str,
        typer.Option(
            metavar="best|nearest|lower-bound|LIST",
            help="The rule that chooses the rings, or the strides themselves, such as 1,13.",
        ),
    ] = "best",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Choose the AllReduce rings of all servers, and show the network that they make together."""
    from topoopt.cli.progress import progress
    from topoopt.cli.render import print_json
    from topoopt.routing import coin_change_mod
    from topoopt.topology import stride_offsets

    with progress("choosing strides"):
        chosen = _chosen_strides(servers, degree, links, strides)
        offsets = stride_offsets(servers, chosen, links)
        table = coin_change_mod(servers, offsets)
    facts = {
        "servers": servers,
        "degree": len(offsets) if degree is None else degree,
        "links": links,
        "rule": strides if _listed(strides) is None else "given",
        "strides": list(chosen),
        "diameter": table.diameter,
        "average_hops": table.average_hops,
        # Ordered pairs of servers by distance, as in a plan; from each server it looks the same.
        "hop_histogram": {str(h): servers * count for h, count in enumerate(table.histogram().tolist()) if h},
    }
    if as_json:
        print_json({**facts, "coins": {str(d): list(table.sequence(d)) for d in range(1, servers)}})
    else:
        _print(facts, table)


def _chosen_strides(servers: int, degree: int | None, links: str, strides: str) -> tuple[int, ...]:
    from topoopt.finder import select_permutations
    from topoopt.hardware import ClusterSpec
    from topoopt.topology import stride_offsets

    listed = _listed(strides)
    ClusterSpec(servers, 1 if degree is None else degree, 1e9, links=links)  # refuses what cannot be wired
    if listed is None:
        if degree is None:
            raise InvalidInput("--degree: missing; give the ports of a server, such as 4")
        return select_permutations(servers, degree, links=links, rule=strides)
    ports = len(stride_offsets(servers, listed, links))
    if degree is not None and ports > degree:
        raise InvalidInput(
            f"--strides: {strides} take {ports} {links} ports of a server, got --degree {degree}"
        )
    return listed


def _listed(strides: str) -> tuple[int, ...] | None:
    """Return the strides of a list such as ``1,13``, or None for the name of a rule."""
    if not any(character.isdigit() for character in strides):
        return None
    try:
        listed = tuple(int(word) for word in strides.split(","))
    except ValueError:
        raise InvalidInput(
            f'--strides: expected a rule or numbers with commas, such as 1,13, got "{strides}"'
        ) from None
    if min(listed) < 1:
        raise InvalidInput(f"--strides: a stride must be >= 1, got {min(listed)}")
    return listed


def _print(facts: dict[str, Any], table: "CoinTable") -> None:
    from topoopt.cli.render import counted, print_facts, print_table, print_title, terminal
    from topoopt.report import wiring_words
    from topoopt.topology import stride_offsets

    console = terminal()
    servers, listed = facts["servers"], ", ".join(str(stride) for stride in facts["strides"])
    print_title(console, f"{servers} servers, {counted(facts['degree'], facts['links'] + ' port')} each")
    offsets = stride_offsets(servers, facts["strides"], facts["links"])
    print_facts(
        console,
        [
            ("strides", f"{listed} (rule: {facts['rule']})"),
            ("wiring", wiring_words(servers, offsets, facts["links"])),
            ("diameter", counted(facts["diameter"], "hop")),
            ("average", f"{facts['average_hops']:.3f} hops"),
        ],
    )
    console.print()
    within = 0
    rows = []
    for hops, pairs in facts["hop_histogram"].items():
        within += pairs
        rows.append((hops, str(pairs // servers), f"{within / servers / (servers - 1):.3f}"))
    print_table(console, ("hops", "servers", "within"), rows, numbers=("hops", "servers", "within"))
    console.print()
    shown = range(1, min(servers, SHOWN_DISTANCES + 1))
    coins = [(str(d), " + ".join(str(coin) for coin in table.sequence(d))) for d in shown]
    print_table(console, ("to i +", "by the coins"), coins, numbers=("to i +",))
    if servers - 1 > SHOWN_DISTANCES:
        console.print(f"  … {servers - 1 - SHOWN_DISTANCES} more distances: --json")
