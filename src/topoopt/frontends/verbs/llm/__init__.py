"""Transformers on accelerators, in closed form: step time, memory, traffic and the best parallelism."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:  # an estimate needs no pictures
    from topoopt.frontends.verbs.llm.calibrate import calibrate as calibrate
    from topoopt.frontends.verbs.llm.estimate import estimate as estimate
    from topoopt.frontends.verbs.llm.estimate import estimate_runs as estimate_runs
    from topoopt.frontends.verbs.llm.search import search as search
    from topoopt.frontends.verbs.llm.traffic import traffic as traffic
    from topoopt.pages import draw_rank_traffic as draw_rank_traffic
    from topoopt.pages import picture_format as picture_format
    from topoopt.transformers import read_calibration as read_calibration
    from topoopt.transformers import write_calibration as write_calibration

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
