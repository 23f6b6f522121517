"""Expert loads: shares sum to 1, Zipf is Zipf, files are refused with the line, and time makes loads even."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.transformers import (
    ExpertLoads,
    expert_layers,
    find_loads,
    loads_at,
    loads_over_iterations,
    read_loads,
    taken_shares,
    token_matrix,
    uniform_loads,
    zipf_loads,
)
from topoopt.workloads.transformer import Experts, TransformerModel


def model(experts: Experts | None, layers: int = 4) -> TransformerModel:
    return TransformerModel(
        "toy",
        "mixtral",
        layers=layers,
        hidden=64,
        heads=4,
        ffn=128,
        vocabulary=1000,
        sequence=128,
        kv_heads=4,
        head_dim=16,
        experts=experts,
    )


EIGHT = model(Experts(count=8, per_token=2, ffn=128))
LATE = model(Experts(count=4, per_token=1, ffn=128, first_dense_layers=1, every=2), layers=5)


def test_layers_without_experts_have_no_loads() -> None:
    assert expert_layers(LATE) == (2, 4)
    assert uniform_loads(LATE).shares.tolist() == [[0.25] * 4] * 2


@given(st.floats(0.0, 4.0), st.integers(0, 2**32))
def test_shares_of_zipf_are_the_law_in_some_order(exponent: float, seed: int) -> None:
    loads = zipf_loads(EIGHT, exponent, seed)
    law = np.arange(1, 9) ** -exponent
    np.testing.assert_allclose(np.sort(loads.shares, axis=1)[:, ::-1], np.tile(law / law.sum(), (4, 1)))


def test_the_busiest_expert_differs_by_layer_and_seed() -> None:
    many = model(Experts(count=8, per_token=2, ffn=128), layers=32)
    assert len(set(zipf_loads(many, 1.2, 0).shares.argmax(axis=1).tolist())) > 4
    assert not np.array_equal(zipf_loads(many, 1.2, 0).shares, zipf_loads(many, 1.2, 1).shares)
    np.testing.assert_array_equal(zipf_loads(many, 1.2, 7).shares, zipf_loads(many, 1.2, 7).shares)


def test_loads_wander_and_grow_more_uniform() -> None:
    first = zipf_loads(EIGHT, 1.5, seed=3)
    spread = [np.log(loads.shares).std() for loads in islice(loads_over_iterations(first, seed=3), 3001)]
    assert spread[0] == pytest.approx(np.log(first.shares).std())
    assert np.mean(spread[2900:]) < 0.35 * spread[0]
    assert len(set(np.round(spread[:50], 9))) == 50
    one = loads_at(first, 40, seed=3)
    np.testing.assert_array_equal(one.shares, loads_at(first, 40, seed=3).shares)
    np.testing.assert_allclose(one.shares.sum(axis=1), 1.0)


def test_uniform_loads_stay_uniform() -> None:
    np.testing.assert_allclose(loads_at(uniform_loads(EIGHT), 100).shares, 1 / 8)


@given(st.sampled_from([1, 2, 4, 8]), st.floats(1.0, 1e6), st.floats(0.0, 3.0))
def test_no_token_is_lost_on_the_way_to_its_experts(ep: int, tokens: float, exponent: float) -> None:
    matrix = token_matrix(zipf_loads(EIGHT, exponent).shares, ep, tokens, 2)
    assert matrix.shape == (4, ep, ep)
    np.testing.assert_allclose(matrix.sum(axis=2), 2 * tokens)


def test_experts_drop_what_exceeds_their_capacity() -> None:
    tight = Experts(count=4, per_token=1, ffn=128, capacity_factor=1.25)
    shares = np.array([[0.7, 0.1, 0.1, 0.1]])
    np.testing.assert_allclose(taken_shares(ExpertLoads((0,), shares), tight), [[0.3125, 0.1, 0.1, 0.1]])


def test_ep_must_divide_the_experts() -> None:
    with pytest.raises(InvalidInput, match=r"ep: 3 does not divide 8 experts; allowed: 1, 2, 4, 8"):
        token_matrix(uniform_loads(EIGHT).shares, 3, 1.0, 2)


def test_a_file_has_counts_or_shares_by_iteration(tmp_path: Path) -> None:
    rows = ["iteration,layer,expert,share"]
    rows += [
        f"{i},{layer},{e},{e + 1 + i}" for i in (0, 100) for layer in expert_layers(LATE) for e in range(4)
    ]
    path = tmp_path / "loads.csv"
    path.write_text("\n".join(rows))
    found = read_loads(path, LATE)
    assert sorted(found) == [0, 100]
    np.testing.assert_allclose(found[0].shares[1], np.array([1, 2, 3, 4]) / 10)
    np.testing.assert_array_equal(find_loads(str(path), LATE, 100).shares, found[100].shares)
    with pytest.raises(InvalidInput, match=r"no iteration 90 among 2; the nearest is 100"):
        find_loads(str(path), LATE, 90)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an empty file"),
        ("layer,expert,share", "got the header alone"),
        ("layer,expert,load\n2,0,1", 'column 3: unknown name "load"; Known: expert, iteration, layer, share'),
        ("layer,expert,share\n2,0", "line 2: expected 3 cells as in the header, got 2"),
        ("layer,expert,share\n3,0,1", r"line 2: layer 3 of toy has no experts; those are 2, 4"),
        ("layer,expert,share\n2,4,1", r"line 2: expert: toy has 0..3, got 4"),
        ("layer,expert,share\n2,0,-1", r'line 2: share: expected a number >= 0 and <= 1e\+18, got "-1"'),
        ("layer,expert,share\n2,0,1.7e308", r'share: expected a number >= 0 and <= 1e\+18, got "1.7e308"'),
        ("layer,expert,share\n2,x,1", 'line 2: expert: expected an integer >= 0, got "x"'),
        ("layer,expert,share\n2,0,1\n\n2,0,1", "line 4: layer 2, expert 0 stands twice"),
        ("layer,expert,share\n2,0,1", r"layer 2, expert 1 is missing \(7 of 8\)"),
    ],
)
def test_a_mistake_in_a_file_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "loads.csv"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=message) as caught:
        read_loads(path, LATE)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["zipf:", "zipf:x", "zipf:-1", "zipf:nan", "even", "uniform:2", "no-such.csv"]
)
def test_a_misspelled_word_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="loads"):
        find_loads(text, EIGHT)


def test_a_dense_model_has_no_loads() -> None:
    with pytest.raises(InvalidInput, match="toy has no experts"):
        find_loads("uniform", model(None))


def test_loads_that_do_not_sum_to_one_are_refused() -> None:
    with pytest.raises(InvalidInput, match="layer 3: shares must be >= 0 and sum to 1"):
        ExpertLoads((2, 3), np.array([[0.5, 0.5], [0.5, 0.4]]))
