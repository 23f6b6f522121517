"""A comparison of networks: each gives a row; networks that cannot be evaluated are skipped with the reason."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Generic, NamedTuple, TypeVar

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import Infeasible, TopoOptError
from topoopt.base.units import format_bandwidth
from topoopt.catalog.networks import labeled
from topoopt.schema.files import Amount

Case = TypeVar("Case")
Row = TypeVar("Row")
Skipped = tuple[tuple[str, str], ...]
"""Labels of omitted networks, each with the reason."""


@dataclass(frozen=True, eq=False)
class NetworkRow:
    """A network in a comparison; each verb adds its measurements.

    Attributes
    ----------
    fabric : str
        Name in :data:`topoopt.catalog.NETWORKS`.
    description : str
        The fabric and where its bandwidth comes from.
    server_bandwidth_bps : float
        Total bandwidth of the links of a server, per direction.
    variant : str
        Label that distinguishes the network from others of its fabric, such as ``priced``.
    cost_usd, power_w : float or None
        Price and watts of the network; None where those of a part are unknown.
    cost_parts_usd : mapping from a kind of part to three numbers
        Low, listed and high dollars of all such parts.
    """

    fabric: str
    description: str
    server_bandwidth_bps: float
    variant: str = field(default="", kw_only=True)
    cost_usd: Amount | None = field(default=None, kw_only=True)
    power_w: Amount | None = field(default=None, kw_only=True)
    cost_parts_usd: Mapping[str, tuple[Amount, Amount, Amount]] = field(default_factory=dict, kw_only=True)

    @property
    def label(self) -> str:
        """The fabric, with the variant in parentheses."""
        return labeled(self.fabric, self.variant)

    @property
    def name(self) -> str:
        """The label with the bandwidth of a server."""
        return f"{self.label}, {format_bandwidth(self.server_bandwidth_bps)}"

    def network_json(self) -> dict[str, Any]:
        """Return the network as plain values, without the fields added by verbs."""
        return {**{one.name: getattr(self, one.name) for one in fields(NetworkRow)}, "label": self.label}


class Table(NamedTuple, Generic[Row]):
    """The rows of a comparison, in the requested order, and the skipped networks."""

    rows: tuple[Row, ...]
    skipped: Skipped = ()

    def or_infeasible(self, what: str) -> "Table[Row]":
        """Return the table; raise Infeasible with the reasons if it has no rows."""
        if not self.rows:
            raise Infeasible(
                f"{what}: no network is left: {'; '.join(': '.join(one) for one in self.skipped)}"
            )
        return self


def compare(
    networks: Iterable[Case],
    evaluate: Callable[[Case], Row],
    label: Callable[[Case], str] = str,
    *,
    required: bool | Callable[[Case], bool] = False,
    on_progress: Progress = silent,
    stage: str = "networks",
) -> Table[Row]:
    """Evaluate every network; omit, with the reason, networks that cannot be built, priced or used.

    Parameters
    ----------
    networks
        Names, sizings or points, whatever ``evaluate`` takes.
    evaluate : function of a network to its row
        May raise :class:`topoopt.base.errors.TopoOptError`.
    label : function of a network to the words by which an answer names it
    required : bool or function of a network to bool
        Whether its error is one of the whole comparison.
    stage : str
        Name under which progress is reported; ``{}`` is replaced by the label.
    """
    cases = tuple(networks)
    rows: list[Row] = []
    skipped: list[tuple[str, str]] = []
    for done, case in enumerate(cases):
        on_progress(stage.format(label(case)), done, len(cases))
        try:
            rows.append(evaluate(case))
        except TopoOptError as error:
            if required(case) if callable(required) else required:
                raise
            skipped.append((label(case), str(error)))
    return Table(tuple(rows), tuple(skipped))
