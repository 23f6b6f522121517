"""One file for each group of families: how their ``config.json`` says the shapes."""

from topoopt.transformer.families.table import FAMILIES as FAMILIES
