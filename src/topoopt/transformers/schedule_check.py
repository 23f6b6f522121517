"""Check that the order of passes, and what hides behind them, suits the stages and micro-batches."""

from topoopt.base.errors import InvalidInput
from topoopt.transformers.configuration import Configuration
from topoopt.workloads.transformer import TransformerModel


def check_schedule(model: TransformerModel, one: Configuration) -> None:
    """Refuse a schedule that its stages, chunks or micro-batches do not allow, and overlap with nothing to hide behind.

    Raises
    ------
    InvalidInput
        One line: the word, its value, why not, and what would do.
    """
    if one.schedule != "1f1b":
        _check_order(one)
    if one.dispatch and (model.experts is None or one.ep == 1):
        raise InvalidInput(f"dispatch {one.dispatch}: {_nothing_sent(model)}")
    if one.overlap_experts:
        _check_overlap(model, one)


def _check_order(one: Configuration) -> None:
    word = f"schedule {one.schedule}"
    if one.pp == 1:
        raise InvalidInput(
            f"{word}: orders the passes of pipeline stages; give pp=2 or more, or schedule=1f1b"
        )
    if one.vpp > 1:
        raise InvalidInput(
            f"{word}: has one chunk in each stage, got vpp {one.vpp}; give vpp=1, or schedule=1f1b"
        )
    if one.schedule != "dualpipe":
        return
    if one.zero > 1:
        raise InvalidInput(
            f"{word}: both stages of a rank sum up gradients for all of an iteration, got zero {one.zero}; give zero=1"
        )
    if one.pp % 2:
        raise InvalidInput(
            f"{word}: pairs stages from both ends, got pp {one.pp}; nearest: {one.pp - 1}, {one.pp + 1}"
        )
    if one.micro_batches % 2 or one.micro_batches < 2 * one.pp:
        least = max(2 * one.pp, one.micro_batches + 1)
        raise InvalidInput(
            f"{word}: needs an even number of micro-batches, at least {2 * one.pp} for pp {one.pp}, got "
            f"{one.micro_batches}; nearest: global_batch {least * one.dp * one.micro_batch}"
        )


def _check_overlap(model: TransformerModel, one: Configuration) -> None:
    word = "overlap_experts"
    if model.experts is None or one.ep == 1:
        raise InvalidInput(f"{word}: {_nothing_sent(model)}")
    if one.schedule == "zero-bubble":
        raise InvalidInput(
            f"{word}: schedule zero-bubble has no pass of another micro-batch beside a pass; give schedule=dualpipe, "
            "or schedule=1f1b and vpp=2 or more"
        )
    if one.schedule == "1f1b" and one.pp > 1 and one.vpp == 1:
        raise InvalidInput(
            f"{word}: with pp {one.pp} and vpp 1 each pass waits for the one beside it; give vpp=2 or more, or "
            "schedule=dualpipe"
        )
    if one.micro_batches < 2:
        raise InvalidInput(
            f"{word}: one micro-batch has no other to hide behind; nearest: global_batch "
            f"{2 * one.dp * one.micro_batch}"
        )


def _nothing_sent(model: TransformerModel) -> str:
    if model.experts is None:
        return f"{model.name} has no experts; leave it out"
    return "with ep 1 no token is sent to an expert; give ep=2 or more, or leave it out"
