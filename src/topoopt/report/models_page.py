"""The models that come with topoopt, as a page: all of them, or one."""

from collections.abc import Sequence
from typing import Any

from topoopt.job import ModelList
from topoopt.report.page import Block, Facts, Notes, Page, Section, Table
from topoopt.transformer import Experts, ListedTransformer
from topoopt.units import format_bytes
from topoopt.workload import ListedModel

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
        return Page("models", "", what, (), (), sections)
    if listed.transformers:
        return _transformer_page(listed.transformers[0])
    return _model_page(listed.models[0])


def _overview(models: Sequence[ListedModel]) -> Section:
    kinds = tuple((row.model, row.title, row.description) for row in models)
    counts, sizes = ("servers", "batch", "operators"), ("parameters", "AllReduced")
    variants = tuple(
        (
            variant.variant,
            str(variant.servers),
            str(variant.batch_per_accelerator),
            str(variant.operators),
            format_bytes(variant.parameter_bytes),
            format_bytes(variant.dense_parameter_bytes),
            variant.description,
        )
        for row in models
        for variant in row.variants
    )
    lines = (
        "Batch: samples per accelerator. AllReduced: parameters outside embedding tables.",
        "A plain model name means its variant for 16 servers on up to 32 servers, else that for 128.",
        "Hyper-parameters: topoopt models dlrm. To change one: topoopt plan dlrm --set tables=32",
    )
    blocks: tuple[Block, ...] = (
        Table("Models", ("model", "", "what it is"), kinds),
        Table("Variants", ("variant", *counts, *sizes, "published as"), variants, counts + sizes),
        Notes(lines, apart=True),
    )
    return Section("models", "", "", blocks)


def _transformers(rows: Sequence[ListedTransformer]) -> Section:
    sizes = ("layers", "hidden", "heads", "keys", "feed-forward", "sequence")
    numbers = (*sizes, "experts", "parameters", "active")
    cells = tuple(
        (
            row.model.name,
            *(str(getattr(row.model, name)) for name in ("layers", "hidden", "heads", "kv_heads", "ffn")),
            str(row.model.sequence),
            _experts(row.model.experts),
            _billions(row.parameters.total),
            _billions(row.parameters.active) if row.model.experts else "",
        )
        for row in rows
    )
    lines = (
        "Keys: heads of keys and values. Experts: those of a token / all. Active: what one token meets.",
        "Shapes and parameters of one: topoopt models llama3-70b, or topoopt models config.json",
    )
    table = Table("Transformers", ("transformer", *numbers), cells, numbers)
    return Section("transformers", "Transformers", "", (table, Notes(lines, apart=True)))


def _model_page(row: ListedModel) -> Page:
    names, columns = list(row.variants[0].hyperparameters), tuple(one.variant for one in row.variants)
    cells = tuple((name, *(_text(one.hyperparameters[name]) for one in row.variants)) for name in names)
    table = Table("Hyper-parameters", ("hyper-parameter", *columns), cells, columns)
    change = CHANGE_ONE.replace("name", names[-1]).replace("model", row.model)
    section = Section("hyperparameters", "Hyper-parameters", "", (table, Notes((change,), apart=True)))
    return Page("model", row.title, row.description, (), (), (section,), remark=row.description)


def _transformer_page(row: ListedTransformer) -> Page:
    model, count = row.model, row.parameters
    causes = [(CAUSES[key], getattr(count, key)) for key in CAUSES if getattr(count, key)]
    cells = [(name, f"{size:,}", f"{size / count.total:.1%}") for name, size in causes]
    cells.append(("all", f"{count.total:,}", ""))
    if count.active != count.total:
        cells.append(("met by one token", f"{count.active:,}", f"{count.active / count.total:.1%}"))
    numbers = ("count", "share")
    blocks = (
        Facts("", _shapes(row)),
        Table("Parameters", ("parameters", *numbers), tuple(cells), numbers),
    )
    headline = f"{model.name} has {_billions(count.total)} parameters."
    section = Section("shapes", "Shapes and parameters", "", blocks)
    return Page("transformer", model.name, headline, (), (), (section,), remark=row.source)


def _shapes(row: ListedTransformer) -> tuple[tuple[str, str], ...]:
    shapes = row.to_json()
    plain = ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocabulary", "sequence")
    facts = [("family", row.model.family)]
    facts += [(key.replace("_", " "), f"{shapes[key]:,}") for key in plain]
    for part in ("latent", "experts"):
        facts += [
            (f"{part} {key.replace('_', ' ')}", "yes" if value is True else f"{value:,}")
            for key, value in (shapes[part] or {}).items()
            if value
        ]
    facts += [(key.replace("_", " "), "yes") for key in ("gated", "tied") if shapes[key]]
    facts.append(("norm", row.model.norm))
    facts.append(("forward FLOP of a token", f"{row.forward_flops_per_token:,.0f}"))
    return tuple(facts)


def _experts(experts: Experts | None) -> str:
    return f"{experts.per_token}/{experts.count}" if experts else ""


def _billions(count: int) -> str:
    return f"{count / 1e9:,.1f} B" if count >= 10e9 else f"{count / 1e9:,.2f} B"


def _text(value: Any) -> str:
    return ",".join(str(item) for item in value) if isinstance(value, tuple) else str(value)
