"""Layers that differ hold and send what their own parts do."""

from dataclasses import replace

import pytest

from topoopt.transformers import Configuration, communications, rank_parameters
from topoopt.workloads.transformer import count_parameters, find_transformer


@pytest.mark.parametrize(
    "name", ["nemotron-3-nano", "qwen3-next-80b-a3b", "granite-4.0-h-tiny", "llama4-maverick"]
)
def test_stages_hold_every_parameter_once(name: str) -> None:
    model = replace(find_transformer(name), mtp_layers=0)
    one = Configuration(tp=1, pp=2, dp=1, global_batch=2, sequence=4096)
    held = sum(rank_parameters(model, one, stage).total for stage in range(2))
    twice = model.vocabulary * model.hidden * model.tied  # a tied table is on both ends
    assert held == count_parameters(model).total + twice


def test_each_part_of_a_layer_has_its_collectives() -> None:
    model = find_transformer("nemotron-3-nano")
    one = Configuration(tp=2, pp=1, dp=1, ep=2, global_batch=1, sequence=4096)
    sent = [row for row in communications(model, one) if row.kind == "tp" and row.direction == "forward"]
    counts = {row.part: row.count for row in sent}
    assert (counts["attention"], counts["recurrence"], counts["feed-forward"]) == (6, 23, 23)


def test_tokens_go_to_experts_in_their_width() -> None:
    model = find_transformer("nemotron-3-super")
    one = Configuration(tp=1, pp=1, dp=2, ep=2, global_batch=2, sequence=4096)
    dispatch = next(row for row in communications(model, one) if row.part == "dispatch")
    assert dispatch.message_bytes == 4096 * 22 * 1024 * 2


def test_heads_of_a_recurrence_are_exchanged_for_tokens() -> None:
    model = find_transformer("nemotron-3-nano")
    one = Configuration(tp=1, pp=1, dp=1, cp=2, global_batch=1, sequence=4096)
    rows = [row for row in communications(model, one) if row.part == "into a recurrence"]
    assert [row.count for row in rows] == [23, 23]
    assert rows[0].message_bytes == 2048 * (2 * 4096 + 2 * 8 * 128 + 64) * 2
