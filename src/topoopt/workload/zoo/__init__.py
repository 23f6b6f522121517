"""The zoo: published models as operator graphs with exact bytes and operations."""

from topoopt.workload.zoo.hyperparameters import with_overrides as with_overrides
from topoopt.workload.zoo.listed import ListedModel as ListedModel
from topoopt.workload.zoo.listed import ListedVariant as ListedVariant
from topoopt.workload.zoo.listed import listed_model as listed_model
from topoopt.workload.zoo.model_entry import ModelEntry as ModelEntry
from topoopt.workload.zoo.model_entry import Variant as Variant
from topoopt.workload.zoo.models import MODELS as MODELS
from topoopt.workload.zoo.models import load_model as load_model
from topoopt.workload.zoo.models import profiles_of as profiles_of
from topoopt.workload.zoo.models import published_graph as published_graph
from topoopt.workload.zoo.models import resolve_variant as resolve_variant
