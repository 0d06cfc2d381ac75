"""The open PULP platform: a control core with L2, and a cluster of 8 cores that shares 64 kB of L1 with NE16.

GAP9 has the same cluster, DMA, event unit and accelerator. This one's description is open, and so are simulators of it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from match.cost_models.dma import IoDma, Mchan
from match.cost_models.ne16 import SIMULATED
from match.cost_models.pulp_control_core import ControlCoreCost, Stalls
from match.cost_models.pulp_energy import PULP_OPEN_ENERGY, PulpEnergy
from match.cost_models.riscv_core import RiscvCoreCost
from match.ir.layer import Op
from match.mapping.memory import Memory
from match.target.cost import CpuCostModel
from match.target.hardware import External, ExternalPlatform, HwModule, MatchTarget, Platform, ProgramSize
from match.targets.gap9 import ne16
from match.targets.gap9.ne16 import Ne16
from match.targets.gap9.target import NE16_CHIP, NE16_INCLUDE, NE16_MODEL, NE16_SOURCES
from match.targets.pulp import chip, external
from match.targets.pulp import cluster as pulp_cluster
from match.targets.pulp.cluster import Cluster
from match.targets.pulp.control_core import ONE_CORE, ControlCore
from match.targets.pulp.external import HYPERRAM_BYTES
from match.targets.pulp.memory import CORES, ClusterSettings, scratchpad
from match.targets.pulp_open.memory import L1, L1_BYTES, L2

_FOLDER = Path("targets/pulp_open/bare")
_SCRIPT = _FOLDER / "pulp_open.ld"
_SOURCES = (
    "start.S",
    "pulp_open_chip.c",
    "pulp_open_cluster.c",
    "pulp_open_dma.c",
    "pulp_open_memory.c",
    "pulp_open_ne16.c",
    "pulp_open_stdio.c",
)

_CONTROL_CORE = RiscvCoreCost(
    convolution=21.5,
    dense=43.1,
    output=182.0,
    depthwise=153.0,
    call=50.0,
    add=40.0,
    element=21.0,
    sliced=11.0,
    concatenated=21.0,
    transposed=20.0,
    resize=153.0,
    other=27.0,
    softmax=130.0,
    softmax_row=300.0,
    softmax16=300.0,
    softmax16_row=70.0,
    float_operator=120.0,
    exponential=6400.0,
    probability=630.0,
    floating_by_name={
        "add": 300.0,
        "subtract": 300.0,
        "multiply": 300.0,
        "slice": 14.0,
        "concatenate": 14.0,
        "sigmoid": 5300.0,
        "tanh": 8500.0,
        "nn.softmax": 5900.0,
    },
)
"""TVM's C on the control core as GVSoC counts it, which fetches instructions and data from L2 without a cache.

Products and outputs are a fit to the layers of ResNet8, DS-CNN and the auto-encoder with all operators on the control
core, pooling and additions of ResNet8 among them (docs/pulp-open.md). Additions take 28 to 85 cycles an element, those
with corrections for ties or negative values most; `element` is between tables of int8 (20 to 28) and pooling (20).
Softmax was counted in integers, in floating point and with a table of exponentials (622 to 660 an element), slices and
concatenations in a GRU step by step, `resize` on two maps (145 and 162), `floating_by_name` in a GRU in floating point
and, as its copies are loops of words, in rows of 2 to 64 numbers that are joined (14 to 18, 9 of one number),
`transposed` (10 to 25) and `other` (9 to 65) on five of the tests' TFLite files.
"""


_DMA = Mchan(chunk=2, call=160)
"""What a transfer takes the core, start and wait together: the driver of `bare`, counted on GVSoC.

So were pieces: slices of 64 to 576 of them, 8 to 128 bytes each.
"""

_CLUSTER, _KERNEL, _DRIVER = ClusterSettings(offload=650), 700, 1150
"""Cycles of a layer beside its tiles and transfers, of a tile beside its kernel, and of NE16's driver's first call.

Fitted to layers on GVSoC. More than elsewhere, as the master fetches its instructions from L2, and a transfer has what
it takes alone.
"""

_DISPLACED = 900
"""Cycles of NE16's driver in a group behind a kernel of the cluster.

Of eighteen networks on GVSoC; a vision transformer and a mixer, whose dense layers on NE16 are behind additions, take
most, and MLPerf Tiny's 500.
"""

_HELD = 100
"""Cycles less of a small kernel that is called again in a group behind a small one: caches hold all it takes.

A GRU and an LSTM step by step on GVSoC, with some hundred such calls each, take 116 to 130.
"""

_STALLS = Stalls(2.4)
"""Cycles of the control core for one of a core with instructions and data at hand: it fetches both from L2.

It is what GVSoC counts, divided by what RTL counts of the same layers without L2. Slices, transpositions, additions
and max pooling are near this number. Other kinds of layers have their own numbers in `_STALLS_BY_KIND`.
"""

_STALLS_BY_KIND = {
    Op.CONV2D: Stalls(2.3, 0.08),
    Op.DENSE: Stalls(2.03, 0.365),
    Op.DEPTHWISE_CONV2D: Stalls(2.23, 0.13),
    Op.GROUPED_CONV2D: Stalls(2.13, 0.12),
    Op.AVG_POOL2D: Stalls(2.35),
    Op.CONCATENATE: Stalls(2.62),
    Op.MULTIPLY: Stalls(2.25),
    Op.SOFTMAX: Stalls(1.65),
    Op.TRANSPOSE: Stalls(2.25),
    Op.QUANTIZE: Stalls(2.08),
    Op.DEQUANTIZE: Stalls(1.96),
}
"""Fitted to seven networks and an LSTM step by step, all of whose layers are on the core.

A dense layer waits most: it loads five words for sixteen products, and a convolution six words for thirty-two.
"""

_AHEAD = 300
"""What of a tile beside its kernel the master takes until it starts it."""

_CLOCK = 50e6

_HYPER_ISSUE = 640
"""Cycles of the control core for a transfer of the HyperBus: it writes twelve registers, by instructions from L2.

GVSoC counts 578 cycles in the call that starts a transfer, and 62 in the one that sees that all bytes are there: means
of 14 transfers of an auto-encoder.
"""


def _external(clock_hz: float) -> External:
    """HyperRAM by the registers of its controller, a byte a cycle; images are files of a readfs in HyperFlash."""
    return External(
        memory=Memory("L3", HYPERRAM_BYTES),
        api=external.API,
        dma=IoDma(clock_hz, bytes_per_second=clock_hz),
        issue=_HYPER_ISSUE,
        platforms={
            "host": external.STAND_IN,
            "qemu": external.STAND_IN,
            "bare": ExternalPlatform(
                sources=tuple(_FOLDER / "external" / f"pulp_open_{part}.c" for part in ("external", "files", "hyper")),
                include=(_FOLDER / "external",),
                defines={"PULP_EXTERNAL_BYTES": str(HYPERRAM_BYTES)},
            ),
        },
    )


class PulpOpen(MatchTarget):
    """The open PULP platform, both domains at 50 MHz, the frequency at which its simulators start."""

    name = "pulp_open"
    main_memory = L2
    activations = "uint8"
    api = chip.API
    settled = frozenset({"clock_hz"})
    estimated_energy = True
    program = ProgramSize(fixed=32 << 10, operator=768)
    """Without the 64 kB of private banks in front of `L2`. Nine networks with 13 to 149 operators take no more."""

    def __init__(
        self,
        cluster: ClusterSettings = _CLUSTER,
        dma: Mchan = _DMA,
        clock_hz: float = _CLOCK,
        energy: PulpEnergy = PULP_OPEN_ENERGY,
    ) -> None:
        """With the cluster, the DMA, the clock of both domains and the pJ that are given."""
        l1 = scratchpad(L1_BYTES, cluster.cores)
        shared = {"cores": cluster.cores, "offload": cluster.offload, "kernel": _KERNEL}
        self.modules: tuple[HwModule, ...] = (
            Cluster(l1, replace(pulp_cluster.COST, **shared, dma=dma, ahead=_AHEAD, held=_HELD, consumption=energy)),
            Ne16(
                l1,
                replace(
                    ne16.COST,
                    **shared,
                    dma=dma,
                    ahead=_AHEAD,
                    first=_DRIVER,
                    displaced=_DISPLACED,
                    latencies=SIMULATED,
                    consumption=energy,
                ),
            ),
            ControlCore(
                ControlCoreCost(ONE_CORE, stalls=_STALLS, stalls_by_kind=_STALLS_BY_KIND, energy=energy.of_core())
            ),
        )
        self.clock_hz = clock_hz
        self.external = _external(clock_hz)
        self.cpu_cost_model: CpuCostModel = replace(_CONTROL_CORE, energy=energy.of_core())

    @property
    def host(self) -> Platform:
        """The first of `platforms`."""
        return self.platforms[0]

    @property
    def bare(self) -> Platform:
        """The chip without an operating system: what is in the folder `bare`, and picolibc."""
        shared = (*chip.cluster_sources(), *NE16_CHIP, "kernels/chip/match_stack.c", "targets/pulp/async/pulp_async.c")
        return Platform(
            name="bare",
            sources=(*map(Path, shared), *(_FOLDER / name for name in _SOURCES)),
            include=(
                *map(Path, (*chip.CLUSTER_INCLUDE, chip.RISCV_INCLUDE, chip.ASYNC_INCLUDE, *NE16_INCLUDE)),
                _FOLDER,
            ),
            defines={**chip.memory_sizes(self.modules, L1, L2), "MATCH_ASYNC": "1", "MATCH_PULP_ISA_XPULP2": "1"},
            compiler="riscv64-unknown-elf-gcc",
            flags=(*chip.RV32IMC, *chip.PICOLIBC, "-ffunction-sections", "-fdata-sections"),
            link=("-nostartfiles", f"-T{_SCRIPT}", "-Wl,--gc-sections", "-lm"),
            files=(_SCRIPT,),
            io=_FOLDER / "pulp_open_io.c",
            runner="gvsoc",
            machine=("gvsoc", "--target=pulp-open"),
            counts="cycles",
            on="gvsoc",
        )

    @property
    def platforms(self) -> tuple[Platform, ...]:
        """What stands in for the chip, GAP9's but for the size of L1, and the chip itself."""
        stand_ins = chip.platforms(self.modules, L1, L2, (*NE16_SOURCES, *NE16_MODEL), NE16_INCLUDE, "NE16")
        rtl = chip.rtl_platform(self.modules, L1, L2)
        if chip.cores_of(self.modules) != CORES:  # the simulated platform has its own
            return (*stand_ins, rtl)
        return (*stand_ins, rtl, self.bare)
