"""Table 1: what can switch light, and how long it takes to do so."""

from topoopt.hardware import OpticalSwitch, optical_switches
from topoopt.report import LineChart, Series
from topoopt.reproduction.figure import Comparison, Figure, Progress, Row, StudySettings

TITLE = "Optical switching technologies: ports, time to rewire, loss"
ORIGIN = "table of optical technologies, from memory of the paper, unconfirmed"
OVERHEAD = 0.1
"""Share of the time that may go into rewiring where the break-even is stated."""

PUBLISHED_PORTS = {
    "patch-panel": (1008, 1008),
    "3d-mems": (384, 384),
    "piezo": (576, 576),
    "2d-mems": (300, 300),
    "silicon-photonics": (256, 256),
    "rotornet": (64, 128),
    "tunable-lasers": (128, 128),
    "plzt": (16, 16),
}
PUBLISHED_TIMES_S = {
    "3d-mems": (10e-3, 10e-3),
    "piezo": (10e-3, 25e-3),
    "2d-mems": (11.5e-6, 11.5e-6),
    "silicon-photonics": (900e-9, 900e-9),
    "rotornet": (10e-6, 10e-6),
    "tunable-lasers": (3.8e-9, 3.8e-9),
    "plzt": (10e-9, 10e-9),
}
"""Of a patch panel the table says "minutes", which is no number to compare with."""
PUBLISHED_LOSSES_DB = {
    "patch-panel": (0.5, 0.5),
    "3d-mems": (1.5, 2.7),
    "2d-mems": (10.0, 20.0),
    "silicon-photonics": (3.7, 3.7),
    "rotornet": (2.0, 2.0),
    "tunable-lasers": (7.0, 13.0),
}


def table1(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the catalogue of optical switches beside the published table, and what follows for a job."""
    switches = optical_switches()
    known = {row.name: row for row in switches}
    comparisons = [
        *(_ports(known[name], *ends) for name, ends in PUBLISHED_PORTS.items()),
        *(_time(known[name], *ends) for name, ends in PUBLISHED_TIMES_S.items()),
        *(row for name, ends in PUBLISHED_LOSSES_DB.items() for row in _losses(known[name], *ends)),
    ]
    return Figure(
        "table1",
        TITLE,
        tuple(_row(row) for row in switches),
        tuple(comparisons),
        (_ports_against_time(switches), _duty(switches)),
        (
            "The values are those of the hardware catalogue, which was typed from the published table: that they "
            "agree says that nothing was mistyped, not that anybody measured.",
            "A range is one of devices; the catalogue has the slower, smaller end where one number is needed. For "
            'patch panels the table says "minutes": 5 minutes are assumed.',
            f"The break-even is how long a wiring must stay good for rewiring to cost {OVERHEAD:.0%} of the time. A "
            "job whose traffic is the same in every iteration keeps one wiring for hours, so even a robot that "
            "takes minutes suits it, and that is the cheapest technology with the most ports.",
        ),
    )


def _row(switch: OpticalSwitch) -> Row:
    low, high = switch.insertion_loss_db or (None, None)
    return {
        "technology": switch.name,
        "ports": switch.ports,
        "reconfiguration_s": switch.reconfiguration_s,
        "insertion_loss_low_db": low,
        "insertion_loss_high_db": high,
        "break_even_s": switch.reconfiguration_s / OVERHEAD,
    }


def _ports(switch: OpticalSwitch, low: float, high: float) -> Comparison:
    return Comparison(f"{switch.name}: ports", "ports", switch.ports, low, high, 0.0, ORIGIN)


def _time(switch: OpticalSwitch, low: float, high: float) -> Comparison:
    what = f"{switch.name}: time to rewire"
    return Comparison(what, "s", switch.reconfiguration_s, low, high, 1e-9, ORIGIN)


def _losses(switch: OpticalSwitch, low: float, high: float) -> tuple[Comparison, ...]:
    """Compare both ends of a range of loss, each with its own."""
    assert switch.insertion_loss_db is not None, f"{switch.name} has a published loss"
    ends = dict(zip(("least", "most"), zip(switch.insertion_loss_db, (low, high), strict=True), strict=True))
    if low == high:
        ends.pop("most")
    return tuple(
        Comparison(f"{switch.name}: {end} loss", "dB", ours, there, there, 0.0, ORIGIN)
        for end, (ours, there) in ends.items()
    )


def _ports_against_time(switches: tuple[OpticalSwitch, ...]) -> LineChart:
    return LineChart(
        "table1-ports",
        "Ports of a switch against the time that it takes to rewire",
        "time to rewire, s",
        "ports of the largest device",
        tuple(
            Series(row.name, (row.reconfiguration_s,), (float(row.ports),), joined=False) for row in switches
        ),
        x_log=True,
        y_log=True,
    )


def _duty(switches: tuple[OpticalSwitch, ...]) -> LineChart:
    kept_s = tuple(10.0 ** (tenths / 4) for tenths in range(-36, 21))
    return LineChart(
        "table1-duty",
        "Share of the time in which the network carries traffic",
        "a wiring stays good for, s",
        "share of the time",
        tuple(
            Series(row.name, kept_s, tuple(max(0.0, 1 - row.reconfiguration_s / kept) for kept in kept_s))
            for row in switches
        ),
        x_log=True,
    )
