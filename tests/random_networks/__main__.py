"""Checks many random networks: `python -m tests.random_networks tflite|onnx FROM TO`."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from tests.random_networks.check import CORES, Asked, Checked, Outcome, check, on_core, options, random_network


def main(arguments: Sequence[str]) -> int:
    """Check the networks of some seeds, one after the other; the exit status is 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_networks", description=__doc__)
    parser.add_argument("kind", choices=("tflite", "onnx"))
    parser.add_argument("first", metavar="FROM", type=int)
    parser.add_argument("end", metavar="TO", type=int, help="the seed after the last")
    parser.add_argument("--with", dest="operator", help="only networks that have this operator")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where the model files of failures are left")
    parser.add_argument("--core", choices=CORES, help="all with exact numerics on this core, under QEMU, too")
    given = parser.parse_args(arguments)
    os.environ.setdefault("CFLAGS", "-O1")  # builds take half as long
    asked = on_core(given.core) if given.core else None
    seeds: Iterable[int] = range(given.first, given.end)
    if given.operator:
        seeds = [seed for seed in seeds if given.operator in random_network(given.kind, seed).operators]
    results = list(_checked(given.kind, seeds, given.keep, asked))
    _say(summary(results))
    return int(any(result.outcome is Outcome.FAILED for result in results))


def summary(results: Sequence[Checked]) -> str:
    """How many networks came to which outcome, and a sentence for all refusals that differ in numbers alone."""
    counts = Counter(result.outcome for result in results)
    exact = sum(one.outcome is Outcome.ADMITTED and one.asked.numerics == "exact" for one in results)
    lines = [", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome)]
    lines.append(f"{exact} of those admitted with exact numerics")
    refused = [result.said for result in results if result.outcome is Outcome.REFUSED]
    sentences = {re.sub(r"\d+", "", said): said for said in refused}
    alike = Counter(re.sub(r"\d+", "", said) for said in refused)
    return "\n".join([*lines, *(f"{count} x {sentences[key]}" for key, count in alike.most_common())])


def _checked(kind: str, seeds: Iterable[int], keep: Path | None, asked: Asked | None) -> Iterator[Checked]:
    """What became of each network; another process checks them, which a fault in C++ may end."""
    pool = _pool()
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            try:
                result = pool.submit(check, kind, seed, Path(folder), asked).result()
            except BrokenProcessPool:
                pool, said = _pool(), "the process ended"
                result = Checked(seed, random_network(kind, seed), asked or options(seed), Outcome.FAILED, said)
        if result.outcome is Outcome.FAILED:
            _say(f"{kind} {seed}: {result.said}\n    {result.asked}\n    {' '.join(result.network.operators)}")
            if keep:
                (keep / f"random{seed}{result.network.suffix}").write_bytes(result.network.data)
        yield result
    pool.shutdown()


def _pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
