"""``topoopt cost``: what the network costs and draws on every fabric, and whether it can be built."""

from typing import TYPE_CHECKING, Annotated

import typer

from topoopt.cli.cost_arguments import BoughtArguments, CountedArguments, NetworkArguments, OpticsArguments
from topoopt.cli.spread import spread
from topoopt.cli.word_list import listed
from topoopt.errors import InvalidInput, TopoOptError, unknown_name

if TYPE_CHECKING:
    from topoopt.cli.cost_inputs import Network
    from topoopt.cli.cost_rows import Offer
    from topoopt.cost import Accounting, PowerTable, PriceTable


@spread
def cost(
    network: NetworkArguments,
    bought: BoughtArguments,
    counted: CountedArguments,
    optics: OpticsArguments,
    bill: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Fabrics whose bill is printed, or all or none; the first."),
    ] = None,
    ratios: Annotated[
        bool,
        typer.Option("--ratios", help="Also the two published cost ratios under every way of counting."),
    ] = False,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write every line of every bill, as .csv or .parquet.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Price the network on every fabric: bill of materials, watts, what it is built of, optical technologies."""
    from topoopt.cli.cost_inputs import asked_accounting, asked_network, change_interval_s
    from topoopt.cli.cost_report import print_cost
    from topoopt.cli.cost_rows import Answer, cost_document, write_bills
    from topoopt.cli.progress import progress
    from topoopt.cli.render import print_json, terminal
    from topoopt.cli.table_file import check_table
    from topoopt.cost import (
        accounting_sweep,
        find_power,
        find_prices,
        ports_needed,
        sharing_interfaces,
        suited_prices,
        technology_rows,
    )

    check_table(out, "--out")
    rule, power = asked_accounting(counted), find_power(bought.power)
    named = None if bought.prices is None else find_prices(bought.prices)
    with progress("choosing rings"):
        asked = asked_network(network)
    cluster, interval_s = asked.cluster, change_interval_s(optics)
    prices = named or find_prices(suited_prices(cluster.link_bandwidth_bps))
    offers, skipped = _offers(asked, bought, counted, rule, prices, power)
    shown = _shown(bill, offers)
    sharing = asked.interfaces_per_device or sharing_interfaces(cluster.servers, bought.shards, cluster.links)
    technologies = technology_rows(
        cluster.servers,
        cluster.degree,
        cluster.link_bandwidth_bps,
        prices,
        change_interval_s=interval_s,
        average_hops=asked.average_hops,
        overhead=optics.overhead,
        ports=ports_needed(cluster.servers, bought.shards, sharing),
    )
    sweep = accounting_sweep(prices) if ratios else ()
    answer = Answer(
        asked, bought, rule, prices, power, offers, skipped, technologies, sweep, interval_s, optics.overhead
    )
    document = cost_document(answer)
    if out is not None:
        write_bills(out, offers)
    if as_json:
        print_json(document)
    else:
        print_cost(terminal(), document, shown)


def _offers(
    asked: "Network",
    bought: BoughtArguments,
    counted: CountedArguments,
    rule: "Accounting",
    prices: "PriceTable",
    power: "PowerTable",
) -> "tuple[list[Offer], list[tuple[str, str]]]":
    """Return an offer for each fabric; those that were not named one by one may be skipped, with the reason."""
    from topoopt.cli.cost_inputs import asked_fabrics, asked_options, asked_running
    from topoopt.cli.cost_rows import make_offer
    from topoopt.cost import SPEED_ITEMS, check_fits_a_panel

    names, one_by_one = asked_fabrics(bought)
    options, running = asked_options(bought, asked.cluster), asked_running(counted)
    for item in SPEED_ITEMS:
        if prices.rows_behind(item, 0.0):  # a list of one's own need not have every part
            prices.unit_usd(item, asked.cluster.link_bandwidth_bps)
    offers, skipped = [], []
    for name in names:
        check_fits_a_panel(name, asked.cluster.servers, bought.shards, asked.cluster.links)
        try:
            offers.append(make_offer(name, asked, bought, rule, prices, power, options, running))
        except TopoOptError as error:
            if one_by_one:
                raise
            skipped.append((name, str(error)))
    if not offers:
        raise InvalidInput(skipped[0][1])
    return offers, skipped


def _shown(bill: str | None, offers: "list[Offer]") -> tuple[str, ...]:
    """Return the fabrics whose bill is printed."""
    names = [offer.bill.fabric for offer in offers]
    if bill is None:
        return (names[0],)
    wanted = listed(bill, "--bill", "fabrics with commas, all or none") or ()
    if wanted == ("all",):
        return tuple(names)
    for word in wanted:
        if word not in names:
            raise unknown_name("--bill", word, [*names, "all", "none"])
    return wanted
