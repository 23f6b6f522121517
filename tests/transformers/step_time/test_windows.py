"""Windows shorten the core of attention, and layers with a recurrence have a time that is linear in the sequence."""

from dataclasses import replace

import numpy as np
import pytest

from topoopt.transformers import Configuration, configuration_table, estimate, find_calibration, usual_system
from topoopt.transformers.step_time.attention_time import WINDOW_TILE, allowed_tokens, computed_share
from topoopt.transformers.step_time.shapes import shapes_of
from topoopt.workloads.transformer import TransformerModel, find_transformer


def seconds(model: TransformerModel, sequence: int, global_batch: int = 8) -> float:
    one = Configuration(1, 1, 8, global_batch, sequence)
    times = estimate(model, configuration_table([one]), usual_system("h100"), find_calibration("h100"))
    return float(times.compute_s[0])


def test_a_window_computes_its_keys_and_those_of_a_tile() -> None:
    model = replace(find_transformer("llama3-8b"), window=1024, window_layers=32)
    ratio = (1024 + WINDOW_TILE) / 8192
    assert computed_share(shapes_of(model), np.array(8192.0)) == pytest.approx(ratio * (2 - ratio))
    half = replace(model, window_layers=16)
    assert computed_share(shapes_of(half), np.array(8192.0)) == pytest.approx((1 + ratio * (2 - ratio)) / 2)
    chunks = replace(model, chunked=True)
    assert computed_share(shapes_of(chunks), np.array(8192.0)) == pytest.approx(ratio)


def test_a_window_as_long_as_the_sequence_saves_nothing() -> None:
    model = find_transformer("llama3-8b")
    wide = replace(model, window=8192, window_layers=32)
    assert seconds(wide, 8192) == pytest.approx(seconds(model, 8192))
    assert float(computed_share(shapes_of(model), np.array(8192.0))) == 1


def test_windows_save_more_of_longer_sequences() -> None:
    model = find_transformer("llama3-8b")
    narrow = replace(model, window=1024, window_layers=32)
    saved = [1 - seconds(narrow, length) / seconds(model, length) for length in (4096, 32768)]
    assert 0 < saved[0] < saved[1]


def test_a_recurrence_is_linear_in_the_sequence() -> None:
    model = replace(find_transformer("qwen3-next-80b-a3b"), mixers="M", experts=None)
    whole, halves = seconds(model, 65536), seconds(model, 32768, global_batch=16)
    assert whole == pytest.approx(halves, rel=0.02)  # longer products are a little better
    with_attention = replace(model, mixers="*")
    assert seconds(with_attention, 65536) > 1.2 * seconds(with_attention, 32768, global_batch=16)


def test_model_flops_count_what_a_window_lets_through() -> None:
    tokens = np.array(8192.0)
    oss = find_transformer("gpt-oss-120b")
    assert allowed_tokens(shapes_of(oss), tokens) == pytest.approx((8192 + 128) / 2)
    scout = find_transformer("llama4-scout")
    assert allowed_tokens(shapes_of(scout), tokens) == pytest.approx(8192)
    hybrid = find_transformer("nemotron-3-nano")
    assert allowed_tokens(shapes_of(hybrid), tokens) == pytest.approx(8192 * 6 / 52)
