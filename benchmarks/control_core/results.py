"""What the benchmark writes, as types."""

from __future__ import annotations

import msgspec


class Operator(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All layers with an operator in networks that were counted: `layers` of them.

    `kernels` and `generated` are what one inference takes of each network, by kernels of the core and as TVM's C:
    cycles on RTL; `kernel_instructions` and `generated_instructions` under QEMU.
    """

    op: str
    layers: int
    kernels: int
    generated: int
    kernel_instructions: int
    generated_instructions: int


class Network(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Predicted cycles of a network on a target with the core's kernels and, in their place, with TVM's C.

    `rescaled`: as of `match compile --rescale`.
    """

    network: str
    target: str
    rescaled: bool
    kernels: int
    generated: int


class Results(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was counted, operators in the order of their names, and what is predicted, in the order of tables."""

    schema_version: int = 1
    operators: tuple[Operator, ...]
    networks: tuple[Network, ...]
