"""Strategy search, alternating optimization, stopping rules and bounds."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.search.alternating_optimization import fixed_fabric as fixed_fabric
    from topoopt.search.baselines import Fidelity as Fidelity
    from topoopt.search.baselines import as_settled as as_settled
    from topoopt.search.baselines import baseline_fabric as baseline_fabric
    from topoopt.search.baselines import baseline_row as baseline_row
    from topoopt.search.baselines import ringed as ringed
    from topoopt.search.bounds.strategy_bound import strategy_bound_s as strategy_bound_s
    from topoopt.search.candidates.candidate import Candidate as Candidate
    from topoopt.search.candidates.candidate import iteration_bounds as iteration_bounds
    from topoopt.search.candidates.candidate import options_of as options_of
    from topoopt.search.candidates.candidate import outcome as outcome
    from topoopt.search.candidates.candidate import routing_gap as routing_gap
    from topoopt.search.candidates.candidate import simulated as simulated
    from topoopt.search.candidates.candidate import simulated_candidate as simulated_candidate
    from topoopt.search.candidates.candidate import task_graph_of as task_graph_of
    from topoopt.search.candidates.optimality_gap import gap_parts as gap_parts
    from topoopt.search.candidates.wiring_choice import balanced as balanced
    from topoopt.search.caveats import caveats as caveats
    from topoopt.search.caveats import time_sources as time_sources
    from topoopt.search.comparison import checked_fabrics as checked_fabrics
    from topoopt.search.comparison import checked_simulators as checked_simulators
    from topoopt.search.comparison import compare_fabrics as compare_fabrics
    from topoopt.search.comparison import own_simulation as own_simulation
    from topoopt.search.fidelity_comparison import fabric_of_baseline as fabric_of_baseline
    from topoopt.search.finetuning import KINDS as KINDS
    from topoopt.search.finetuning import NAMES as NAMES
    from topoopt.search.finetuning import FineTuning as FineTuning
    from topoopt.search.finetuning import TunedWay as TunedWay
    from topoopt.search.finetuning import failed_way as failed_way
    from topoopt.search.finetuning import kind_words as kind_words
    from topoopt.search.finetuning import usual_scale as usual_scale
    from topoopt.search.finetuning import way_of_plan as way_of_plan
    from topoopt.search.finetuning import way_of_search as way_of_search
    from topoopt.search.gradient_buckets import as_asked as as_asked
    from topoopt.search.gradient_buckets import job_of_baseline as job_of_baseline
    from topoopt.search.gradient_buckets import tried_elsewhere as tried_elsewhere
    from topoopt.search.gradient_buckets import with_gradients_settled as with_gradients_settled
    from topoopt.search.microbatches import for_search as for_search
    from topoopt.search.microbatches import jobs_in_microbatches as jobs_in_microbatches
    from topoopt.search.operator_search import Draft as Draft
    from topoopt.search.options import MODES as MODES
    from topoopt.search.options import PRESETS as PRESETS
    from topoopt.search.options import SearchOptions as SearchOptions
    from topoopt.search.options import preset as preset
    from topoopt.search.planner import compare_job as compare_job
    from topoopt.search.planner import make_plan as make_plan
    from topoopt.search.planner import plan_on as plan_on
    from topoopt.search.port_estimate import PortEstimate as PortEstimate
    from topoopt.search.port_estimate import PortNetwork as PortNetwork
    from topoopt.search.port_estimate import port_estimate as port_estimate
    from topoopt.search.proposals.problem_tables import CHANNEL_DIMS as CHANNEL_DIMS
    from topoopt.search.proposals.problem_tables import candidate_splits as candidate_splits
    from topoopt.search.starting_strategies import few_strategies as few_strategies
    from topoopt.search.starting_strategies import fullest_server as fullest_server
    from topoopt.search.starting_strategies import starting_strategy as starting_strategy
    from topoopt.search.training_job import closed_form_s as closed_form_s
    from topoopt.search.training_job import job_of as job_of
    from topoopt.search.training_job import ranked_configurations as ranked_configurations
    from topoopt.search.training_request import TrainingRequest as TrainingRequest
    from topoopt.search.training_request import is_transformer as is_transformer
    from topoopt.search.training_request import training_request as training_request
    from topoopt.search.training_request import transformer_cluster as transformer_cluster

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
