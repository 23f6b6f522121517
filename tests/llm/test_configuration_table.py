"""Configurations as columns are the configurations."""

from topoopt.llm import Configuration, configuration_table

SOME = (
    Configuration(tp=8, pp=4, dp=2, global_batch=512, sequence=2048, recompute="full", zero=1),
    Configuration(
        tp=1, pp=1, dp=8, global_batch=64, sequence=4096, ep=8, sequence_parallel=True, precision="fp8"
    ),
)


def test_a_table_gives_back_its_rows() -> None:
    table = configuration_table(SOME)
    assert tuple(table.row(index) for index in range(len(table))) == SOME
    assert table.take(table.ep > 1).row(0) == SOME[1]
