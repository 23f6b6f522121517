"""Keys of a ``config.json`` that change shapes: those that a family's rules do not read are refused, not ignored."""

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import packaged_rows
from topoopt.workloads.transformer.config_fields import ConfigFields
from topoopt.workloads.transformer.layer_patterns import ATTENTION

_KEYS = {row["key"]: row["meaning"] for row in packaged_rows("workloads.transformer", "shape_keys")}
_NEUTRAL = {
    row["key"]: row["neutral"].split(";") for row in packaged_rows("workloads.transformer", "shape_keys")
}


def refuse_unread(family: str, config: ConfigFields) -> None:
    """Refuse a file whose family's rules leave out a key that would change shapes.

    Values that change nothing are fine: missing, null, false, 0, empty, what ``data/shape_keys.csv`` calls neutral, and
    layers that all have attention.

    Raises
    ------
    InvalidInput
        Naming key, value and meaning.
    """
    for key, meaning in _KEYS.items():
        value = config.values.get(key)
        if key in config.seen or not value or str(value).lower() in _NEUTRAL[key]:
            continue
        if isinstance(value, list) and all(str(one) in (ATTENTION[0], *_NEUTRAL[key]) for one in value):
            continue
        raise InvalidInput(
            f"{config.place}: {key} {_shown(value)}: {meaning}, which {family} is not understood to have; without "
            "the key the model is read as if it had none"
        )


def _shown(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
