"""The models that come with topoopt, as a page: all of them, or one."""

from collections.abc import Sequence
from typing import Any

from topoopt.jobs import ModelList
from topoopt.pages.page import Notes, Page, Section
from topoopt.pages.rows import Entries, facts, joined, number, table, text
from topoopt.workloads import ListedModel
from topoopt.workloads.transformer import Experts, ListedTransformer, TransformerModel

CAUSES = {
    "embedding": "embedding",
    "positions": "learned positions",
    "attention": "attention",
    "mlp": "dense feed-forward parts",
    "router": "routers of experts",
    "experts": "routed experts",
    "shared": "shared experts",
    "norms": "norms",
    "output": "output layer",
    "extra": "other",
}
"""The causes of parameters in words."""

CHANGE_ONE = "To change one: topoopt plan model --set name=..."


def models_page(listed: ModelList) -> Page:
    """Return all models with their sizes; or the hyper-parameters of one, or shapes and parameters of a transformer."""
    if not listed.named:
        sections = (_overview(listed.models), _transformers(listed.transformers))
        what = f"{len(listed.models)} models of operators and {len(listed.transformers)} transformers."
        return Page("models", "", what, sections=sections)
    if listed.transformers:
        return _transformer_page(listed.transformers[0])
    return _model_page(listed.models[0])


def _overview(models: Sequence[ListedModel]) -> Section:
    lines = (
        "Batch: samples per accelerator. AllReduced: parameters outside embedding tables.",
        "A plain model name means its variant for 16 servers on up to 32 servers, else that for 128.",
        "Hyper-parameters: topoopt models dlrm. To change one: topoopt plan dlrm --set tables=32",
    )
    kinds = table("Models", models, text("model"), text("", "title"), text("what it is", "description"))
    variants = table(
        "Variants",
        [variant for row in models for variant in row.variants],
        text("variant"),
        number("servers"),
        number("batch", "batch_per_accelerator"),
        number("operators"),
        number("parameters", "parameter_bytes"),
        number("AllReduced", "dense_parameter_bytes"),
        text("published as", "description"),
    )
    return Section("models", "", "", (kinds, variants, Notes(lines, apart=True)))


def _transformers(rows: Sequence[ListedTransformer]) -> Section:
    lines = (
        "Keys: heads of keys and values. Inner: size of a dense feed-forward part. Experts: those of a token / all. "
        "Active: what one token meets.",
        "Shapes and parameters of one: topoopt models llama3-70b, or topoopt models config.json",
    )
    shapes = table(
        "Transformers",
        rows,
        text("transformer", "model.name"),
        number("layers", "model.layers"),
        number("hidden", "model.hidden"),
        number("heads", "model.heads"),
        number("keys", "model.kv_heads"),
        number("inner", "model.ffn"),
        number("sequence", "model.sequence"),
        number("experts", lambda row: _experts(row.model.experts)),
        number("parameters", "parameters.total", _billions),
        number("active", lambda row: _billions(row.parameters.active) if row.model.experts else ""),
    )
    return Section("transformers", "Transformers", "", (shapes, Notes(lines, apart=True)))


def _model_page(row: ListedModel) -> Page:
    names = list(row.variants[0].hyperparameters)
    hyperparameters = table(
        "Hyper-parameters",
        names,
        text("hyper-parameter", str),
        *(number(one.variant, one.hyperparameters.__getitem__, _text) for one in row.variants),
    )
    change = CHANGE_ONE.replace("name", names[-1]).replace("model", row.model)
    blocks = (hyperparameters, Notes((change,), apart=True))
    section = Section("hyperparameters", "Hyper-parameters", "", blocks)
    return Page("model", row.title, row.description, sections=(section,), remark=row.description)


def _transformer_page(row: ListedTransformer) -> Page:
    model, count = row.model, row.parameters
    sizes = {CAUSES[key]: getattr(count, key) for key in CAUSES} | {"all": count.total}
    if count.active != count.total:
        sizes["met by one token"] = count.active
    parts = {cause: size for cause, size in sizes.items() if size}
    parameters = table(
        "Parameters",
        joined(cause=parts, count=parts.values()),
        text("parameters", "cause"),
        number("count", form=","),
        number("share", lambda part: "" if part["cause"] == "all" else f"{part['count'] / count.total:.1%}"),
    )
    headline = f"{model.name} has {_billions(count.total)} parameters."
    section = Section("shapes", "Shapes and parameters", "", (facts(_shapes(row)), parameters))
    return Page("transformer", model.name, headline, sections=(section,), remark=row.source)


def _shapes(row: ListedTransformer) -> Entries:
    shapes = row.to_json()
    plain = ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocabulary", "sequence")
    return {
        "family": row.model.family,
        **{_words(key): f"{shapes[key]:,}" for key in plain},
        **_kinds_of_layers(row.model),
        **{
            f"{part} {_words(key)}": "yes" if value is True else f"{value:,}"
            for part in ("latent", "experts", "indexer", "recurrence")
            for key, value in (shapes[part] or {}).items()
            if value
        },
        **{_words(key): "yes" for key in ("gated", "tied") if shapes[key]},
        "norm": row.model.norm,
        "forward FLOP of a token": f"{row.forward_flops_per_token:,.0f}",
    }


def _kinds_of_layers(model: TransformerModel) -> Entries:
    """Return how many layers have what, of a model whose layers differ."""
    mixed = {"attention": model.attention_layers, "recurrence": model.recurrent_layers}
    fed = {"dense": model.dense_layers, "experts": model.moe_layers}
    window = {f"{'chunk' if model.chunked else 'window'} of {model.window:,}": model.window_layers}
    some = {what: count for what, count in (mixed | fed | window).items() if 0 < count < model.layers}
    return {"layers with": ", ".join(f"{what} {count}" for what, count in some.items())} if some else {}


def _words(key: str) -> str:
    return key.replace("_", " ")


def _experts(experts: Experts | None) -> str:
    return f"{experts.per_token}/{experts.count}" if experts else ""


def _billions(count: int) -> str:
    return f"{count / 1e9:,.1f} B" if count >= 10e9 else f"{count / 1e9:,.2f} B"


def _text(value: Any) -> str:
    return ",".join(str(item) for item in value) if isinstance(value, tuple) else str(value)
