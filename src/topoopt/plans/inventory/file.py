"""The inventory file: YAML, TOML or JSON in, with the line of every mistake; YAML out, a thing on a line."""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, count
from pathlib import PurePath
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field

from topoopt.base.errors import Infeasible, InvalidInput, shown
from topoopt.base.limits import MOST
from topoopt.plans.inventory.inventory import Inventory
from topoopt.schema.files import (
    Count,
    Strict,
    parse_json,
    parse_toml,
    parse_yaml,
    read_text,
    validated,
    with_line,
)

_FORM = r"^[A-Za-z0-9][A-Za-z0-9 ._:/+-]{0,63}$"


def _name(text: str) -> str:
    if re.match(_FORM, text) is None:
        raise ValueError(f"expected letters, digits, spaces and ._:/+-, at most 64, got {shown(text)}")
    return text


Word = Annotated[str, AfterValidator(_name), Field(json_schema_extra={"pattern": _FORM})]
"""A name that every consumer can take: no comma, no quote, no line end."""
_HOST_FORM = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


def _host(text: str) -> str:
    if re.match(_HOST_FORM, text) is None:
        raise ValueError(f"expected letters, digits and ._-, at most 64, got {shown(text)}")
    return text


Host = Annotated[str, AfterValidator(_host), Field(json_schema_extra={"pattern": _HOST_FORM})]
"""A name that a file can have, too."""
_MAC_FORM = r"^([0-9a-f]{2}:){5}[0-9a-f]{2}$"


def _mac(text: str) -> str:
    if re.match(_MAC_FORM, text) is None:
        example = "02:00:00:00:00:01"
        raise ValueError(f"expected six pairs of hexadecimal digits such as {example}, got {shown(text)}")
    return text


Mac = Annotated[str, AfterValidator(_mac), Field(json_schema_extra={"pattern": _MAC_FORM})]
_Unit = Annotated[int, Field(ge=1, le=1000)]


def _of_name(value: object) -> object:
    """Convert a bare name to an interface with that name."""
    return {"name": value} if isinstance(value, str) else value


class InterfacePart(Strict):
    """A port of a network card."""

    name: Word = Field(description="as the server's system calls it, such as ens1f0")
    nic: Word | None = Field(
        default=None, description="the card; where not given, the name without f0, f1, …"
    )
    port: Count | None = Field(
        default=None, description="of the card; where not given, that of the name, else 0"
    )
    mac: Mac | None = None
    rdma_device: Word | None = Field(default=None, description="as RDMA programs call it, such as mlx5_0")


class ServerPart(Strict):
    """A server. Rank r of a plan is on the r-th."""

    name: Host
    rack: Word | None = None
    position: _Unit | None = Field(default=None, description="rack units from the bottom")
    interfaces: list[Annotated[InterfacePart, BeforeValidator(_of_name)]] | None = Field(
        default=None, description="those of the fabric, in the order of the plan's; a name alone will do"
    )


class PanelPart(Strict):
    """A patch panel or optical switch."""

    name: Host
    kind: Literal["manual", "polatis", "calient", "sonic-ocs"] = "manual"
    ports: Annotated[int, Field(ge=1, le=MOST["servers"])] | None = Field(
        default=None, description="numbered from 1; where not given, as many as its cables need"
    )
    rack: Word | None = None
    position: _Unit | None = None
    port_names: list[Word] = Field(
        default_factory=list,
        description="what the device calls ports 1, 2, …, where not by the rule of its kind",
    )


class CablePart(Strict):
    """A cable between an interface and a port of a panel, as in the file."""

    server: Host
    interface: Word
    panel: Host
    port: Annotated[int, Field(ge=1)]
    id: Word | None = None
    side: Literal["both", "out", "in"] = Field(
        default="both", description="of fibers one way: out is the one on which the interface sends"
    )


class InventoryFile(Strict):
    """Inventory as far as it was written down."""

    servers: list[ServerPart] = Field(default_factory=list)
    panels: list[PanelPart] = Field(default_factory=list)
    cables: list[CablePart] = Field(default_factory=list)


_LONGEST_HOST = 64
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/+-]*")
_NOT_TEXT = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
_HEAD = """\
# Which server, interface, panel, panel port and cable is which. Change names, racks, kinds, ports and cables to those
# of your room, and give the file back: topoopt export PLAN --inventory FILE. Rank r of a plan is on the r-th server.
# Panels are manual, polatis, calient or sonic-ocs; positions are rack units from the bottom. Whatever is left out is
# made up by the same rule that made this file.
"""


@dataclass(frozen=True)
class GivenInventory:
    """An inventory as given by a user, and its source.

    Attributes
    ----------
    content : InventoryFile
        All of it, or a part.
    place : str
        The file; nothing where it is no file.
    text : str
        Content of the file.
    """

    content: InventoryFile = field(default_factory=InventoryFile)
    place: str = ""
    text: str = ""

    def named(self, names: Sequence[str]) -> "GivenInventory":
        """Return it with these server names, if it lists none.

        Characters not allowed in host names become hyphens. Names that are then empty or not unique get
        default names.
        """
        hosts = [re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:_LONGEST_HOST] for name in names]
        if self.content.servers or not all(hosts) or len(set(hosts)) < len(hosts):
            return self
        servers = [ServerPart(name=host) for host in hosts]
        return replace(self, content=self.content.model_copy(update={"servers": servers}))

    def with_spare(self) -> "GivenInventory":
        """Return it with an additional, unlisted server, and panels with ports for it."""
        names = {server.name for server in self.content.servers}
        free = chain(["spare"], (f"spare{number}" for number in count(2)))
        name = next(name for name in free if name not in names)
        panels = [part.model_copy(update={"ports": None, "port_names": []}) for part in self.content.panels]
        servers = [*self.content.servers, ServerPart(name=name)]
        return replace(self, content=self.content.model_copy(update={"servers": servers, "panels": panels}))

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Add file and line to errors in the given inventory."""
        try:
            yield
        except (InvalidInput, Infeasible) as error:
            if not self.place:
                raise
            raise type(error)(with_line(str(error), self.text, self.place)) from None


def read_inventory(path: str | os.PathLike[str]) -> GivenInventory:
    """Return an inventory file; TOML or JSON by its suffix, else YAML.

    Raises
    ------
    InvalidInput
        In one line: file, line, key, allowed values, given value.
    """
    place = os.fspath(path)
    text = read_text(place)
    parsers = {".json": parse_json, ".toml": parse_toml}
    document = parsers.get(PurePath(place).suffix.lower(), parse_yaml)(text, place)
    if isinstance(document, dict) and "schema" in document:
        raise InvalidInput(
            f"{place}: is a plan or the like, expected an inventory; topoopt export PLAN writes one, format inventory"
        )
    with GivenInventory(place=place, text=text).placed():
        content = validated(InventoryFile, document, place)
    return GivenInventory(content, place, text)


def given_inventory(inventory: Inventory) -> GivenInventory:
    """Return a whole inventory as one that is given."""
    return GivenInventory(validated(InventoryFile, inventory_mapping(inventory), "inventory"))


def inventory_mapping(inventory: Inventory) -> dict[str, Any]:
    """Return an inventory as the document of its file, without unknown values."""
    document: dict[str, Any] = _known(asdict(inventory))
    return document


def inventory_text(inventory: Inventory) -> str:
    """Return an inventory as YAML: read again, it is the same inventory, and written again the same text.

    Examples
    --------
    >>> from topoopt.plans.inventory import completed
    >>> from topoopt.finder.rewiring import Wiring
    >>> print(inventory_text(completed(Wiring("duplex", 1), 2)).splitlines()[7])
    panels:
    """
    lines = [_HEAD.rstrip()]
    for name, rows in inventory_mapping(inventory).items():
        lines += [f"{name}:", *(f"- {_flow(row)}" for row in rows)]
    return "\n".join(lines) + "\n"


def _known(value: Any) -> Any:
    if isinstance(value, Mapping):
        plain = {key: inner for key, inner in value.items() if inner not in ("", ())}
        if plain.get("side") == "both":
            del plain["side"]
        return {key: _known(inner) for key, inner in plain.items()}
    return [_known(inner) for inner in value] if isinstance(value, list | tuple) else value


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    plain = isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT
    return str(value) if plain else json.dumps(value)


Made = TypeVar("Made")


def fitting(given: GivenInventory, degree: int, make: Callable[[int | None], Made]) -> Made:
    """Return the result for the fewest interfaces of a server on a panel, or for the first number that fits.

    Parameters
    ----------
    make : function of the interfaces per panel, None being the fewest with which the links can be divided
        Raises Infeasible where ends of a link are on different panels of the inventory.

    Raises
    ------
    InvalidInput, Infeasible
        As ``make`` does for the fewest, with the file and the line of the inventory.
    """
    with given.placed():
        try:
            return make(None)
        except Infeasible as error:
            refusal = error
        for width in range(2, degree + 1):
            try:
                return make(width)
            except Infeasible:
                continue
        raise refusal
