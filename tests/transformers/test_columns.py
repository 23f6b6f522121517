"""Rows of tables that are columns: some of them, and several tables together."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.transformers.configuration_table import join_rows, take_rows


@dataclass(frozen=True, eq=False)
class Inner:
    rate: Floats


@dataclass(frozen=True, eq=False)
class Outer:
    size: Floats
    by_kind: Floats
    inner: Inner
    limit: float


TABLE = Outer(np.arange(4.0), np.arange(8.0).reshape(2, 4), Inner(np.arange(4.0) + 10), 5.0)


def test_rows_are_taken_by_index_and_by_mask_from_every_column_and_part() -> None:
    for rows in (np.array([3, 1]), np.array([False, True, False, True])):
        some = take_rows(TABLE, rows)
        assert some.size.tolist() == TABLE.size[rows].tolist()
        assert some.by_kind.tolist() == TABLE.by_kind[:, rows].tolist()
        assert some.inner.rate.tolist() == (TABLE.size[rows] + 10).tolist()
        assert some.limit == 5.0


def test_joined_rows_are_those_of_all_tables_in_order() -> None:
    assert join_rows([Inner(np.array([1.0, 2.0])), Inner(np.array([3.0]))]).rate.tolist() == [1.0, 2.0, 3.0]
