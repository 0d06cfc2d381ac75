"""What can be set of a target, and that all that is computed from it follows."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest

import match
from match.cost_models.diana import DianaDigitalCost, DianaDma
from match.cost_models.dma import IoDma, Mchan
from match.cost_models.ne16 import Ne16Cost
from match.cost_models.pulp_cluster import PulpClusterCost
from match.errors import MatchError, OptionError, TargetError
from match.mapping.memory import Memory
from match.target.hardware import MatchTarget
from match.target.parameters import made, parameters
from match.target.registry import get_target
from match.targets.diana.target import Diana
from match.targets.gap9.target import Gap9
from match.targets.pulp.cluster import COST
from match.targets.pulp.memory import ClusterSettings
from tests.codegen.mock_target import MockTarget

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("target", ["diana", "gap8", "gap9", "pulp_open"])
def test_defaults_change_nothing(target: str) -> None:
    """What can be set is set to what it is: the same target, whose constants nothing else overrides."""
    plain = get_target(target)
    known = parameters(type(plain))
    again = get_target(target, settings={name: one.default for name, one in known.items()})
    assert [module.cost_model for module in again.modules] == [module.cost_model for module in plain.modules]
    assert [module.memories for module in again.modules] == [module.memories for module in plain.modules]
    assert again.external == plain.external
    assert [platform.defines for platform in again.platforms] == [platform.defines for platform in plain.platforms]


def costs(target: match.MatchTarget) -> tuple[PulpClusterCost, Ne16Cost]:
    cluster, ne16, _ = (module.cost_model for module in target.modules)
    assert isinstance(cluster, PulpClusterCost)
    assert isinstance(ne16, Ne16Cost)
    return cluster, ne16


def test_cores_are_the_same_everywhere() -> None:
    """All costs of what is in the cluster have so many, in each form, and the peak, the stacks in L1, and the C."""
    target = get_target("gap9", settings={"cluster.cores": "4"})
    assert target.settings == {"cluster.cores": 4}
    inside = target.modules[:2]
    for module in inside:
        held = [value for value in vars(module).values() if isinstance(value, PulpClusterCost | Ne16Cost)]
        by_form = [one for value in vars(module).values() if isinstance(value, dict) for one in value.values()]
        assert len(by_form) > 3
        assert {one.cores for one in (*held, *by_form)} == {4}
    assert target.modules[0].peak_macs == 16
    assert {module.memories for module in inside} == {(Memory("L1", 128 * 1024 - 4 * 1152 - 3072),)}
    assert {p.name: p.defines.get("PULP_CLUSTER_CORES") for p in target.platforms} == {
        "host": "4",
        "qemu": "1",
        "rtl": "1",
        "gap_sdk": "4",
    }


def test_the_dma_is_the_same_everywhere() -> None:
    target = get_target("gap9", settings={"dma.bytes": 4, "dma.call": "100"})
    assert {model.dma for model in costs(target)} == {Mchan(bytes=4, call=100)}
    diana = get_target("diana", settings={"dma.bytes": 8})
    digital, _ = diana.modules
    assert isinstance(digital.cost_model, DianaDigitalCost)
    assert digital.cost_model.dma == DianaDma(bytes=8)


def test_the_clock_is_that_of_external_memory() -> None:
    target = get_target("gap9", settings={"clock_hz": "370e6"})
    assert target.clock_hz == 370e6
    assert target.external is not None
    assert isinstance(target.external.dma, IoDma)
    assert target.external.dma.clock_hz == 370e6
    with pytest.raises(TargetError, match=r"^clock_hz of gap9 cannot be set any more, since others were computed"):
        target.clock_hz = 100e6


def test_a_cost_model_is_not_replaced_without_effect() -> None:
    for module in get_target("gap9").modules:
        with pytest.raises(TargetError, match=f"^cost_model of {module.name} cannot be set any more"):
            module.cost_model = replace(COST, cores=4)


def test_another_number_of_cores_has_no_simulated_platform() -> None:
    assert "bare" in {platform.name for platform in get_target("pulp_open").platforms}
    assert "bare" not in {p.name for p in get_target("pulp_open", settings={"cluster.cores": 4}).platforms}


def test_modules_of_one_cluster_have_the_same_cores() -> None:
    target = Gap9()
    target.modules = (target.modules[0], Gap9(cluster=ClusterSettings(cores=4)).modules[1])
    with pytest.raises(TargetError, match=r"^modules of one cluster were made for 4 and 8 cores"):
        _ = target.host


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"cores": 4},
            "target gap9 has no 'cores' to set; what can be set: cluster.cores, cluster.offload, dma.bytes, ",
        ),
        ({"dma": 4}, "target gap9 has no 'dma' to set; what can be set: "),
        (
            {"cluster.cores": "many"},
            "cluster.cores is a whole number, such as 4 or 64k, not 'many'; give ",
        ),
        ({"cluster.cores": 2.5}, "cluster.cores is a whole number, such as 4 or 64k, not 2.5; give another value."),
        ({"cluster.cores": True}, "cluster.cores is a whole number, such as 4 or 64k, not True; give another value."),
        ({"clock_hz": "nan"}, "clock_hz is a number, not 'nan'; give another value."),
        ({"dma.bytes": -8}, "dma.bytes is a whole number, such as 4 or 64k, not -8; give another value."),
        ({"dma.bytes": 0}, "target gap9 cannot have dma.bytes=0: "),
        ({"cluster.cores": 0}, "target gap9 cannot have cluster.cores=0: "),
    ],
)
def test_wrong_settings_are_one_sentence(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(OptionError, match=f"^{re.escape(sentence)}"):
        get_target("gap9", settings=settings)


def test_a_target_that_was_made_is_not_made_again() -> None:
    with pytest.raises(OptionError, match=r"^dma\.bytes is given when a target is made: give its name"):
        get_target(Diana(), settings={"dma.bytes": 8})


@dataclass(frozen=True)
class _Engine:
    rows: int = 4
    fast: bool = False
    label: str = "a"
    hidden: tuple[int, ...] = ()


_ENGINE = _Engine()


class _Chip(MockTarget):
    def __init__(self, engine: _Engine = _ENGINE, frequency: float = 1.0, names: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.engine, self.frequency, self.names = engine, frequency, names


def test_every_kind_of_a_constructors_parameters() -> None:
    assert list(parameters(_Chip)) == ["engine.rows", "engine.fast", "engine.label", "frequency"]
    chip = made(_Chip, {"engine.rows": "2k", "engine.fast": "true", "engine.label": "b", "frequency": 2})
    assert isinstance(chip, _Chip)
    assert chip.engine == _Engine(2048, True, "b")
    assert (type(chip.frequency), chip.frequency) == (float, 2.0)
    with pytest.raises(OptionError, match=r"^engine\.fast is true or false, not 'yes'"):
        made(_Chip, {"engine.fast": "yes"})
    assert parameters(MockTarget) == {}
    with pytest.raises(OptionError, match=r"its constructor has no parameters to set"):
        made(MockTarget, {"rows": 1})


@pytest.fixture
def apart() -> MatchTarget:
    """GAP9 with a memory of NE16's own."""
    target = Gap9()
    cluster, ne16, core = target.modules
    ne16.memories = (Memory("buffer", 16384),)
    target.modules = (cluster, ne16, core)
    return target


def sizes(target: MatchTarget) -> dict[str, int]:
    return {module.name: module.memories[-1].size for module in target.modules if module.memories}


def test_one_size_is_for_memories_that_are_shared(apart: MatchTarget) -> None:
    with pytest.raises(
        OptionError,
        match=r"^modules of gap9 have memories of their own \(L1 of cluster with 118,784 bytes, buffer of ne16 with "
        r"16,384 bytes\), .* give each its own \(--l1 cluster=64k,ne16=64k\)",
    ):
        get_target(apart, l1=4096)
    assert sizes(get_target(apart, l1=4096, modules=["ne16"])) == {"ne16": 4096}


@pytest.mark.parametrize("given", ["cluster=64k,ne16=8k", "cluster=65536+ne16=8192", {"ne16": 8192, "cluster": "64k"}])
def test_memories_of_modules_have_sizes_of_their_own(given: Any, apart: MatchTarget) -> None:
    assert sizes(get_target(apart, l1=given)) == {"cluster": 65536, "ne16": 8192}
    assert sizes(get_target(apart, l1=given, modules=["ne16"])) == {"ne16": 8192}
    assert sizes(apart) == {"cluster": 118784, "ne16": 16384}, "the target that was given is as it was"


def test_a_size_of_one_module_leaves_the_memory_of_others(apart: MatchTarget) -> None:
    larger = get_target(apart, l1="ne16=32k")
    assert sizes(larger) == {"cluster": 118784, "ne16": 32768}
    assert [(one.name, one.bytes, one.own) for one in larger.enlarged] == [("buffer", 32768, 16384)]
    assert sizes(get_target("gap9", l1="ne16=32k")) == {"cluster": 32768, "ne16": 32768}, "which share it"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            "cluster=64k,ne16=32k",
            "L1 of ne16 cannot have 32,768 bytes: other modules of gap9 share it, and it was given",
        ),
        ("cluster=64k,cluster=32k", "the L1 of cluster is given more than once"),
        ("cluster=", r"the L1 \(cluster\) size must be a number of bytes"),
        ("=64k", "sizes of L1 are one, or one for each module, such as cluster=64k,npu=32k; '' has '64k'"),
        ({"cluster": None}, "sizes of L1 are one, or one for each module, .*; 'cluster' has None"),
        ({}, "the L1 sizes by module are none"),
        ("npu=64k", "target gap9 has no module 'npu'; its modules: cluster, ne16"),
        ("cluster=4M", "gap9 cannot have an L1 of 4,194,304 bytes beside a main memory"),
    ],
)
def test_wrong_sizes_by_module_are_one_sentence(given: Any, sentence: str) -> None:
    with pytest.raises(MatchError, match=f"^{sentence}"):
        get_target("gap9", l1=given)


def test_what_can_be_set_is_what_transfers_cost() -> None:
    """No constant of a DMA is left out."""
    known = parameters(Gap9)
    assert {f"dma.{field.name}" for field in fields(Mchan)} <= known.keys()
