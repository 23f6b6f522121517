"""The shape of an inventory file: a pydantic model for each part. What is left out is made up by the rule."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from topoopt.base.errors import shown
from topoopt.base.limits import MOST
from topoopt.schema.files import Count, Strict

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
    """A name alone stands for the interface of that name."""
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
    """What joins an interface to a port of a panel."""

    server: Host
    interface: Word
    panel: Host
    port: Annotated[int, Field(ge=1)]
    id: Word | None = None
    side: Literal["both", "out", "in"] = Field(
        default="both", description="of fibers one way: out is the one on which the interface sends"
    )


class InventoryFile(Strict):
    """What there is, as far as somebody has written it down."""

    servers: list[ServerPart] = Field(default_factory=list)
    panels: list[PanelPart] = Field(default_factory=list)
    cables: list[CablePart] = Field(default_factory=list)


def inventory_schema() -> dict[str, Any]:
    """Return the JSON Schema of an inventory file."""
    schema = InventoryFile.model_json_schema()
    interfaces = schema["$defs"]["ServerPart"]["properties"]["interfaces"]
    for branch in interfaces["anyOf"]:
        if "items" in branch:
            branch["items"] = {"anyOf": [{"type": "string"}, branch["items"]]}
    return schema
