"""Small models that train for real beside the slept ones: of the kinds of the paper's jobs, not of their sizes."""

from collections.abc import Callable, Mapping
from typing import Any

from topoopt.plugins.testbeds.collectives.pytorch import torch
from topoopt.plugins.testbeds.collectives.shares import Tensor

SAMPLES = 4
"""Of each server in a step."""
ROWS, COLUMNS, FEATURES = 40, 6, 10
"""Of an embedding table, and of what is not looked up in one."""
WORDS, LENGTH = 50, 7
"""Of the transformer's vocabulary and of its sequences."""


class Transformer(torch.nn.Module):  # type: ignore[misc]
    """Embeddings, two encoder layers without dropout, and a word for each place."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(WORDS, 16)
        layer = torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = torch.nn.Linear(16, WORDS)

    def forward(self, words: Tensor) -> Tensor:
        """Return scores of each word at each place."""
        return self.head(self.layers(self.embedding(words)))


class Dlrm(torch.nn.Module):  # type: ignore[misc]
    """The dense part of a DLRM: a bottom and a top perceptron, with looked-up rows between them."""

    def __init__(self, tables: int) -> None:
        super().__init__()
        self.bottom = perceptron(FEATURES, 16, COLUMNS)
        self.top = perceptron(COLUMNS * (tables + 1), 24, 1)

    def forward(self, dense: Tensor, rows: Tensor) -> Tensor:
        """Return a score for each sample, of features and of one row from each table."""
        return self.top(torch.cat([self.bottom(dense), rows], 1))


def perceptron(inputs: int, inner: int, outputs: int) -> Any:
    """Return a perceptron of two hidden layers."""
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(inputs, inner), nn.Tanh(), nn.Linear(inner, inner), nn.Tanh(), nn.Linear(inner, outputs)
    )


def convolutions() -> Any:
    """Return convolutions and a dense head, as a VGG has them."""
    nn = torch.nn
    return nn.Sequential(
        *(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(48, 32), nn.ReLU(), nn.Linear(32, 10)),
    )


def images(samples: int) -> tuple[Tensor, Tensor]:
    """Return pictures and their classes."""
    return torch.randn(samples, 3, 8, 8, dtype=torch.float64), torch.randint(0, 10, (samples,))


def sentences(samples: int) -> tuple[Tensor, Tensor]:
    """Return sentences and the words that follow."""
    return torch.randint(0, WORDS, (samples, LENGTH)), torch.randint(0, WORDS, (samples, LENGTH))


def measurements(samples: int) -> tuple[Tensor, Tensor]:
    """Return features and their classes."""
    return torch.randn(samples, FEATURES, dtype=torch.float64), torch.randint(0, 10, (samples,))


DATA_PARALLEL: Mapping[str, tuple[Callable[[], Any], Callable[[int], tuple[Tensor, Tensor]]]] = {
    "vgg": (convolutions, images),
    "transformer": (Transformer, sentences),
    "perceptron": (lambda: perceptron(FEATURES, 16, 10), measurements),
}
"""Models whose every server has all parameters, each with its batches."""
