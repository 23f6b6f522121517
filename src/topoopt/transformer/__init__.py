"""Transformers: their shapes, where those come from, and what follows from shapes alone."""

from topoopt.transformer.model import Experts as Experts
from topoopt.transformer.model import LatentAttention as LatentAttention
from topoopt.transformer.model import TransformerModel as TransformerModel
