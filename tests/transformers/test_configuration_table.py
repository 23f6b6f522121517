"""Configurations as columns are the configurations."""

from topoopt.transformers import Configuration, configuration_table

SOME = (
    Configuration(tp=8, pp=4, dp=2, global_batch=512, sequence=2048, recompute="full", zero=1),
    Configuration(
        tp=1, pp=1, dp=8, global_batch=64, sequence=4096, ep=8, sequence_parallel=True, precision="fp8"
    ),
    Configuration(
        2, 4, 2, 512, 2048, recompute="core+latent", context="ulysses", schedule="dualpipe", weights="fp8"
    ),
    Configuration(1, 1, 4, 512, 2048, overlap_experts=True, offload_optimizer=0.25, adapter_rank=8),
)


def test_a_table_gives_back_its_rows() -> None:
    table = configuration_table(SOME)
    assert tuple(table.row(index) for index in range(len(table))) == SOME
    assert table.take(table.ep > 1).row(0) == SOME[1]


def test_what_nobody_has_is_one_value_for_all_rows() -> None:
    assert configuration_table(SOME[:2]).adapter_rank.shape == ()
    assert configuration_table(SOME).adapter_rank.tolist() == [0, 0, 0, 8]
