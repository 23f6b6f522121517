"""A choice as files: the answer as JSON, and a table of all networks."""

import json
from importlib.util import find_spec
from pathlib import Path

from topoopt.schema.files import write_atomically, write_table
from topoopt.studies.choice.answer import Choice

ANSWER, TABLE, PARQUET = "choice.json", "networks.csv", "networks.parquet"


def write_choice(folder: str, choice: Choice) -> tuple[str, ...]:
    """Write a choice into a folder that exists, and return the names of the files; Parquet where pyarrow is installed.

    Raises
    ------
    InvalidInput
        If a file cannot be written.
    """
    place = Path(folder)
    write_atomically(place / ANSWER, json.dumps(choice.to_json(), indent=2, ensure_ascii=False) + "\n")
    names = (TABLE, PARQUET) if find_spec("pyarrow") else (TABLE,)
    columns, rows = choice.table()
    for name in names:
        write_table(str(place / name), columns, rows)
    return (ANSWER, *names)
