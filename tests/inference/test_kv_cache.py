"""Keys and values: bytes a token, copies, windows, pages, what a replica holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.inference import (
    EngineSettings,
    Parallelism,
    accelerator_weight_bytes,
    cache_bytes_per_token,
    cache_capacity,
    cache_copies,
    request_cache_bytes,
)
from topoopt.inference.memory import cache_pages
from topoopt.workloads.transformer import find_transformer


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("llama3-70b", 327680),
        ("llama3-8b", 131072),
        ("deepseek-v3", 70272),
        ("qwen3-8b", 147456),
        ("qwen3-235b-a22b", 192512),
    ],
)
def test_a_token_leaves_so_many_bytes(name: str, expected: int) -> None:
    assert cache_bytes_per_token(find_transformer(name)) == expected
    assert cache_bytes_per_token(find_transformer(name), "fp8") == expected / 2


def test_heads_are_copied_beyond_those_of_keys_and_latents_always() -> None:
    assert cache_copies(find_transformer("qwen3-235b-a22b"), 8) == 2
    assert cache_copies(find_transformer("llama3-70b"), 8) == 1
    assert cache_copies(find_transformer("deepseek-v3"), 8) == 8


@pytest.mark.parametrize(
    ("prompt", "measured"), [(16384, 6.31e9), (4096, 1.58e9), (2048, 7.89e8), (1024, 3.94e8)]
)
def test_what_mooncake_moved_for_qwen3_235b_on_eight_accelerators(prompt: int, measured: float) -> None:
    """Published by Mooncake with sglang, decimal; two copies, as there are 4 heads of keys."""
    model = find_transformer("qwen3-235b-a22b")
    assert request_cache_bytes(model, prompt) * cache_copies(model, 8) == pytest.approx(measured, rel=0.006)


def test_windows_keep_their_last_tokens_and_states_do_not_grow() -> None:
    windowed, linear = find_transformer("gpt-oss-120b"), find_transformer("qwen3-next-80b-a3b")
    grown = request_cache_bytes(windowed, 8192) - request_cache_bytes(windowed, 4096)
    assert grown == 4096 * cache_bytes_per_token(windowed)
    assert request_cache_bytes(windowed, 100) == 2 * 100 * cache_bytes_per_token(windowed)
    assert request_cache_bytes(linear, 1) > 100 * cache_bytes_per_token(linear)


@given(st.integers(1, 10**6))
def test_pages_hold_all_tokens_and_the_last_is_not_empty(tokens: int) -> None:
    assert 0 <= cache_pages(tokens) * 16 - tokens < 16


def test_a_replica_holds_what_its_weights_leave() -> None:
    model, part, split = find_transformer("llama3-70b"), find_accelerator("h100"), Parallelism(4)
    settings = EngineSettings(weight_precision="fp8")
    found = cache_capacity(model, part, split, settings)
    assert found.bytes_per_accelerator < 0.92 * part.usable_memory_bytes - accelerator_weight_bytes(
        model, split, settings
    )
    assert found.tokens * cache_bytes_per_token(model) <= 4 * found.bytes_per_accelerator
    assert found.requests(4096) == found.tokens // 4096


def test_a_model_without_room_for_keys_is_refused_with_a_remedy() -> None:
    with pytest.raises(InvalidInput, match=r"leave no room for keys and values.*take more tensor"):
        cache_capacity(
            find_transformer("llama3-405b"),
            find_accelerator("h100"),
            Parallelism(8),
            EngineSettings("bf16"),
        )
