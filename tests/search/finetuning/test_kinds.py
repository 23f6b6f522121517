"""Ways of fine-tuning as words of a training: what is trained, and how many bytes that is."""

import pytest

from topoopt.search.finetuning import KINDS, kind_words, usual_scale
from topoopt.transformers import Configuration, configuration_table, memory, trained_parameters
from topoopt.workloads.transformer import count_parameters, find_transformer

MODEL = find_transformer("llama3-70b")


def one_accelerator(kind: str) -> Configuration:
    return Configuration(
        tp=1, pp=1, dp=1, global_batch=1, sequence=4096, **kind_words(kind, 16, "every-matrix")
    )


def test_rank_16_on_every_matrix_of_llama3_70b_has_414_mb_of_gradients_against_141_gb() -> None:
    adapters, everything = (
        trained_parameters(MODEL, one_accelerator(kind), 0).total for kind in ("lora", "full")
    )
    assert adapters == 207_093_760
    assert 2 * adapters == pytest.approx(414e6, rel=1e-3)
    assert everything == count_parameters(MODEL).total
    assert 2 * everything == pytest.approx(141e9, rel=2e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_trained_parameter_takes_16_bytes_beside_frozen_weights(kind: str) -> None:
    """2 of weights, 2 of gradients and 12 of Adam; frozen ones 2 a parameter, in 4 bits a quarter and their scales."""
    one = one_accelerator(kind)
    found = memory(MODEL, configuration_table([one]), "h100")
    states = (found.parameters + found.gradients + found.optimizer)[0]
    trained, whole = trained_parameters(MODEL, one, 0).total, count_parameters(MODEL)
    in_layers = whole.total - whole.embedding - whole.output - MODEL.norm_parameters
    frozen = {
        "lora": 2 * whole.total,
        "full": 0,
        "qlora": 2 * (whole.total - in_layers) + 0.515875 * in_layers,
    }
    assert states == pytest.approx(16 * trained + frozen[kind], rel=1e-6)


def test_a_step_has_a_sequence_for_every_accelerator() -> None:
    for accelerators in (1, 3, 24, 100, 512):
        batch, sequence = usual_scale(MODEL, accelerators)
        assert batch % accelerators == 0
        assert batch >= 128
        assert sequence == 4096
