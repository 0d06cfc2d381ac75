"""GAP8: GAP9's cluster in smaller memories, without its accelerator."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from match.cost_models.pulp_cluster import PulpClusterCost
from match.target.registry import get_target
from match.targets.gap8.target import Gap8
from match.targets.gap9.target import Gap9
from match.targets.pulp.operators import OPERATORS

pytestmark = pytest.mark.unit

KIB = 1024
PROJECT = Path(__file__).resolve().parents[2]


def test_gap8_is_installed() -> None:
    assert isinstance(get_target("gap8"), Gap8)


def test_memories_and_clock() -> None:
    """8 workers and the master keep their stacks in 64 kB: 1 and 4 kB each."""
    target = Gap8()
    assert target.main_memory.size == 512 * KIB
    assert [module.scratchpad_bytes for module in target.modules] == [(64 - 8 - 4) * KIB, 0]
    assert target.clock_hz == 100e6
    sizes = {"PULP_L1_BYTES": str(52 * KIB), "PULP_L2_BYTES": str(512 * KIB)}
    assert target.host.defines == {**sizes, "MATCH_ASYNC": "1"}


def test_modules_are_those_of_gap9_but_ne16() -> None:
    cluster, core = Gap8().modules
    assert type(core) is type(Gap9().modules[-1])
    other = next(module for module in Gap9().modules if module.name == "cluster")
    assert type(cluster) is type(other)
    assert cluster.patterns() == other.patterns()
    ours, theirs = cluster.cost_model, other.cost_model
    assert isinstance(ours, PulpClusterCost)
    assert isinstance(theirs, PulpClusterCost)
    assert ours.consumption != theirs.consumption
    assert replace(ours, consumption=theirs.consumption) == theirs


def test_nothing_of_ne16_is_compiled() -> None:
    sources = [path.as_posix() for path in Gap8().host.sources]
    assert not [path for path in sources if "ne16" in path]
    assert "targets/pulp/host/pulp_no_accelerator.c" in sources
    assert "targets/pulp/host/pulp_no_accelerator.c" not in {path.as_posix() for path in Gap9().host.sources}


def test_every_kernel_of_an_operator_is_declared() -> None:
    """With or without the end that tells its form of requantization, or 16 bits."""
    header = (PROJECT / "kernels/pulp/match_pulp.h").read_text()
    declared = re.findall(r"^void (match_pulp_\w+)\(", header, re.MULTILINE)
    for own in OPERATORS.values():
        ends = {one.removeprefix(own.kernel) for one in declared if one.startswith(own.kernel)}
        assert ends & {"", "_int32", "_high", "_split", "_int16"}, f"declare {own.kernel} in kernels/pulp/match_pulp.h"
        assert not own.int16 or "_int16" in ends, f"declare {own.kernel}_int16 in kernels/pulp/match_pulp.h"


def test_every_kernel_is_compiled_on_every_platform() -> None:
    kernels = {path.name for path in (PROJECT / "kernels" / "pulp").glob("*.c")}
    target = Gap8()
    for platform in (target.host, *target.platforms):
        missing = kernels - {path.name for path in platform.sources}
        assert kernels
        assert not missing, f"{platform.name} has not {missing}"
