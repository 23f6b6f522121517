"""Check that a configuration suits a model and a number of accelerators, or name the nearest valid values."""

from collections.abc import Iterable

from topoopt.errors import InvalidInput, unknown_name
from topoopt.hardware import PRECISIONS
from topoopt.llm.chunk_counts import chunk_counts, divisors
from topoopt.llm.configuration import Configuration
from topoopt.transformer import TransformerModel


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
    if configuration.precision not in PRECISIONS:
        raise unknown_name("precision", configuration.precision, PRECISIONS)
    _check_tensor(model, configuration)
    _check_stages(model, configuration, uneven_stages)
    _check_experts(model, configuration)
    _check_degrees(configuration, accelerators)
    _check_expert_group(model, configuration)
    _check_sequence(model, configuration)
    _check_batch(configuration)
    _check_interleaving(configuration)


def nearest(value: int, allowed: Iterable[int]) -> str:
    """Return the allowed values next to a value, below and above, as words.

    Examples
    --------
    >>> nearest(6, (1, 2, 4, 8, 16))
    'nearest: 4, 8'
    """
    values = sorted(set(allowed))
    below = [one for one in values if one < value][-1:]
    above = [one for one in values if one > value][:1]
    return "nearest: " + ", ".join(str(one) for one in below + above)


def _check_degrees(one: Configuration, accelerators: int) -> None:
    if accelerators < 1:
        raise InvalidInput(f"accelerators: expected an integer >= 1, got {accelerators}")
    if one.accelerators == accelerators:
        return
    product = f"tp {one.tp} x cp {one.cp} x dp {one.dp} x pp {one.pp} = {one.accelerators}"
    others = one.tp * one.cp * one.pp
    if accelerators % others == 0:
        remedy = f"dp={accelerators // others} would make it so"
    else:
        below = accelerators // others * others
        remedy = (
            f"nearest: {f'{below}, ' if below else ''}{below + others} accelerators with these tp, cp and pp"
        )
    raise InvalidInput(f"accelerators {accelerators}: {product} does not multiply to it; {remedy}")


def _check_tensor(model: TransformerModel, one: Configuration) -> None:
    tp, heads, keys = one.tp, model.heads, model.kv_heads
    if heads % tp:
        raise InvalidInput(f"tp {tp}: does not divide {heads} heads; {nearest(tp, _tensor_degrees(model))}")
    if model.latent is None and keys % tp and tp % keys:
        raise InvalidInput(
            f"tp {tp}: neither divides {keys} heads of keys and values nor is a multiple of them; "
            f"{nearest(tp, _tensor_degrees(model))}"
        )
    if _has_dense_layer(model) and model.ffn % tp:
        raise InvalidInput(
            f"tp {tp}: does not divide the feed-forward size {model.ffn}; {nearest(tp, _tensor_degrees(model))}"
        )
    if one.sequence_parallel and tp == 1:
        raise InvalidInput("sequence_parallel: splits over tensor parallel ranks; give tp=2 or more")


def _has_dense_layer(model: TransformerModel) -> bool:
    return model.moe_layers < model.layers


def _tensor_degrees(model: TransformerModel) -> tuple[int, ...]:
    keys = model.kv_heads
    return tuple(
        tp
        for tp in divisors(model.heads)
        if (model.latent is not None or keys % tp == 0 or tp % keys == 0)
        and (not _has_dense_layer(model) or model.ffn % tp == 0)
    )


def _check_stages(model: TransformerModel, one: Configuration, uneven: bool) -> None:
    pp, vpp, layers = one.pp, one.vpp, model.layers
    counts = range(1, layers + 1) if uneven else chunk_counts(layers)
    if vpp > 1 and pp == 1:
        raise InvalidInput(f"vpp {vpp}: interleaving needs stages; give pp=2 or more, or vpp=1")
    if pp not in counts and not (vpp > 1 and pp * vpp in counts):
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
    ep, etp = one.ep, one.etp
    if model.experts is None:
        for flag, value in (("ep", ep), ("etp", etp)):
            # etp = tp is the classic layout, which a model without experts has, too.
            if value > 1 and not (flag == "etp" and value == one.tp):
                raise InvalidInput(f"{flag} {value}: {model.name} has no experts; leave it at 1")
        return
    experts = model.experts
    if experts.count % ep:
        raise InvalidInput(
            f"ep {ep}: does not divide {experts.count} experts; {nearest(ep, divisors(experts.count))}"
        )
    if experts.ffn % etp:
        raise InvalidInput(
            f"etp {etp}: does not divide the size {experts.ffn} of an expert; {nearest(etp, divisors(experts.ffn))}"
        )


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
    if model.positions and one.sequence > model.positions:
        raise InvalidInput(
            f"seq {one.sequence}: {model.name} has {model.positions} learned positions; at most {model.positions}"
        )
    for flag, parts in (("cp", one.cp), ("tp", one.tp * one.cp if one.sequence_parallel else 1)):
        if one.sequence % parts:
            cut = "each sequence" if flag == "cp" else "the sequence of a context-parallel rank"
            length = one.sequence if flag == "cp" else one.sequence // one.cp
            value = one.cp if flag == "cp" else one.tp
            raise InvalidInput(
                f"{flag} {value}: does not divide {cut} of {length} tokens; {nearest(value, divisors(length))}"
            )


def _check_batch(one: Configuration) -> None:
    step = one.dp * one.micro_batch
    if one.global_batch % step == 0:
        return
    below = one.global_batch // step * step
    raise InvalidInput(
        f"global_batch {one.global_batch}: not a multiple of dp {one.dp} x micro-batch {one.micro_batch} = {step}; "
        f"nearest: {f'{below}, ' if below else ''}{below + step}"
    )


def _check_interleaving(one: Configuration) -> None:
    if one.vpp == 1 or one.micro_batches % one.pp == 0:
        return
    step = one.dp * one.micro_batch * one.pp
    below = one.global_batch // step * step
    raise InvalidInput(
        f"vpp {one.vpp}: interleaving needs micro-batches in multiples of {one.pp} stages, got "
        f"{one.micro_batches}; nearest: global_batch {f'{below}, ' if below else ''}{below + step}"
    )
