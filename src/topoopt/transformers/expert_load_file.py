"""Expert loads from a CSV file, and by the word of a flag: ``uniform``, ``zipf``, ``zipf:1.2`` or a file's name."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topoopt.base.errors import InvalidInput
from topoopt.base.limits import LONGEST_DIGITS
from topoopt.schema.files import headed_rows, is_file, read_text
from topoopt.transformers.expert_loads import (
    ExpertLoads,
    expert_layers,
    experts_of,
    loads_at,
    uniform_loads,
    zipf_loads,
)
from topoopt.workloads.transformer import TransformerModel

COLUMNS = ("layer", "expert", "share")
_LARGEST_SHARE = 1e18  # tokens, counted; sums of far larger ones are no numbers any more


def find_loads(text: str, model: TransformerModel, iteration: int = 0, seed: int = 0) -> ExpertLoads:
    """Return the loads given by ``uniform``, ``zipf``, ``zipf:EXPONENT`` or the name of a CSV file.

    Those of a file are its rows for the iteration. The others wander from iteration to iteration, see
    :func:`~topoopt.transformers.loads_over_iterations`.

    Raises
    ------
    InvalidInput
        If it is none of these, or the model has no experts.
    """
    experts_of(model)
    word, _, exponent = text.partition(":")
    if word == "uniform" and not exponent:
        return uniform_loads(model)
    if word == "zipf":
        return loads_at(zipf_loads(model, _exponent(exponent, text), seed), iteration, seed)
    if not is_file(text):
        raise InvalidInput(f'loads: expected uniform, zipf, zipf:EXPONENT or a CSV file, got "{text}"')
    loads = read_loads(text, model)
    if iteration in loads:
        return loads[iteration]
    nearest = min(loads, key=lambda one: abs(one - iteration))
    raise InvalidInput(
        f"{text}: no iteration {iteration} among {len(loads)}; the nearest is {nearest} (iteration={nearest})"
    )


def read_loads(path: str | Path, model: TransformerModel) -> Mapping[int, ExpertLoads]:
    """Return the loads of each iteration that a CSV file has; of one without such a column, as iteration 0.

    The columns are ``layer, expert, share`` and perhaps ``iteration``, all counted from 0, layers by their number
    in the model. Shares of a layer may be counts of tokens: they are divided by their sum.

    Raises
    ------
    InvalidInput
        With the line of the first mistake: a column, layer or expert that is unknown, missing or given twice,
        or a share that is no number >= 0.
    """
    expected = f"a header {','.join(COLUMNS)} and rows"
    _, rows = headed_rows(read_text(path), str(path), (*COLUMNS, "iteration"), expected, needed=COLUMNS)
    layers, count = expert_layers(model), experts_of(model).count
    place_of = {layer: place for place, layer in enumerate(layers)}
    shares_at: dict[int, NDArray[np.float64]] = {}
    for _, place, words in rows:
        iteration = _index(words.get("iteration", "0"), "iteration", place)
        layer, expert = (_index(words[key], key, place) for key in COLUMNS[:2])
        if layer not in place_of:
            raise InvalidInput(
                f"{place}: layer {layer} of {model.name} has no experts; those are {_spans(layers)}"
            )
        if expert >= count:
            raise InvalidInput(f"{place}: expert: {model.name} has 0..{count - 1}, got {expert}")
        shares = shares_at.setdefault(iteration, np.full((len(layers), count), np.nan))
        if not np.isnan(shares[place_of[layer], expert]):
            raise InvalidInput(f"{place}: layer {layer}, expert {expert} stands twice")
        text = words["share"]
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0.0 <= value <= _LARGEST_SHARE:
            raise InvalidInput(
                f'{place}: share: expected a number >= 0 and <= {_LARGEST_SHARE:g}, got "{text}"'
            )
        shares[place_of[layer], expert] = value
    return {
        iteration: _complete(path, iteration, layers, shares_at[iteration]) for iteration in sorted(shares_at)
    }


def _complete(
    path: str | Path, iteration: int, layers: tuple[int, ...], shares: NDArray[np.float64]
) -> ExpertLoads:
    missing = np.argwhere(np.isnan(shares))
    if len(missing):
        row, expert = (int(number) for number in missing[0])
        raise InvalidInput(
            f"{path}: iteration {iteration}: layer {layers[row]}, expert {expert} is missing "
            f"({len(missing)} of {shares.size}); write 0 where no token goes"
        )
    sums = shares.sum(axis=1, keepdims=True)
    if not sums.all():
        layer = layers[int((sums[:, 0] == 0).argmax())]
        raise InvalidInput(f"{path}: iteration {iteration}: layer {layer}: all shares are 0")
    return ExpertLoads(layers, shares / sums)


def _exponent(text: str, whole: str) -> float:
    try:
        return float(text) if text or whole.endswith(":") else 1.0
    except ValueError:
        raise InvalidInput(f'loads: expected zipf:EXPONENT such as zipf:1.2, got "{whole}"') from None


def _index(text: str, key: str, place: str) -> int:
    if not text.isdecimal() or len(text) > LONGEST_DIGITS:
        raise InvalidInput(f'{place}: {key}: expected an integer >= 0, got "{text}"')
    return int(text)


def _spans(numbers: tuple[int, ...]) -> str:
    """Return ``3..60`` for numbers in a row, ``1, 3, 5`` otherwise."""
    if not numbers:
        return "none"
    in_a_row = numbers[-1] - numbers[0] == len(numbers) - 1
    return f"{numbers[0]}..{numbers[-1]}" if in_a_row else ", ".join(map(str, numbers))
