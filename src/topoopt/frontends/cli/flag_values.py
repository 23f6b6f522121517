"""Values that a flag spells as text: several with commas, or ``KEY=VALUE``."""

from collections.abc import Sequence

from topoopt.base.errors import InvalidInput

NONE = "none"


def listed(text: str, flag: str, what: str) -> tuple[str, ...]:
    """Return the words of ``a,b,c``, each once; nothing for ``none``.

    Raises
    ------
    InvalidInput
        For no words at all.
    """
    words = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not words:
        raise InvalidInput(f'{flag}: expected {what}, got "{text}"')
    return () if words == (NONE,) else words


def changed(word: str, pairs: Sequence[str]) -> dict[str, str]:
    """Return ``KEY=VALUE`` texts as a mapping, keys with underscores.

    Raises
    ------
    InvalidInput
        If one is no such text, or a key is given twice.
    """
    values: dict[str, str] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip() or not value.strip():
            raise InvalidInput(f'{word}: expected KEY=VALUE such as tables=32, got "{pair}"')
        name = key.strip().replace("-", "_")
        if name in values:
            raise InvalidInput(f"{word}: {name} is given twice, {values[name]} and {value.strip()}")
        values[name] = value.strip()
    return values
