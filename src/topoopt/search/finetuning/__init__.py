"""Fine-tuning a transformer: everything, or low-rank adapters beside frozen weights, side by side on every fabric."""

from topoopt.search.finetuning.answer import FineTuning as FineTuning
from topoopt.search.finetuning.kinds import KINDS as KINDS
from topoopt.search.finetuning.kinds import NAMES as NAMES
from topoopt.search.finetuning.kinds import kind_words as kind_words
from topoopt.search.finetuning.usual import usual_degree as usual_degree
from topoopt.search.finetuning.usual import usual_scale as usual_scale
from topoopt.search.finetuning.way import TunedFabric as TunedFabric
from topoopt.search.finetuning.way import TunedWay as TunedWay
from topoopt.search.finetuning.way import failed_way as failed_way
from topoopt.search.finetuning.way import way_of_plan as way_of_plan
from topoopt.search.finetuning.way import way_of_search as way_of_search
