"""The rings of a plan as MSCCL's XML: run by the interpreter they are an AllReduce, on a channel for each ring."""

from xml.etree import ElementTree

import pytest

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.collectives import rings_xml, run_msccl


def along(ranks: int, *strides: int) -> list[list[int]]:
    return [[place * stride % ranks for place in range(ranks)] for stride in strides]


@pytest.mark.parametrize(
    ("ranks", "strides"), [(2, (1,)), (3, (1, 2)), (12, (1, 5, 7, 11)), (16, (1, 3)), (128, (1,))]
)
def test_every_rank_has_every_sum(ranks: int, strides: tuple[int, ...]) -> None:
    ran = run_msccl(rings_xml(along(ranks, *strides), "rings"))
    assert ran.missing == 0
    assert (ran.channels, ran.thread_blocks) == (len(strides), len(strides))
    assert ran.messages == len(strides) * ranks * 2 * (ranks - 1)
    assert ran.steps == 2 * ranks - 1


def test_a_rank_sends_and_hears_along_the_stride_on_its_channel() -> None:
    strides = (1, 5, 7, 11)
    root = ElementTree.fromstring(rings_xml(along(12, *strides), "rings"))
    for gpu in root:
        rank = int(gpu.attrib["id"])
        assert len(gpu) == 4
        for block, stride in zip(gpu, strides, strict=True):
            assert int(block.attrib["chan"]) == strides.index(stride)
            assert int(block.attrib["send"]) == (rank + stride) % 12
            assert int(block.attrib["recv"]) == (rank - stride) % 12
            chunks = {int(step.attrib["srcoff"]) // 12 for step in block}
            assert chunks == {strides.index(stride)}


def test_of_many_ranks_the_steps_go_on_in_another_thread_block() -> None:
    ran = run_msccl(rings_xml(along(150, 1, 7), "rings"))
    assert ran.missing == 0
    assert ran.steps == 256
    assert (ran.channels, ran.thread_blocks) == (4, 4)  # 298 messages a ring: 255 and 43


@pytest.mark.parametrize(
    "spoil", [('type="rrcs"', 'type="rrs"'), ('type="rrs"', 'type="rcs"'), ('type="r" ', 'type="rrc" ')]
)
def test_a_wrong_step_is_missed(spoil: tuple[str, str]) -> None:
    text = rings_xml(along(6, 1, 5), "rings")
    assert run_msccl(text.replace(*spoil, 1)).missing > 0


def test_a_thread_block_that_lacks_a_step_is_named() -> None:
    lines = rings_xml(along(4, 1), "rings").splitlines()
    lines.pop(3)
    with pytest.raises(InvalidInput, match=r"step 0 of thread block 0 is called 1"):
        run_msccl("\n".join(lines))


def test_what_msccl_has_no_room_for_is_refused() -> None:
    with pytest.raises(Infeasible, match=r"33 rings of 3 steps take 33 channels .* MSCCL has 32"):
        rings_xml(along(2, 1) * 33, "rings")
    with pytest.raises(
        Infeasible, match="4 rings of 300 servers send 717600 messages, files are written of at most"
    ):
        rings_xml(along(300, 1, 7, 11, 13), "rings")
    with pytest.raises(InvalidInput, match=r"names each of 0\.\.3 once"):
        rings_xml([[0, 1, 2, 2]], "rings")
