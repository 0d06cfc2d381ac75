"""Checks many changed model files: `python -m tests.mutated_models tflite|variables|onnx|integer FROM TO`."""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Sequence

from tests.mutated_models.processes import checked


def main(arguments: Sequence[str]) -> int:
    """Check the files of some seeds, one after the other; the exit status is 1 if one is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutated_models", description=__doc__)
    parser.add_argument("kind", choices=("tflite", "variables", "onnx", "integer"))
    parser.add_argument("first", metavar="FROM", type=int)
    parser.add_argument("end", metavar="TO", type=int, help="the seed after the last")
    given = parser.parse_args(arguments)
    sentences, wrong, networks = Counter[str](), 0, 0
    for result in checked(given.kind, range(given.first, given.end)):
        if result.wrong:
            wrong += 1
            sys.stdout.write(f"{given.kind} {result.seed}: {result.wrong} {result.said}\n")
            sys.stdout.flush()
        elif result.said:
            sentences[re.sub(r"'[^']*'|\d+", "", result.said)] += 1
        else:
            networks += 1
    sys.stdout.write(f"{networks} networks, {sentences.total()} sentences, {wrong} wrong\n")
    sys.stdout.writelines(f"{count} x {said}\n" for said, count in sentences.most_common())
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
