"""Check that a configuration suits a model and a number of accelerators, or name the nearest valid values."""

from collections.abc import Iterable

from topoopt.base.errors import InvalidInput, check_known
from topoopt.catalog import PRECISIONS
from topoopt.transformers.configuration import FULL, RECOMPUTED_PARTS, Configuration, recomputation_bits
from topoopt.transformers.degrees import chunk_counts, divisors, tensor_degrees, ulysses_degrees
from topoopt.workloads.transformer import ADAPTERS, TransformerModel


def check_configuration(
    model: TransformerModel, configuration: Configuration, accelerators: int, uneven_stages: bool = False
) -> None:
    """Refuse a configuration that cannot be run.

    Heads of keys and values fewer than ``tp`` are repeated, as Megatron-LM does, so that either divides the
    other. Layers are cut into as many chunks as :func:`chunk_counts` has, or with ``uneven_stages`` into any
    number of them; where they do not come out even, the first chunks have one more.

    Raises
    ------
    InvalidInput
        One line: the flag, its value, why not, and the nearest valid values.
    """
    check_known("precision", configuration.precision, PRECISIONS)
    tp, keys = configuration.tp, model.kv_heads
    reasons: tuple[tuple[object, str], ...] = (
        (model.heads % tp, f"does not divide {model.heads} heads"),
        (
            model.latent is None and keys % tp and tp % keys,
            f"neither divides {keys} heads of keys and values nor is a multiple of them",
        ),
        (model.has_dense_layers and model.ffn % tp, f"does not divide the feed-forward size {model.ffn}"),
    )
    recurrence = model.recurrence
    if recurrence is not None:
        reasons = (
            *reasons,
            (recurrence.heads % tp, f"does not divide the {recurrence.heads} heads of its recurrence"),
            (
                recurrence.key_heads % tp and tp % recurrence.key_heads,
                f"neither divides the {recurrence.key_heads} heads of keys of its recurrence nor is a multiple of them",
            ),
        )
    for applies, reason in reasons:
        if applies:
            raise InvalidInput(f"tp {tp}: {reason}; {nearest(tp, tensor_degrees(model))}")
    if configuration.sequence_parallel and tp == 1:
        raise InvalidInput("sequence_parallel: splits over tensor parallel ranks; give tp=2 or more")
    _check_stages(model, configuration, uneven_stages)
    _check_experts(model, configuration)
    _check_degrees(configuration, accelerators)
    _check_expert_group(model, configuration)
    _check_sequence(model, configuration)
    _check_context(model, configuration)
    _check_documents(configuration)
    _check_adapters(model, configuration)
    _check_shard(model, configuration)
    _check_batch(configuration)
    check_recomputation(model, configuration)
    _check_stored(configuration)
    check_schedule(model, configuration)


def nearest(value: int, allowed: Iterable[int]) -> str:
    """Return the nearest allowed values below and above, as text.

    Examples
    --------
    >>> nearest(6, (1, 2, 4, 8, 16))
    'nearest: 4, 8'
    """
    values = sorted(set(allowed))
    below = [one for one in values if one < value][-1:]
    above = [one for one in values if one > value][:1]
    return "nearest: " + ", ".join(str(one) for one in below + above)


def _nearest_multiples(value: int, step: int) -> str:
    below = value // step * step
    return ", ".join(str(one) for one in (below, below + step) if one)


def _check_divides(word: str, value: int, whole: int, what: str) -> None:
    if whole % value:
        raise InvalidInput(f"{word} {value}: does not divide {what}; {nearest(value, divisors(whole))}")


def _check_degrees(one: Configuration, accelerators: int) -> None:
    if accelerators < 1:
        raise InvalidInput(f"accelerators: expected an integer >= 1, got {accelerators}")
    if one.accelerators == accelerators:
        return
    product = f"tp {one.tp} x cp {one.cp} x dp {one.dp} x pp {one.pp} = {one.accelerators}"
    others = one.tp * one.cp * one.pp
    remedy = f"nearest: {_nearest_multiples(accelerators, others)} accelerators with these tp, cp and pp"
    if accelerators % others == 0:
        remedy = f"dp={accelerators // others} would make it so"
    raise InvalidInput(f"accelerators {accelerators}: {product} does not multiply to it; {remedy}")


def _check_stages(model: TransformerModel, one: Configuration, uneven: bool) -> None:
    pp, vpp, layers = one.pp, one.vpp, model.layers
    counts = chunk_counts(layers, uneven)
    if vpp > 1 and pp == 1:
        raise InvalidInput(f"vpp {vpp}: interleaving needs stages; give pp=2 or more, or vpp=1")
    if (pp not in counts or pp > layers) and not (vpp > 1 and pp * vpp in counts):
        remedy = "" if pp > layers else ", or uneven_stages"
        raise InvalidInput(
            f"pp {pp}: does not divide {layers} layers; {nearest(pp, divisors(layers))}{remedy}"
        )
    if pp * vpp not in counts:
        allowed = [count // pp for count in counts if count % pp == 0]
        raise InvalidInput(
            f"vpp {vpp}: {pp} stages of {vpp} chunks do not divide {layers} layers; {nearest(vpp, allowed)}"
        )


def _check_experts(model: TransformerModel, one: Configuration) -> None:
    ep, etp, experts = one.ep, one.etp, model.experts
    if experts is not None:
        _check_divides("ep", ep, experts.count, f"{experts.count} experts")
        _check_divides("etp", etp, experts.ffn, f"the size {experts.ffn} of an expert")
        return
    # etp = tp is the classic layout, which a model without experts has, too.
    for word, value in (("ep", ep), ("etp", 1 if etp == one.tp else etp)):
        if value > 1:
            raise InvalidInput(f"{word} {value}: {model.name} has no experts; leave it at 1")


def _check_expert_group(model: TransformerModel, one: Configuration) -> None:
    ep, etp, ranks = one.ep, one.etp, one.tp * one.cp * one.dp
    if model.experts is None or ranks % (ep * etp) == 0:
        return
    whole = [value for value in divisors(model.experts.count) if ranks % (value * etp) == 0]
    remedy = nearest(ep, whole) if whole else f"etp {etp} does not divide it either, etp=1 does"
    raise InvalidInput(
        f"ep {ep}: ep {ep} x etp {etp} = {ep * etp} does not divide tp x cp x dp = {ranks}; {remedy}"
    )


def _check_sequence(model: TransformerModel, one: Configuration) -> None:
    tokens = one.sequence
    if model.positions and tokens > model.positions:
        raise InvalidInput(
            f"seq {tokens}: {model.name} has {model.positions} learned positions; at most {model.positions}"
        )
    _check_divides("cp", one.cp, tokens, f"each sequence of {tokens} tokens")
    if one.sequence_parallel:
        part = tokens // one.cp
        _check_divides("tp", one.tp, part, f"the sequence of a context-parallel rank of {part} tokens")


def _check_context(model: TransformerModel, one: Configuration) -> None:
    if one.context != "ulysses" or one.cp in ulysses_degrees(model, one.tp):
        return
    raise InvalidInput(
        f"cp {one.cp}: context=ulysses gives every rank whole heads, and tp {one.tp} x cp {one.cp} = {one.tp * one.cp} "
        f"does not divide {model.heads} heads, of which {model.kv_heads} of keys; "
        f"{nearest(one.cp, ulysses_degrees(model, one.tp))}, or context=ring or all-gather"
    )


def _check_documents(one: Configuration) -> None:
    if one.document > one.sequence:
        raise InvalidInput(
            f"document {one.document}: the average is longer than a sequence of {one.sequence} tokens; at most "
            f"{one.sequence}, or 0 for one document in a sequence"
        )
    if one.document_spread and not one.document:
        raise InvalidInput(
            f"document_spread {one.document_spread:g}: is of documents that are packed; give document=2048, or what "
            "their average is, too"
        )


def _check_adapters(model: TransformerModel, one: Configuration) -> None:
    if one.adapter_rank > model.hidden:
        raise InvalidInput(
            f"adapter_rank {one.adapter_rank}: is above the hidden size {model.hidden}, so that adapters would be "
            f"larger than what they adapt; at most {model.hidden}, or 0 to train everything"
        )
    if one.adapter_rank and model.recurrent_layers:
        raise InvalidInput(
            f"adapter_rank {one.adapter_rank}: {model.name} has {model.recurrent_layers} layers with a recurrence, "
            "whose adapters are not understood; leave it at 0"
        )
    if one.adapters != ADAPTERS[0] and not one.adapter_rank:
        raise InvalidInput(f"adapters {one.adapters}: are of low rank; give adapter_rank, such as 16, too")


def _check_shard(model: TransformerModel, one: Configuration) -> None:
    shard, replicas, of_experts = one.shard, one.dp * one.cp, one.ep * one.etp
    if not shard:
        return
    _check_divides(
        "shard", shard, replicas, f"dp {one.dp} x cp {one.cp} = {replicas} ranks with the same weights"
    )
    if one.zero == 0:
        raise InvalidInput(
            f"shard {shard}: without ZeRO nothing is shared out; give zero=3, or zero=1 or 2, too"
        )
    if model.experts is not None and (one.tp * shard) % of_experts and of_experts % (one.tp * shard):
        whole = [value for value in divisors(replicas) if not (one.tp * value) % of_experts]
        raise InvalidInput(
            f"shard {shard}: tp·shard = {one.tp * shard} and ep·etp = {of_experts} ranks with all experts: one must "
            f"divide the other; {nearest(shard, whole or [replicas])}"
        )


def _check_batch(one: Configuration) -> None:
    step = one.dp * one.micro_batch
    if one.global_batch % step:
        raise InvalidInput(
            f"global_batch {one.global_batch}: not a multiple of dp {one.dp} x micro-batch {one.micro_batch} = {step}; "
            f"nearest: {_nearest_multiples(one.global_batch, step)}"
        )
    if one.vpp > 1 and one.micro_batches % one.pp:
        raise InvalidInput(
            f"vpp {one.vpp}: interleaving needs micro-batches in multiples of {one.pp} stages, got "
            f"{one.micro_batches}; nearest: global_batch {_nearest_multiples(one.global_batch, step * one.pp)}"
        )


def _check_stored(one: Configuration) -> None:
    if one.gradients == "fp8":
        raise InvalidInput("gradients fp8: sums of gradients would lose what is small; give bf16 or fp32")
    if one.activation_inputs == "fp32":
        raise InvalidInput(
            "activation_inputs fp32: would be more than other activations have; give bf16 or fp8"
        )
    if one.weights == "fp8" and one.precision not in ("fp8", "fp4"):
        raise InvalidInput(
            f"weights fp8: precision {one.precision} computes with more bits; give precision=fp8"
        )
    if one.weights == "nf4" and not one.adapter_rank:
        raise InvalidInput(
            "weights nf4: too few bits for weights that are trained; give adapter_rank, such as 16, too"
        )
    if one.weights == "nf4" and one.precision not in ("bf16", "fp16"):
        raise InvalidInput(
            f"weights nf4: are computed with in 16 bits, precision is {one.precision}; give precision=bf16"
        )


def check_recomputation(model: TransformerModel, one: Configuration) -> None:
    """Refuse parts that the model does not have, and layers that there are not.

    Raises
    ------
    InvalidInput
        One line: the option, its value, the reason, and the allowed values.
    """
    bits = recomputation_bits(one.recompute)
    named = [] if bits & FULL else [part for place, part in enumerate(RECOMPUTED_PARTS) if bits >> place & 1]
    lacking = {"experts": model.experts is None, "latent": model.latent is None}
    for part in named:
        if lacking.get(part, False):
            has = ", ".join(name for name in RECOMPUTED_PARTS if not lacking.get(name, False))
            raise InvalidInput(f"recompute {one.recompute}: {model.name} has no {part} part; it has {has}")
    if not one.recompute_layers:
        return
    if not bits:
        raise InvalidInput(
            f"recompute_layers {one.recompute_layers}: nothing is computed again; give recompute=full or parts"
        )
    most = -(-model.layers // (one.pp * one.vpp))
    if one.recompute_layers > most:
        raise InvalidInput(
            f"recompute_layers {one.recompute_layers}: a chunk has at most {most} of {model.layers} layers; "
            f"give 1..{most}"
        )


def check_schedule(model: TransformerModel, one: Configuration) -> None:
    """Refuse a schedule that its stages, chunks or micro-batches do not allow, and overlap with nothing to hide behind.

    Raises
    ------
    InvalidInput
        One line: the option, its value, the reason, and a valid value.
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
