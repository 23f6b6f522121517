"""Hardware and model catalogues as a page: tables with the source of each row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from topoopt.base.machine import Installation
from topoopt.base.units import format_bandwidth, format_bytes, format_memory, format_time
from topoopt.catalog import HardwareTables
from topoopt.jobs import ModelList
from topoopt.pages.page import Notes, Page, Section
from topoopt.pages.tables import Entries, cell, facts, heading, joined, number, table, text, usd
from topoopt.workloads.transformer import ListedTransformer

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
"""Descriptions of the sources of parameters."""
CHANGE_ONE = "To change one: topoopt plan model --set name=..."
HIDDEN = {
    *("note", "source", "aliases", "architecture", "scale_up_link", "nic_bandwidth_bps"),
    *("host_interface", "fiber_move_s", "chip"),
}
"""Columns that only JSON has room for."""
_BY_UNIT: Mapping[str, Callable[[float], str]] = MappingProxyType(
    {
        "_tflops": lambda rate: f"{rate / 1e12:g}",
        "_bytes_per_s": lambda rate: f"{format_bytes(rate)}/s",
        "_bps": format_bandwidth,
        "_usd": usd,
        "visible_memory_bytes": format_memory,
        "_bytes": format_bytes,
        "_db": lambda loss: f"{loss:g} dB",
        "_w": lambda power: f"{power:g} W",
        "_m": lambda length: f"{length:g} m",
        "_s": format_time,
    }
)
UNITS = (
    "Peaks in TFLOP/s, dense. Sources and notes: topoopt hardware accelerators (or another table), or in JSON"
)
Row = Mapping[str, Any]


def hardware_page(hardware: HardwareTables) -> Page:
    """Return a section for each table; of one table alone with the sources of its rows."""
    document = hardware.to_json()
    sections = [_section(name, rows, sources=hardware.named) for name, rows in document.items()]
    if not hardware.named:
        last = sections[-1]
        sections[-1] = replace(last, blocks=(*last.blocks, Notes((UNITS,), apart=True)))
    parts = sum(len(rows) for rows in document.values())
    return Page("hardware", "", f"{parts} parts, each with its source.", sections=tuple(sections))


def installation_page(installation: Installation) -> Page:
    """Return a line for each thing that topoopt uses, with the remedy where it is missing."""
    found = {one.name: one.found + f" → {one.remedy}" * bool(one.remedy) for one in installation.checks}
    return Page("installation", "", sections=(Section("installation", "", "", (facts(found),)),))


def _section(name: str, rows: Sequence[Row], sources: bool) -> Section:
    flat = [_with_peaks(row, rows) for row in rows]
    columns = [
        (number if any(isinstance(row[key], int | float) for row in flat) else text)(
            heading(key, _BY_UNIT), partial(_cell, key)
        )
        for key in flat[0]
        if key not in HIDDEN
    ]
    notes = [Notes((_source(row),), apart=True) for row in rows] if sources else []
    return Section(name, name, "", (table(name, flat, *columns), *notes))


def _source(row: Row) -> str:
    label = row.get("name") or " ".join(
        str(row[key]) for key in ("quantity", "kind", "precision", "accelerator")
    )
    short = f" (also {', '.join(row['aliases'])})" if row.get("aliases") else ""
    note = f" {row['note']}" if row.get("note") else ""
    return f"{label}{short}: {row['source']}.{note}"


def _with_peaks(row: Row, rows: Sequence[Row]) -> Row:
    """Add a column for every precision of any accelerator; write prices and relocks in one cell."""
    if "relock_s" in row:
        return _optical(row)
    if "peaks" not in row:
        return row
    precisions = {precision: None for other in rows for precision in other["peaks"]}
    plain = {key: value for key, value in row.items() if key != "peaks"}
    head = {key: plain.pop(key) for key in ("name", "memory_bytes", "memory_bandwidth_bytes_per_s")}
    return {**head, **{f"{name}_tflops": row["peaks"].get(name) for name in precisions}, **plain}


def _optical(row: Row) -> Row:
    """Return an optical switch with its port price as a range, and an assumed relock marked so."""
    plain = {
        key: value for key, value in row.items() if not key.startswith("port_") and key != "relock_quality"
    }
    if row["relock_quality"] == "assumed":
        plain["relock_s"] = f"{format_time(row['relock_s'])}, assumed"
    low_usd, high_usd = row["port_low_usd"], row["port_high_usd"]
    price = None if low_usd is None else f"{usd(row['port_usd'])} ({usd(low_usd)}–{usd(high_usd)})"
    return {**plain, "price_of_a_port": price}


def _cell(key: str, row: Row) -> str:
    value = row[key]
    if isinstance(value, tuple):
        return "–".join(f"{item:g}" for item in dict.fromkeys(value)) + " dB"
    if key == "value" and row["quantity"].endswith("_s"):
        return format_time(value)
    return cell(key, value, _BY_UNIT)


def models_page(listed: ModelList) -> Page:
    """Return all models with their sizes; or the hyper-parameters of one, or shapes and parameters of a transformer."""
    if not listed.named:
        lines = (
            "Batch: samples per accelerator. AllReduced: parameters outside embedding tables.",
            "A plain model name means its variant for 16 servers on up to 32 servers, else that for 128.",
            "Hyper-parameters: topoopt models dlrm. To change one: topoopt plan dlrm --set tables=32",
        )
        kinds = table(
            "Models", listed.models, text("model"), text("", "title"), text("what it is", "description")
        )
        variants = table(
            "Variants",
            [variant for row in listed.models for variant in row.variants],
            text("variant"),
            number("servers"),
            number("batch", "batch_per_accelerator"),
            number("operators"),
            number("parameters", "parameter_bytes"),
            number("AllReduced", "dense_parameter_bytes"),
            text("published as", "description"),
        )
        overview = Section("models", "", "", (kinds, variants, Notes(lines, apart=True)))
        sections = (*((overview,) if listed.models else ()), _transformers(listed.transformers))
        what = f"{len(listed.models)} models of operators and {len(listed.transformers)} transformers."
        return Page("models", "", what, sections=sections)
    if listed.transformers:
        return _transformer_page(listed.transformers[0])
    row = listed.models[0]
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
        number("experts", lambda row: ((one := row.model.experts) and f"{one.per_token}/{one.count}") or ""),
        number("parameters", "parameters.total", _billions),
        number("active", lambda row: _billions(row.parameters.active) if row.model.experts else ""),
    )
    return Section("transformers", "Transformers", "", (shapes, Notes(lines, apart=True)))


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
    model = row.model
    mixed = {"attention": model.attention_layers, "recurrence": model.recurrent_layers}
    fed = {"dense": model.dense_layers, "experts": model.moe_layers}
    window = {f"{'chunk' if model.chunked else 'window'} of {model.window:,}": model.window_layers}
    some = {what: count for what, count in (mixed | fed | window).items() if 0 < count < model.layers}
    kinds_of_layers = (
        {"layers with": ", ".join(f"{what} {count}" for what, count in some.items())} if some else {}
    )
    return {
        "family": row.model.family,
        **{_words(key): f"{shapes[key]:,}" for key in plain},
        **kinds_of_layers,
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


def _words(key: str) -> str:
    return key.replace("_", " ")


def _billions(count: int) -> str:
    return f"{count / 1e9:,.1f} B" if count >= 10e9 else f"{count / 1e9:,.2f} B"


def _text(value: Any) -> str:
    return ",".join(str(item) for item in value) if isinstance(value, tuple) else str(value)
