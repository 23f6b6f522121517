"""LoRA adapters that are served together: bytes by hand, and steps that read each adapter once."""

from dataclasses import replace

import numpy as np
import pytest

from topoopt.catalog import find_accelerator
from topoopt.inference.deployment import EngineSettings, Parallelism
from topoopt.inference.memory import adapter_bytes, adapter_shape
from topoopt.inference.step.constants import Constants
from topoopt.inference.step.law import adapters_s, decode_step_s, prompt_step_s
from topoopt.inference.step.replica import Replica, replica
from topoopt.schema.files import packaged_rows
from topoopt.workloads.transformer import TransformerModel, find_transformer

LLAMA = find_transformer("llama3-8b")
DEEPSEEK = find_transformer("deepseek-v3")
NONE = EngineSettings()
MANY = replace(NONE, adapters=32, adapter_rank=16)


def one_replica(settings: EngineSettings, tensor: int = 1) -> Replica:
    return replica(LLAMA, find_accelerator("h100"), Parallelism(tensor), settings)


@pytest.fixture
def law() -> Constants:
    """Return the base that factors of engines and accelerators are of."""
    base = packaged_rows("inference", "constants")[0]
    return Constants(**{name: float(value) for name, value in list(base.items())[3:]})


def test_parameters_of_an_adapter_of_llama_by_hand() -> None:
    # queries, keys and values share one; output; gate and up share one; down
    attention = 4096 + (4096 + 2 * 1024) + 4096 + 4096
    feed_forward = 4096 + 2 * 14336 + 14336 + 4096
    shape = adapter_shape(LLAMA)
    assert shape.whole + shape.split == 32 * (attention + feed_forward)
    assert adapter_bytes(LLAMA, Parallelism(), MANY) == 2 * 32 * 16 * 32 * (attention + feed_forward)


@pytest.mark.parametrize("model", [LLAMA, DEEPSEEK], ids=lambda model: model.name)
def test_stages_share_the_layers_of_adapters(model: TransformerModel) -> None:
    alone, staged = Parallelism(), Parallelism(pipeline=4)
    assert adapter_bytes(model, staged, MANY) == pytest.approx(adapter_bytes(model, alone, MANY) / 4)


def test_a_tensor_parallel_group_splits_the_half_of_an_adapter() -> None:
    shape = adapter_shape(LLAMA)
    split = adapter_bytes(LLAMA, Parallelism(tensor=2), MANY)
    assert split == 2 * 32 * 16 * (shape.whole + shape.split / 2)


def test_a_step_reads_the_adapters_of_its_requests(law: Constants) -> None:
    one = one_replica(MANY)
    single, full = (float(adapters_s(one, law, np.array([n]), True)[0]) for n in (1.0, 4000.0))
    read = 2 * float(one.adapter_weights[0]) / float(one.memory_bytes_per_s[0] * law.dense_memory)
    assert single == pytest.approx(read, rel=1e-3)
    assert full >= 32 * read


def test_without_adapters_a_step_takes_what_it_took(law: Constants) -> None:
    plain, with_one = one_replica(NONE), one_replica(replace(NONE, adapters=1, adapter_rank=16))
    assert adapters_s(plain, law, np.array([8.0]), True) == 0.0
    more = decode_step_s(with_one, law, np.array([8.0]), 512.0) / decode_step_s(
        plain, law, np.array([8.0]), 512.0
    )
    assert 1.0 < float(more[0]) < 1.02  # rank 16: under a hundredth of the weights


def test_more_adapters_never_make_a_step_shorter(law: Constants) -> None:
    requests = np.array([16.0])
    several = [one_replica(replace(MANY, adapters=count)) for count in (1, 2, 8, 64, 512)]
    times = [float(decode_step_s(one, law, requests, 512.0)[0]) for one in several]
    assert times == sorted(times)
    prompts = [float(prompt_step_s(one, law, np.array([2048.0]))[0]) for one in several]
    assert np.ptp(prompts) == 0.0  # tokens of a prompt have one adapter
