"""Energies of this project's chips: how they follow from what was published, and what kernels make of them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from match.cost_models.diana import DIANA_ENERGY
from match.cost_models.ne16 import Ne16Cost
from match.cost_models.pulp_energy import GAP8_ENERGY, GAP9_ENERGY, PULP_OPEN_ENERGY, PulpEnergy
from match.dispatch.energy import without_energy
from match.ir.layer import Layer, Op
from match.target.cost import Energy
from match.target.registry import get_target
from match.targets.gap9.ne16 import NORM_QUANT, STREAM_OUT
from match.targets.pulp.cluster import COST

pytestmark = pytest.mark.unit

PAGE = Path(__file__).parents[2] / "docs" / "cost-models.md"
TARGETS = ("gap8", "gap9", "pulp_open", "diana")
UNITS = PulpEnergy(
    soc=1.0, core=2.0, cluster=4.0, worker=8.0, l1_byte=0.5, external_byte=100.0, ne16=16.0, ne16_mac=0.25
)


@pytest.mark.parametrize("target", TARGETS)
def test_all_units_have_energies_and_say_that_they_are_estimates(target: str) -> None:
    chip = get_target(target)
    assert without_energy(chip) == ()
    assert chip.estimated_energy


def test_units_at_work_and_those_that_wait() -> None:
    moves = {"L1": 0.5, "L2": 100.0}
    assert UNITS.of_core() == Energy(0.0, moves, cycle=5.0, kernel=2.0)
    assert UNITS.of_cluster(8) == Energy(0.0, moves, cycle=5.0, kernel=64.0, control=8.0)
    assert UNITS.of_ne16(1) == Energy(0.25, moves, cycle=5.0, kernel=24.0, control=8.0)
    assert UNITS.of_ne16(8, 4) == Energy(0.125, moves, cycle=5.0, kernel=80.0, control=8.0)
    assert replace(COST, cores=2, consumption=UNITS).energy == UNITS.of_cluster(2)
    assert Ne16Cost(consumption=UNITS).energy == UNITS.of_ne16(1)
    assert Ne16Cost(consumption=UNITS, stream_out=True).energy == UNITS.of_ne16(8)
    assert Ne16Cost(consumption=UNITS, laid_out=True).energy == UNITS.of_ne16(8)
    assert COST.energy is None


def test_weights_of_fewer_bits_take_less() -> None:
    (_, ne16, _) = get_target("gap9").modules
    layer = Layer("conv", Op.CONV2D, 32, 32, 8, 8, 8, 8, 1, 1)
    for bits, form in ((8, NORM_QUANT[0]), (4, NORM_QUANT[0]), (2, STREAM_OUT[0])):
        energy = ne16.cost(replace(layer, weight_bits=bits), form).energy
        assert energy is not None
        assert energy.mac == GAP9_ENERGY.ne16_mac * bits / 8


def test_settings_change_what_is_computed_from_them() -> None:
    chip = get_target("gap8", settings={"energy.worker": 10.0, "cluster.cores": 4})
    cluster, core = chip.modules
    assert cluster.cost_model.energy == replace(GAP8_ENERGY, worker=10.0).of_cluster(4)
    assert chip.cpu_cost_model.energy == core.cost_model.energy == GAP8_ENERGY.of_core()


def test_the_table_has_the_numbers_of_the_targets() -> None:
    """The rows of docs/cost-models.md, in the order of its columns."""
    rows = dict(re.findall(r"^\| (.+?) \| (.*) \|$", PAGE.read_text().partition("## Energy")[2], re.MULTILINE))

    def row(name: str) -> tuple[float | None, ...]:
        return tuple(float(cell) if cell.strip() else None for cell in rows[name].split("|"))

    chips = (GAP8_ENERGY, GAP9_ENERGY, PULP_OPEN_ENERGY)
    assert row("control core's domain, any cycle") == (*(one.soc for one in chips), DIANA_ENERGY.soc)
    assert row("control core, more while it computes") == (*(one.core for one in chips), DIANA_ENERGY.core)
    first = "cluster, or the digital accelerator, any cycle"
    assert row(first) == (*(one.cluster for one in chips), DIANA_ENERGY.digital)
    assert row("a core of the cluster, more while it works") == (*(one.worker for one in chips), None)
    arrays = tuple(one.ne16 or None for one in chips)
    assert row("NE16, or the array, more while it works") == (*arrays, DIANA_ENERGY.array)
    products = tuple(one.ne16_mac or None for one in chips)
    assert row("a multiply-accumulate there, beside its cycle, 8-bit weights") == (*products, DIANA_ENERGY.mac)
    assert row("a byte between L2 and L1") == (*(one.l1_byte for one in chips), DIANA_ENERGY.l1_byte)
    assert row("a byte between HyperRAM and L2") == (*(one.external_byte for one in chips), None)


def test_numbers_follow_from_what_was_published() -> None:
    """The derivation of docs/cost-models.md, from the sources' numbers, within the digits that are kept."""

    def near(number: float, derived: float) -> bool:
        return number == pytest.approx(derived, rel=0.03)

    cluster = 31 / 0.615 * (0.65 / 0.6) ** 2
    domain = 2 * cluster / 8
    assert near(GAP9_ENERGY.cluster, cluster / 3)
    assert near(GAP9_ENERGY.worker, cluster * 2 / 3 / 8)
    assert near(GAP9_ENERGY.soc, domain / 3)
    assert near(GAP9_ENERGY.core, domain * 2 / 3)
    ne16 = 150.8e9 / 400e6 * 0.33 - cluster - domain / 3
    assert near(GAP9_ENERGY.ne16, ne16 / 2)
    assert near(GAP9_ENERGY.ne16_mac, ne16 / 2 / 162)
    byte = 0.187e-3 / 50e6 / 8 * 1e12 + 2.12 / 4 + 2 * 2.12 / 4
    assert near(GAP9_ENERGY.l1_byte, byte)
    external = 60e-3 * 1.8 / 333e6 * 1e12 + 10 * 15e-12 * 1.8**2 / 2 * 1e12
    assert near(GAP9_ENERGY.external_byte, external)

    whole = 22.65e9 / 175e6 * 4.24 / 1.2**2 * 3 / 4
    share = cluster / (cluster + domain / 3)
    assert near(GAP8_ENERGY.cluster, whole * share / 3)
    assert near(GAP8_ENERGY.worker, whole * share * 2 / 3 / 8)
    assert near(GAP8_ENERGY.soc, whole * share / 4 / 3)
    assert near(GAP8_ENERGY.core, whole * share / 4 * 2 / 3)
    assert near(GAP8_ENERGY.l1_byte, byte * whole * share / cluster)

    waiting = (2.84 + 1.1045 + 9 * 0.0355 + 16 * 0.0052 + 0.1 + 0.0128) * 1e-3 / 50e6 * 1e12
    worker = 4.98 + 6 / 14 * 2.12
    assert near(PULP_OPEN_ENERGY.cluster, waiting)
    assert near(PULP_OPEN_ENERGY.worker, worker)
    assert near(PULP_OPEN_ENERGY.soc, (waiting + 8 * worker) / 4 / 3)
    assert near(PULP_OPEN_ENERGY.core, (waiting + 8 * worker) / 4 * 2 / 3)
    assert near(PULP_OPEN_ENERGY.ne16, 8 * worker * ne16 / (cluster * 2 / 3) / 2)
    assert near(PULP_OPEN_ENERGY.ne16_mac, 8 * worker * ne16 / (cluster * 2 / 3) / 2 / 162)

    array = 2 / 14 * 256 * (0.8 / 0.6) ** 2
    assert near(DIANA_ENERGY.digital, array / 3)
    assert near(DIANA_ENERGY.array, array / 3)
    assert near(DIANA_ENERGY.mac, array / 3 / 256)
    assert near(DIANA_ENERGY.soc, domain / 3 * (0.8 / 0.65) ** 2)
    assert near(DIANA_ENERGY.core, domain * 2 / 3 * (0.8 / 0.65) ** 2)
    assert near(DIANA_ENERGY.l1_byte, byte * (0.8 / 0.65) ** 2)
