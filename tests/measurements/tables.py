"""Tables of training runs that tests write by hand."""

from collections.abc import Mapping, Sequence

from topoopt.measurements.run_table import RunTable, table_rows
from topoopt.measurements.training import Runs
from topoopt.measurements.training.run import run_of


def runs_of(rows: Sequence[Mapping[str, str]]) -> Runs:
    """Return the runs of rows under the usual names of columns."""
    return RunTable("", tuple(rows[0]), table_rows(rows)).read(run_of)
