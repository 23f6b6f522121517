"""The cell of a trace that says how a model is served."""

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.clusters.served_model import serving_of_text


def test_words_are_read_in_any_order() -> None:
    words = serving_of_text("isl=4000 rate=8 prefill_servers=2 osl=300", "serving")
    assert (words.rate, words.isl, words.osl, words.prefill_servers) == (8.0, 4000.0, 300.0, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rate=8 isl=2000", "osl"),
        ("rate=8 isl=2000 osl=300 tensr=8", "tensr"),
        ("rate=0 isl=2000 osl=300", "rate"),
        ("rate=8 rate=9 isl=2000 osl=300", "rate stands twice"),
        ("rate 8", "expected words such as rate=8"),
        ("rate=many isl=2000 osl=300", "rate"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^serving: .*{message}") as error:
        serving_of_text(text, "serving")
    assert "\n" not in str(error.value)
