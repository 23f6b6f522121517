"""Rows of messages add up to what is sent."""

import pytest

from tests.transformers.shapes import PAPER_CONFIGURATION, PAPER_MODEL, SMALL_EXPERTS, small_model
from topoopt.transformers import (
    Configuration,
    communications,
    kind_rows,
    place_ranks,
    rank_rows,
    server_matrix,
    zipf_loads,
)

SENT = communications(PAPER_MODEL, PAPER_CONFIGURATION)


def test_rows_of_all_ranks_and_of_all_kinds_hold_the_same_bytes() -> None:
    model = small_model(SMALL_EXPERTS)
    one = Configuration(tp=2, pp=2, dp=4, ep=4, etp=2, global_batch=16, sequence=64, zero=1)
    sent = communications(model, one, zipf_loads(model))
    of_ranks = sum(row.sent_bytes for rank in range(16) for row in rank_rows(sent, rank))
    of_kinds = sum(row.wire_bytes for row in kind_rows(sent, place_ranks(16, 4)))
    assert of_ranks == pytest.approx(of_kinds)


def test_what_leaves_servers_is_off_the_diagonal() -> None:
    places = place_ranks(32, 4)
    matrix = server_matrix(SENT, places)
    network = sum(row.network_bytes for row in kind_rows(SENT, places))
    assert network == pytest.approx(matrix.sum() - matrix.trace())


def test_a_row_says_how_many_groups_there_are_and_of_which_ranks() -> None:
    rows = {row.kind: row for row in kind_rows(SENT, place_ranks(32, 4))}
    assert (rows["tp"].groups, rows["tp"].size) == (16, 2)
    assert (rows["dp"].groups, rows["dp"].size, rows["dp"].count) == (8, 4, 8)
    assert (rows["pp"].groups, rows["pp"].count) == (48, 3 * 8 * 16)
    assert (rows["embedding"].groups, rows["embedding"].size) == (8, 2)


def test_a_rank_in_the_middle_sends_both_ways() -> None:
    [first] = [row for row in rank_rows(SENT, 0) if row.kind == "pp"]
    [middle] = [row for row in rank_rows(SENT, 8) if row.kind == "pp"]
    assert (first.count, middle.count) == (16, 32)
    assert middle.sent_bytes == 2 * first.sent_bytes == 2 * 8 * first.message_bytes
