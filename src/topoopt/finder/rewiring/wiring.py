"""The nouns Patch and Wiring: which port of which server is joined to which, on which panel."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from topoopt.base.errors import InvalidInput, check_known
from topoopt.topologies import LINK_MODELS

End = tuple[int, int]
"""Server and interface."""
Port = tuple[str, int, int]
"""Side of the port (``both`` of a cable, else ``out`` or ``in``), server, interface."""


@dataclass(frozen=True, slots=True, order=True)
class Patch:
    """A connection through a panel: a cable (duplex), or a fiber from ``src`` to ``dst`` (directed)."""

    src: int
    src_interface: int
    dst: int
    dst_interface: int

    @property
    def ends(self) -> tuple[End, End]:
        """Both ends, that at ``src`` first."""
        return (self.src, self.src_interface), (self.dst, self.dst_interface)


@dataclass(frozen=True)
class Wiring:
    """What is patched through the panels of a room; panels may be optical switches.

    Panel k takes the interfaces ``k·w .. k·w + w - 1`` of every server, where w is ``interfaces_per_panel``, and
    joins ports of its own only. The paper's fabric has w = 1: interface i of every server goes to switch i of d.
    Where cables cannot be divided among panels like that, as around an odd number of servers, two interfaces
    have to share a panel.

    Attributes
    ----------
    links : str
        ``duplex``: a patch is a cable and takes one port at either end. ``directed``: a patch is a fiber and takes
        the outgoing side of one port and the incoming side of another.
    degree : int
        Interfaces of a server.
    patches : tuple of Patch
        Sorted; of a cable the lower server is ``src``.
    dead : frozenset of ports
        Ports that do not work: nothing can be plugged in.

    Raises
    ------
    InvalidInput
        If a port is taken twice, is dead or does not exist, or a patch would leave its panel.
    """

    links: str
    degree: int
    interfaces_per_panel: int = 1
    patches: tuple[Patch, ...] = ()
    dead: frozenset[Port] = frozenset()

    def __post_init__(self) -> None:
        check_known("links", self.links, LINK_MODELS)
        if not 1 <= self.interfaces_per_panel <= self.degree:
            raise InvalidInput(
                f"interfaces per panel: must be in 1..{self.degree}, got {self.interfaces_per_panel}"
            )
        taken: set[Port] = set()
        for patch in self.patches:
            self._check(patch)
            for port in self.ports(patch):
                if port in taken or port in self.dead:
                    what = "is dead" if port in self.dead else "is taken twice"
                    raise InvalidInput(f"wiring: port {port[2]} of server {port[1]} {what} ({port[0]})")
                taken.add(port)

    @property
    def panels(self) -> int:
        """How many panels there are."""
        return -(-self.degree // self.interfaces_per_panel)

    @cached_property
    def taken(self) -> dict[Port, Patch]:
        """The patch in each port that is in use."""
        return {port: patch for patch in self.patches for port in self.ports(patch)}

    def panel_of(self, patch: Patch) -> int:
        """Return the panel through which a patch goes."""
        return patch.src_interface // self.interfaces_per_panel

    def ports(self, patch: Patch) -> tuple[Port, Port]:
        """Return the two ports that a patch takes."""
        out, into = ("both", "both") if self.links == "duplex" else ("out", "in")
        return (out, patch.src, patch.src_interface), (into, patch.dst, patch.dst_interface)

    def joined(self, one: End, other: End) -> Patch:
        """Return the patch from one end to another; of a cable the lower one first."""
        return Patch(*min(one, other), *max(one, other)) if self.links == "duplex" else Patch(*one, *other)

    def interfaces_of(self, panel: int) -> range:
        """Return the interfaces of every server that go to a panel."""
        first = panel * self.interfaces_per_panel
        return range(first, min(first + self.interfaces_per_panel, self.degree))

    def touching(self, servers: Iterable[int]) -> tuple[Patch, ...]:
        """Return the patches that end at one of the servers."""
        ends = set(servers)
        return tuple(patch for patch in self.patches if patch.src in ends or patch.dst in ends)

    def changed(self, removed: Iterable[Patch], made: Iterable[Patch]) -> "Wiring":
        """Return the wiring without some patches and with others.

        Raises
        ------
        InvalidInput
            If what is to be removed is not there, or a port is not free.
        """
        gone = set(removed)
        missing = gone - set(self.patches)
        if missing:
            raise InvalidInput(f"wiring: there is no {min(missing)} to remove")
        kept = [patch for patch in self.patches if patch not in gone]
        return replace(self, patches=tuple(sorted([*kept, *made])))

    def _check(self, patch: Patch) -> None:
        for interface in (patch.src_interface, patch.dst_interface):
            if not 0 <= interface < self.degree:
                raise InvalidInput(f"wiring: interfaces are 0..{self.degree - 1}, {patch} names {interface}")
        if (
            patch.src_interface // self.interfaces_per_panel
            != patch.dst_interface // self.interfaces_per_panel
        ):
            raise InvalidInput(f"wiring: {patch} joins ports of two panels")
        if patch.src == patch.dst or (self.links == "duplex" and patch.src > patch.dst):
            raise InvalidInput(f"wiring: {patch}: expected two servers, of a cable the lower one first")
