"""Panels and optical circuit switches for a fabric: how many, with how many ports, of which technology."""

from dataclasses import dataclass

from topoopt.catalog import Transceiver, find_optical_switch, optical_switches, transceivers

PANEL = "patch-panel"


@dataclass(frozen=True, slots=True)
class Cabling:
    """How servers are joined to the optical devices of a fabric.

    Attributes
    ----------
    links : str
        ``duplex`` or ``directed``, as a topology has it.
    shards : int
        Parts of the cluster with devices of their own.
    technology : str or None
        Optical technology in place of the usual ones.
    look_ahead : bool
        Whether every panel has a second one, on which the next job is wired.
    interfaces_per_device : int or None
        Interfaces of a server on one device, where the wiring is known.
    """

    links: str = "duplex"
    shards: int = 1
    technology: str | None = None
    look_ahead: bool = True
    interfaces_per_device: int | None = None

    def sharing(self, servers: int) -> int:
        """Return how many interfaces of a server share a device."""
        return self.interfaces_per_device or sharing_interfaces(servers, self.shards, self.links)


@dataclass(frozen=True, slots=True)
class OpticalDevices:
    """Optical devices of one kind.

    Attributes
    ----------
    technology : str
    count : int
        Devices in all, spare panels of look-ahead among them.
    ports : int
        Duplex ports that each needs: a fiber pair for every server's interface that is behind it.
    largest : int
        Ports of the largest device of this technology.
    one_holds_all : bool
        Whether a single such device could hold every interface of every server.
    loss_db : (float, float) or None
        Lowest and highest loss of one connection; None where no source says it.
    """

    technology: str
    count: int
    ports: int
    largest: int
    one_holds_all: bool
    loss_db: tuple[float, float] | None

    @property
    def fits(self) -> bool:
        """Whether the ports needed are no more than the largest device has."""
        return self.ports <= self.largest


def sharing_interfaces(servers: int, shards: int, links: str) -> int:
    """Return how many interfaces of a server share a device: two where a duplex ring of odd length has to fit.

    Examples
    --------
    >>> [sharing_interfaces(128, 1, links) for links in ("duplex", "directed")], sharing_interfaces(129, 1, "duplex")
    ([1, 1], 2)
    """
    sizes = {servers // shards, -(-servers // shards)}
    return 2 if links == "duplex" and any(size % 2 for size in sizes) else 1


def ports_needed(servers: int, shards: int, sharing: int) -> int:
    """Return the duplex ports that one device needs: one for each interface of a server that shares it."""
    return -(-servers // shards) * sharing


def least_shards(servers: int, ports: int, links: str) -> int:
    """Return into how few shards a cluster must be split for devices of so many ports to hold one.

    Examples
    --------
    Half of 1010 servers are an odd number, whose devices need twice the ports.

    >>> least_shards(1000, 576, "duplex"), least_shards(1010, 576, "duplex"), least_shards(1010, 576, "directed")
    (2, 4, 2)
    """
    return next(
        count
        for count in range(1, servers + 1)
        if ports_needed(servers, count, sharing_interfaces(servers, count, links)) <= max(ports, 2)
    )


def optical_devices(
    usual: tuple[str, ...], interfaces: int, servers: int, cabling: Cabling
) -> OpticalDevices:
    """Return the devices that have so many interfaces of every server behind them.

    They are of the technology that the cabling names, else of the first of ``usual`` that is large enough.

    Raises
    ------
    InvalidInput
        If there is no such technology.
    """
    named = usual if cabling.technology is None else (cabling.technology,)
    share = min(cabling.sharing(servers), interfaces)
    ports = ports_needed(servers, cabling.shards, share)
    rows = [find_optical_switch(name) for name in named]
    row = next((row for row in rows if row.ports >= ports), max(rows, key=lambda row: row.ports))
    count = cabling.shards * -(-interfaces // share)
    if cabling.look_ahead and row.name == PANEL:
        count *= 2
    holds_all = servers * interfaces <= row.ports
    return OpticalDevices(row.name, count, ports, row.ports, holds_all, row.insertion_loss_db)


def regional_devices(
    servers: int, interfaces: int, region_servers: int, technology: str | None
) -> OpticalDevices:
    """Return one device for each region, which any of its servers' interfaces can be joined on."""
    row = find_optical_switch("3d-mems" if technology is None else technology)
    ports = min(servers, region_servers) * interfaces
    count = -(-servers // region_servers)
    return OpticalDevices(row.name, count, ports, row.ports, count == 1, row.insertion_loss_db)


def too_many_ports(row: OpticalDevices, servers: int, cabling: Cabling) -> str:
    """Return why the devices do not fit, with what would."""
    ways = [
        f"technology={other.name} has {other.ports}"
        for other in optical_switches()
        if other.ports >= row.ports
        and other.reconfiguration_s <= find_optical_switch(row.technology).reconfiguration_s
    ]
    sharing = cabling.sharing(servers)
    if sharing == 2:
        ways.append("an even number of servers needs half")
    shards = max(
        least_shards(servers, row.largest, cabling.links), -(-servers // max(row.largest // sharing, 1))
    )
    ways.append(f"shards={shards} splits the cluster")
    return (
        f"a device of {row.ports} ports is needed, the largest {row.technology} has {row.largest}; "
        f"{', or '.join(ways)}"
    )


def transceiver_for(bandwidth_bps: float) -> Transceiver | None:
    """Return the catalogue's module of a speed that takes fewest fibers, and of those reaches least far.

    The price lists mean the cheapest module; that is the one of short reach, which can spare least light.
    """
    listed = [row for row in transceivers() if row.bandwidth_bps == bandwidth_bps]
    return min(listed, key=lambda row: (row.fibers, row.reach_m), default=None)


def light_left_db(loss_db: tuple[float, float] | None, module: Transceiver | None) -> float | None:
    """Return what a transceiver can still spare after the worst connection; None where a figure is not known."""
    return None if loss_db is None or module is None else module.loss_budget_db - loss_db[1]
