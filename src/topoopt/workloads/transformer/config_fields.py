"""The keys of one ``config.json``: read with a word on what each means, so that a missing one explains itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import packaged_rows

_KEYS = packaged_rows("workloads.transformer", "config_keys")
MEANINGS = {row["key"]: row["meaning"] for row in _KEYS if row["meaning"]}
"""What the keys of Hugging Face mean."""
BY_HAND = {row["key"]: row["word"] for row in _KEYS if row["word"]}
"""Keys that many families have for a shape, and the word that gives it by hand."""


@dataclass(frozen=True, slots=True)
class ConfigFields:
    """The keys of a ``config.json`` and the file's name, which stands in front of every complaint.

    ``seen`` gathers the keys that somebody has looked at.
    """

    place: str
    values: Mapping[str, Any]
    seen: set[str] = field(default_factory=set, compare=False)

    def value(self, key: str) -> Any:
        """Return what stands under a key, None where it is missing; the key has then been seen."""
        self.seen.add(key)
        return self.values.get(key)

    def integer(self, *keys: str, least: int = 1) -> int:
        """Return the first of some keys that is there.

        Raises
        ------
        InvalidInput
            If none is, saying what it means, or it is no integer of at least ``least``.
        """
        for key in keys:
            if self.value(key) is not None:
                return self._integer(key, least)
        also = f" (or {', '.join(keys[1:])})" if len(keys) > 1 else ""
        meaning = next((f", the {MEANINGS[key]}" for key in keys if key in MEANINGS), "")
        raise InvalidInput(f"{self.place}: {keys[0]}{also}: missing{meaning}; expected an integer >= {least}")

    def integer_or(self, key: str, default: int, least: int = 1) -> int:
        """Return an integer, or the default where the key is missing or null."""
        return default if self.value(key) is None else self._integer(key, least)

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false, or the default where the key is missing or null."""
        value = self.value(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise InvalidInput(f"{self.place}: {key}: expected true or false, got {_shown(value)}")
        return value

    def mapping(self, key: str) -> "ConfigFields":
        """Return the keys under a key; none where it is missing or null."""
        value = self.value(key)
        if value is None:
            value = {}
        if not isinstance(value, Mapping):
            raise InvalidInput(
                f"{self.place}: {key}: expected a mapping of keys to values, got {_shown(value)}"
            )
        return ConfigFields(f"{self.place}: {key}", value)

    def items(self, key: str) -> list[Any]:
        """Return a list; an empty one where the key is missing or null."""
        value = self.value(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise InvalidInput(f"{self.place}: {key}: expected a list, got {_shown(value)}")
        return value

    def refuse(self, key: str, reason: str) -> InvalidInput:
        """Return the error for a key whose value makes a model that cannot be told by its shapes."""
        value = self.values.get(key)
        return InvalidInput(f"{self.place}: {key}{'' if value is None else f' {_shown(value)}'}: {reason}")

    def _integer(self, key: str, least: int) -> int:
        value = self.values[key]
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            meaning = f" ({MEANINGS[key]})" if key in MEANINGS else ""
            raise InvalidInput(
                f"{self.place}: {key}{meaning}: expected an integer >= {least}, got {_shown(value)}"
            )
        return value


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)
