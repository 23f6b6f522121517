"""How long cables are: racks of servers in rows, switches and panels in the middle of the room, trays above."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class RoomLayout:
    """Where servers stand. The defaults are assumptions, and meant to be looked at.

    Servers fill racks, racks fill rows, one after the other. What servers are joined through (switches, panels)
    stands in the middle of the room. A cable goes up to a tray, along the row and across the rows, down again, and
    is a little longer than that.

    Attributes
    ----------
    servers_per_rack : int
        Four servers of eight accelerators draw some 40 kW, what a rack cooled by air can take.
    racks_per_row : int
    rack_width_m, row_pitch_m : float
        From rack to rack of a row, and from row to row with the aisle between them.
    rise_m : float
        From the middle of a rack to the tray above it.
    slack_m : float
        Of both ends together.
    within_rack_m : float
        Of a cable between two servers of one rack.
    """

    servers_per_rack: int = 4
    racks_per_row: int = 16
    rack_width_m: float = 0.6
    row_pitch_m: float = 3.0
    rise_m: float = 2.0
    slack_m: float = 1.0
    within_rack_m: float = 2.0

    def __post_init__(self) -> None:
        if self.servers_per_rack < 1 or self.racks_per_row < 1:
            raise InvalidInput(
                "room layout: servers_per_rack and racks_per_row must be at least 1, got "
                f"{self.servers_per_rack} and {self.racks_per_row}"
            )


USUAL_ROOM = RoomLayout()


def lengths_to_middle_m(servers: int, room: RoomLayout = USUAL_ROOM) -> Floats:
    """Return the cable from each server to the middle of the room, shape (servers,).

    Examples
    --------
    One rack: up and down 2 m each, and a meter of slack. Four racks stand 0.3 and 0.9 m from the middle.

    >>> lengths_to_middle_m(4).tolist(), lengths_to_middle_m(16)[::4].tolist()
    ([5.0, 5.0, 5.0, 5.0], [5.9, 5.3, 5.3, 5.9])
    """
    x_m, y_m = _places(servers, room)
    return np.round(_vertical_m(room) + np.abs(x_m) + np.abs(y_m), 6)


def mean_between_servers_m(servers: int, room: RoomLayout = USUAL_ROOM) -> float:
    """Return the mean cable between two different servers.

    Examples
    --------
    Two racks side by side: of seven other servers three are in the own rack (2 m), four in the next (5.6 m).

    >>> round(mean_between_servers_m(8), 4), round((3 * 2 + 4 * 5.6) / 7, 4), mean_between_servers_m(1)
    (4.0571, 4.0571, 2.0)
    """
    if servers < 2:
        return room.within_rack_m
    x_m, y_m = _places(servers, room)
    rack = np.arange(servers) // room.servers_per_rack
    alike = float(
        (np.bincount(rack).astype(float) ** 2).sum()
    )  # ordered pairs of one rack, each with itself too
    pairs = float(servers) ** 2
    apart_m = (pairs - alike) * _vertical_m(room) + _sum_of_distances(x_m) + _sum_of_distances(y_m)
    return (apart_m + (alike - servers) * room.within_rack_m) / (pairs - servers)


def _places(servers: int, room: RoomLayout) -> tuple[Floats, Floats]:
    """Return where each server stands: along the rows and across them, from the middle of the room."""
    rack = np.arange(servers) // room.servers_per_rack
    racks = -(-servers // room.servers_per_rack)
    wide, rows = min(racks, room.racks_per_row), -(-racks // room.racks_per_row)
    x_m = (rack % room.racks_per_row - (wide - 1) / 2) * room.rack_width_m
    y_m = (rack // room.racks_per_row - (rows - 1) / 2) * room.row_pitch_m
    return x_m.astype(np.float64), y_m.astype(np.float64)


def _vertical_m(room: RoomLayout) -> float:
    return 2 * room.rise_m + room.slack_m


def _sum_of_distances(at_m: Floats) -> float:
    """Return the distances of all ordered pairs, added up."""
    ordered = np.sort(at_m)
    count = len(ordered)
    return float(2 * ((2 * np.arange(count) - count + 1) * ordered).sum())
