"""Words with commas, as many flags take them."""

from topoopt.errors import InvalidInput

NONE = "none"


def listed(
    text: str | None, flag: str = "--fabrics", what: str = "names with commas, or none"
) -> tuple[str, ...] | None:
    """Return the words of ``a,b,c``, each once; None where nothing was said, and nothing for ``none``.

    Raises
    ------
    InvalidInput
        For no words at all.
    """
    if text is None:
        return None
    words = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not words:
        raise InvalidInput(f'{flag}: expected {what}, got "{text}"')
    return () if words == (NONE,) else words
