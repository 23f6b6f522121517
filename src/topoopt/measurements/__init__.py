"""Measured runs: reading them, predicting them, and fitting constants to them."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.measurements.collectives import ACCURACY as ACCURACY
    from topoopt.measurements.collectives import CollectiveTimes as CollectiveTimes
    from topoopt.measurements.collectives import collective_sizes as collective_sizes
    from topoopt.measurements.collectives import collectives_of_table as collectives_of_table
    from topoopt.measurements.collectives import with_nvls as with_nvls
    from topoopt.measurements.fit import ERROR_KINDS as ERROR_KINDS
    from topoopt.measurements.fit import EVERYTHING as EVERYTHING
    from topoopt.measurements.fit import CalibrationFit as CalibrationFit
    from topoopt.measurements.fit import Constant as Constant
    from topoopt.measurements.fit import Error as Error
    from topoopt.measurements.fit import Errors as Errors
    from topoopt.measurements.fit import errors_by as errors_by
    from topoopt.measurements.fit import errors_json as errors_json
    from topoopt.measurements.fit import fit_constants as fit_constants
    from topoopt.measurements.fit import held_out as held_out
    from topoopt.measurements.fit import percent_off as percent_off
    from topoopt.measurements.run_table import MeasuredRuns as MeasuredRuns
    from topoopt.measurements.run_table import NotScored as NotScored
    from topoopt.measurements.run_table import Row as Row
    from topoopt.measurements.run_table import RunColumns as RunColumns
    from topoopt.measurements.run_table import TableRow as TableRow
    from topoopt.measurements.run_table import number as number
    from topoopt.measurements.run_table import read_run_table as read_run_table
    from topoopt.measurements.run_table import text as text
    from topoopt.measurements.run_table import whole as whole

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
