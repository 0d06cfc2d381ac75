"""What the units of a PULP chip consume: a cluster, a control core and its domain, NE16, memories.

All of it is estimated: publications give the power of a whole chip at full work. How each number follows from them, and
what is assumed on the way, is in docs/cost-models.md#energy.
"""

from __future__ import annotations

from dataclasses import dataclass

from match.ir.layer import WIDEST_WEIGHTS
from match.target.cost import Energy


@dataclass(frozen=True)
class PulpEnergy:
    """pJ of the units of a PULP chip at one supply voltage, of a cycle unless said otherwise.

    soc: the control core's domain, in any cycle: clocks and leakage of main memory, interconnect and the waiting core.
    core: more while the control core computes.
    cluster: the cluster, in any cycle: clocks and leakage, its cores wait.
    worker: more while one of its cores works, with its accesses to L1.
    l1_byte: a byte between L2 and L1. external_byte: a byte between external memory and L2.
    ne16: more while NE16 works, whatever it computes; 0 without one. ne16_mac: one of its multiply-accumulates, with
        weights of 8 bits; those of fewer bits take a share, as the array takes a bit at a time.
    """

    soc: float
    core: float
    cluster: float
    worker: float
    l1_byte: float
    external_byte: float
    ne16: float = 0.0
    ne16_mac: float = 0.0

    def of_core(self) -> Energy:
        """The control core, while the cluster waits."""
        return Energy(0.0, self._bytes, cycle=self.soc + self.cluster, kernel=self.core)

    def of_cluster(self, cores: int) -> Energy:
        """The cluster with so many workers, while the control core waits; one core launches kernels and transfers."""
        return Energy(0.0, self._bytes, self.soc + self.cluster, cores * self.worker, self.worker)

    def of_ne16(self, cores: int, weight_bits: int = WIDEST_WEIGHTS) -> Energy:
        """NE16 while so many of the cluster's cores work, one that drives it or all beside it."""
        mac = self.ne16_mac * weight_bits / WIDEST_WEIGHTS
        return Energy(mac, self._bytes, self.soc + self.cluster, self.ne16 + cores * self.worker, self.worker)

    @property
    def _bytes(self) -> dict[str, float]:
        return {"L1": self.l1_byte, "L2": self.external_byte}


GAP8_ENERGY = PulpEnergy(soc=22.0, core=44.0, cluster=88.0, worker=22.0, l1_byte=9.4, external_byte=570.0)
"""At 1.0 V and 100 MHz."""

GAP9_ENERGY = PulpEnergy(
    soc=4.9, core=9.9, cluster=19.7, worker=4.9, l1_byte=2.1, external_byte=570.0, ne16=30.0, ne16_mac=0.19
)
"""At 0.65 V and 260 MHz."""

PULP_OPEN_ENERGY = PulpEnergy(
    soc=11.4, core=22.7, cluster=89.2, worker=5.9, l1_byte=2.1, external_byte=570.0, ne16=36.0, ne16_mac=0.22
)
"""By the power model of GVSoC, at 50 MHz."""
