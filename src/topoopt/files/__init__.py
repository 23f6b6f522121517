"""Files at the edge: YAML, JSON and CSV in, one-line errors out, and writes that are whole or not at all."""

from topoopt.files.content import parse_json as parse_json
from topoopt.files.content import parse_yaml as parse_yaml
from topoopt.files.content import read_json as read_json
from topoopt.files.content import read_yaml as read_yaml
from topoopt.files.model import Amount as Amount
from topoopt.files.model import BandwidthText as BandwidthText
from topoopt.files.model import BytesText as BytesText
from topoopt.files.model import Count as Count
from topoopt.files.model import EveryKey as EveryKey
from topoopt.files.model import Number as Number
from topoopt.files.model import OneOf as OneOf
from topoopt.files.model import Positive as Positive
from topoopt.files.model import Strict as Strict
from topoopt.files.model import TimeText as TimeText
from topoopt.files.model import noun_from as noun_from
from topoopt.files.model import validated as validated
from topoopt.files.read import check_name as check_name
from topoopt.files.read import is_file as is_file
from topoopt.files.read import read_bytes as read_bytes
from topoopt.files.read import read_text as read_text
from topoopt.files.table import csv_lines as csv_lines
from topoopt.files.table import packaged_rows as packaged_rows
from topoopt.files.write import target_of as target_of
from topoopt.files.write import whole_file as whole_file
from topoopt.files.write import write_atomically as write_atomically
from topoopt.files.write import write_bytes_atomically as write_bytes_atomically
