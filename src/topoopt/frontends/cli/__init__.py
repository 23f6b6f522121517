"""The command line: one file for each verb or group; it reads arguments, calls the library and prints."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:  # the program starts with what it needs; the other names are for commands of plug-ins
    from topoopt.frontends.cli.entry import main as main
    from topoopt.frontends.cli.exit_code import INTERRUPTED as INTERRUPTED
    from topoopt.frontends.cli.exit_code import was_interrupted as was_interrupted
    from topoopt.frontends.cli.output import check_folder_name as check_folder_name
    from topoopt.frontends.cli.output import check_table as check_table
    from topoopt.frontends.cli.output import check_writable as check_writable
    from topoopt.frontends.cli.output import print_json as print_json
    from topoopt.frontends.cli.output import progress as progress
    from topoopt.frontends.cli.output import show as show
    from topoopt.frontends.cli.output import show_page as show_page
    from topoopt.frontends.cli.verbs import flagged as flagged
    from topoopt.frontends.cli.verbs import group as group
    from topoopt.frontends.cli.word_flags import spread as spread

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
