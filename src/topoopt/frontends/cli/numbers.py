"""Every number of the command line, looked at once: not larger than makes sense, and finite."""

from typing import Any

from topoopt.base.errors import InvalidInput, shown
from topoopt.base.limits import MOST, MOST_OF_ANYTHING, finite


def check_numbers(context: Any) -> None:
    """Refuse integers above :data:`~topoopt.base.limits.MOST` and numbers that are not finite, by their flags.

    Raises
    ------
    InvalidInput
        With the flag, the limit and the value.
    """
    for parameter in context.command.params:
        value, flag = context.params.get(parameter.name), parameter.opts[-1]
        if isinstance(value, float):
            finite(flag, value)
        elif isinstance(value, int) and not isinstance(value, bool):
            most = MOST.get(flag.removeprefix("--").replace("-", "_"), MOST_OF_ANYTHING)
            if abs(value) > most:
                raise InvalidInput(f"{flag}: expected an integer <= {most}, got {shown(value)}")


def check_words(words: list[str]) -> None:
    """Refuse words that are not UTF-8, such as file names of another time; no result could name them.

    Raises
    ------
    InvalidInput
        With the place of the word.
    """
    for place, word in enumerate(words, 1):
        try:
            word.encode()
        except UnicodeEncodeError:
            raise InvalidInput(
                f'word {place}: "{word}" is not UTF-8 text; give the file another name'
            ) from None
