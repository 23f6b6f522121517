"""A question comes as text from an address or as values of JSON, and is refused as on the command line."""

import inspect
import subprocess
import sys

import pytest

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.web import Question, command_line, question_of
from topoopt.schema.words import OwnershipWords, PlanWords, PricingWords, QuestionWords, described


def test_text_and_values_are_the_same_question() -> None:
    text = {"model": "dlrm", "servers": "16", "degree": "4", "bandwidth": "100Gbps", "years": "3"}
    values = {"model": "dlrm", "servers": 16, "degree": 4, "bandwidth": 100e9, "years": 3}
    assert question_of(text) == question_of(values) == Question("dlrm", 16, 4, 100e9, years=3.0)


def test_the_words_of_a_question_ask_it_again() -> None:
    question = question_of({"model": "llama3-8b", "servers": "4", "seq": "4096", "prices": "2022"})
    assert question_of(question.words) == question


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"servers": "many"}, 'servers: expected an integer, got "many"'),
        ({"servers": "1"}, "servers: expected an integer >= 2, got 1"),
        ({"servers": "99999999"}, "servers: expected an integer <= 131072, got 99999999"),
        ({"servers": 2.5}, "servers: expected an integer >= 2, got 2.5"),
        ({"servers": True}, "servers: expected an integer >= 2, got true"),
        ({"model": ["dlrm"]}, 'model: expected text, got ["dlrm"]'),
        ({"years": "nan"}, 'years: expected a number, got "nan"'),
        ({"utilization": [1]}, "utilization: expected a number, got [1]"),
        ({"server_price": "much"}, 'server_price: expected a number, got "much"'),
        ({"bandwidth": "fast"}, "bandwidth: "),
        ({"bandwidth": [1]}, "bandwidth: expected a rate such as 400Gbps, got [1]"),
        ({"color": "red"}, 'word: unknown name "color"'),
        ({"model": "/etc/passwd"}, 'model: unknown name "/etc/passwd"'),
        ({"accelerator": "abacus"}, 'accelerator: unknown name "abacus"'),
        ({"link_technology": "string"}, 'link_technology: unknown name "string"'),
        ({"prices": "secret.csv"}, 'prices: unknown name "secret.csv"'),
    ],
)
def test_a_mistake_is_one_line_that_begins_with_its_word(words: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        question_of(words)
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)


def test_only_files_that_the_studio_was_started_with_may_be_asked_about() -> None:
    assert (
        question_of({"model": "my/config.json"}, files=frozenset({"my/config.json"})).model
        == "my/config.json"
    )
    with pytest.raises(InvalidInput, match="unknown name"):
        question_of({"model": "my/other.json"}, files=frozenset({"my/config.json"}))


def test_a_plan_takes_every_word_of_a_question() -> None:
    """Else the command that makes a plan again would be refused."""
    taken = set(inspect.signature(topoopt.plan).parameters) | set(PlanWords.__annotations__)
    taken |= set(OwnershipWords.__annotations__) | set(PricingWords.__annotations__)
    assert {word.name for word in described(QuestionWords)} <= taken
    done = subprocess.run(
        [sys.executable, "-m", "topoopt", "plan", "--help-all"], capture_output=True, text=True, check=True
    )
    for word in described(QuestionWords):
        assert f"--{word.name.replace('_', '-')}" in done.stdout


def test_the_command_says_all_words_that_a_plan_takes() -> None:
    question = question_of({"model": "llama3-8b", "servers": 8, "degree": 2, "global_batch": 64, "years": 5})
    assert command_line(question, seed=3) == (
        "topoopt plan llama3-8b --servers 8 --degree 2 --bandwidth 400Gbps "
        "--global-batch 64 --years 5 --seed 3 --out plan.json"
    )
