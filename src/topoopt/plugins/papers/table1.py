"""Table 1: what can switch light, and how long it takes to do so."""

from topoopt.base.progress import Progress
from topoopt.catalog import OpticalSwitch, optical_switches
from topoopt.pages import Series
from topoopt.plugins.papers.figure import Figure, Row, StudySettings, description

TEXT = description("table1")
OVERHEAD = 0.1
"""Share of the time that may go into rewiring where the break-even is stated."""
COMPARED = {
    "ports": "ports",
    "time": "reconfiguration_s",
    "least-loss": "insertion_loss_low_db",
    "most-loss": "insertion_loss_high_db",
}
"""Columns that stand beside published values."""


def table1(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the catalogue of optical switches beside the published table, and what follows for a job."""
    switches = optical_switches()
    rows = {switch.name: _row(switch) for switch in switches}
    kept_s = tuple(10.0 ** (tenths / 4) for tenths in range(-36, 21))
    duty = [
        Series(row.name, kept_s, tuple(max(0.0, 1 - row.reconfiguration_s / kept) for kept in kept_s))
        for row in switches
    ]
    return TEXT.figure(
        rows.values(),
        [
            TEXT.comparison(name, rows[switch][COMPARED[name]], switch, name=switch)
            for first, *others in (("ports",), ("time",), ("least-loss", "most-loss"))
            for switch in TEXT.compared[first]["published"]
            for name in (first, *others)
            if switch in TEXT.compared[name]["published"]
        ],
        [TEXT.chart("ports", rows.values()), TEXT.chart("duty", (), *duty)],
        overhead=OVERHEAD,
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
