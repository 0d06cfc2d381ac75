"""A sweep in files: JSON, CSV and Parquet."""

from __future__ import annotations

from pathlib import Path

from match.files.output import check_ending, check_file, whole_file
from match.sweeping.run import table
from match.sweeping.schema import SweepResult, encode

ENDINGS = (".json", ".csv", ".parquet")


def check_files(files: list[Path]) -> None:
    """Find out if the files can be written. Raises OptionError or OutputError if one cannot."""
    for file in files:
        check_ending(file, ENDINGS, "a sweep")
        check_file(file)


def write(result: SweepResult, file: Path) -> None:
    """Write a sweep as the ending of the file's name says. Raises OutputError if it cannot be written."""
    with whole_file(file) as unfinished:
        match file.suffix.lower():
            case ".json":
                unfinished.write_bytes(encode(result))
            case ".csv":
                table(result).to_csv(unfinished, index=False, lineterminator="\n")
            case _:
                table(result).to_parquet(unfinished, index=False)
