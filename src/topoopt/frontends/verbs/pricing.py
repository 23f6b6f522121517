"""How networks are priced, from words: the same in every verb that prices them."""

from collections.abc import Mapping
from typing import Any

from topoopt.pricing import Pricing, pricing_of
from topoopt.schema.words import PricingWords, pick

_CALLED = {"fiber_length": "fiber_length_m"}
"""What a word is called where its unit has to be said."""


def pricing(words: Mapping[str, Any]) -> Pricing:
    """Return the price list, the accounting and the choices that words name, the usual ones for all else.

    Raises
    ------
    InvalidInput
        For an unknown name, a number out of range, or a file of prices that is wrong.
    """
    return pricing_of(**{_CALLED.get(word, word): value for word, value in pick(words, PricingWords).items()})
