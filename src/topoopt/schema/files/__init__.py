"""Files at the edge: YAML, JSON and CSV in, one-line errors out, and writes that are whole or not at all."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.schema.files.content import check_name as check_name
    from topoopt.schema.files.content import checked as checked
    from topoopt.schema.files.content import decoded as decoded
    from topoopt.schema.files.content import is_file as is_file
    from topoopt.schema.files.content import parse_json as parse_json
    from topoopt.schema.files.content import parse_toml as parse_toml
    from topoopt.schema.files.content import parse_yaml as parse_yaml
    from topoopt.schema.files.content import read_bytes as read_bytes
    from topoopt.schema.files.content import read_json as read_json
    from topoopt.schema.files.content import read_text as read_text
    from topoopt.schema.files.content import read_yaml as read_yaml
    from topoopt.schema.files.csv_table import csv_lines as csv_lines
    from topoopt.schema.files.csv_table import headed_rows as headed_rows
    from topoopt.schema.files.csv_table import make_plain as make_plain
    from topoopt.schema.files.csv_table import packaged_rows as packaged_rows
    from topoopt.schema.files.foreign import ForeignFile as ForeignFile
    from topoopt.schema.files.model import Amount as Amount
    from topoopt.schema.files.model import BandwidthText as BandwidthText
    from topoopt.schema.files.model import Count as Count
    from topoopt.schema.files.model import EveryKey as EveryKey
    from topoopt.schema.files.model import Name as Name
    from topoopt.schema.files.model import Number as Number
    from topoopt.schema.files.model import OneOf as OneOf
    from topoopt.schema.files.model import Positive as Positive
    from topoopt.schema.files.model import Strict as Strict
    from topoopt.schema.files.model import TimeText as TimeText
    from topoopt.schema.files.model import noun_from as noun_from
    from topoopt.schema.files.model import quantity as quantity
    from topoopt.schema.files.model import validated as validated
    from topoopt.schema.files.model import with_line as with_line
    from topoopt.schema.files.packed import GZIP as GZIP
    from topoopt.schema.files.packed import XZ as XZ
    from topoopt.schema.files.packed import decoding as decoding
    from topoopt.schema.files.packed import unpacked as unpacked
    from topoopt.schema.files.packed import zip_entry as zip_entry
    from topoopt.schema.files.table import check_folder as check_folder
    from topoopt.schema.files.table import check_table_name as check_table_name
    from topoopt.schema.files.table import target_of as target_of
    from topoopt.schema.files.table import whole_file as whole_file
    from topoopt.schema.files.table import write_atomically as write_atomically
    from topoopt.schema.files.table import write_bytes_atomically as write_bytes_atomically
    from topoopt.schema.files.table import write_csv as write_csv
    from topoopt.schema.files.table import write_folder as write_folder
    from topoopt.schema.files.table import write_table as write_table

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
