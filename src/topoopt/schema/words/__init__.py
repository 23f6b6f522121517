"""The words with which people ask, at both doors: keyword arguments in Python, flags on the command line."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.schema.words.arguments import TEXT_LISTS as TEXT_LISTS
    from topoopt.schema.words.arguments import Amount as Amount
    from topoopt.schema.words.arguments import DescribedWord as DescribedWord
    from topoopt.schema.words.arguments import File as File
    from topoopt.schema.words.arguments import Rate as Rate
    from topoopt.schema.words.arguments import Size as Size
    from topoopt.schema.words.arguments import Switch as Switch
    from topoopt.schema.words.arguments import Time as Time
    from topoopt.schema.words.arguments import Word as Word
    from topoopt.schema.words.arguments import amount as amount
    from topoopt.schema.words.arguments import as_flag as as_flag
    from topoopt.schema.words.arguments import as_flags as as_flags
    from topoopt.schema.words.arguments import checked_words as checked_words
    from topoopt.schema.words.arguments import defaults as defaults
    from topoopt.schema.words.arguments import described as described
    from topoopt.schema.words.arguments import panel as panel
    from topoopt.schema.words.arguments import pick as pick
    from topoopt.schema.words.arguments import refuse_empty as refuse_empty
    from topoopt.schema.words.cluster import ClusterWords as ClusterWords
    from topoopt.schema.words.cluster import GeneratorWords as GeneratorWords
    from topoopt.schema.words.cluster import InterleaveWords as InterleaveWords
    from topoopt.schema.words.cluster import MltcpWords as MltcpWords
    from topoopt.schema.words.cluster import PhasesWords as PhasesWords
    from topoopt.schema.words.cluster import ScheduleWords as ScheduleWords
    from topoopt.schema.words.cost import AvailabilityWords as AvailabilityWords
    from topoopt.schema.words.cost import ChooseWords as ChooseWords
    from topoopt.schema.words.cost import CostWords as CostWords
    from topoopt.schema.words.cost import FailureWords as FailureWords
    from topoopt.schema.words.cost import FailWords as FailWords
    from topoopt.schema.words.cost import NetworkWords as NetworkWords
    from topoopt.schema.words.cost import OwnershipWords as OwnershipWords
    from topoopt.schema.words.cost import PricingWords as PricingWords
    from topoopt.schema.words.cost import ResultsWords as ResultsWords
    from topoopt.schema.words.cost import RunningWords as RunningWords
    from topoopt.schema.words.plan import FinderWords as FinderWords
    from topoopt.schema.words.plan import JobWords as JobWords
    from topoopt.schema.words.plan import PlanWords as PlanWords
    from topoopt.schema.words.plan import QuestionWords as QuestionWords
    from topoopt.schema.words.plan import SearchWords as SearchWords
    from topoopt.schema.words.plan import StudioWords as StudioWords
    from topoopt.schema.words.plan import TrafficWords as TrafficWords
    from topoopt.schema.words.post_training import FineTuneWords as FineTuneWords
    from topoopt.schema.words.post_training import RlWords as RlWords
    from topoopt.schema.words.serving import ServingWords as ServingWords
    from topoopt.schema.words.settings import IGNORED_SETTINGS as IGNORED_SETTINGS
    from topoopt.schema.words.settings import SETTINGS_VARIABLE as SETTINGS_VARIABLE
    from topoopt.schema.words.settings import checked_arguments as checked_arguments
    from topoopt.schema.words.settings import read_settings as read_settings
    from topoopt.schema.words.settings import settings_file as settings_file
    from topoopt.schema.words.settings import usual_settings_file as usual_settings_file
    from topoopt.schema.words.synonyms import known_as as known_as
    from topoopt.schema.words.transformer import ConfigurationSearchWords as ConfigurationSearchWords
    from topoopt.schema.words.transformer import DegreeWords as DegreeWords
    from topoopt.schema.words.transformer import EstimateWords as EstimateWords
    from topoopt.schema.words.transformer import FixedWords as FixedWords
    from topoopt.schema.words.transformer import RankTrafficWords as RankTrafficWords
    from topoopt.schema.words.transformer import ShapeWords as ShapeWords
    from topoopt.schema.words.transformer import ShardingWords as ShardingWords
    from topoopt.schema.words.transformer import TrainingWords as TrainingWords
    from topoopt.schema.words.wiring import COLLECTIVE_FORM as COLLECTIVE_FORM
    from topoopt.schema.words.wiring import CollectiveRankWords as CollectiveRankWords
    from topoopt.schema.words.wiring import CollectiveWiringWords as CollectiveWiringWords
    from topoopt.schema.words.wiring import CollectiveWords as CollectiveWords
    from topoopt.schema.words.wiring import FabricWords as FabricWords
    from topoopt.schema.words.wiring import ForwardingWords as ForwardingWords
    from topoopt.schema.words.wiring import PacketWords as PacketWords
    from topoopt.schema.words.wiring import SimulationWords as SimulationWords
    from topoopt.schema.words.wiring import TogetherWords as TogetherWords
    from topoopt.schema.words.wiring import WiringWords as WiringWords
    from topoopt.schema.words.wiring import WorkloadWords as WorkloadWords

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
