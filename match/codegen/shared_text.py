"""C that the layers of a module share: blocks and their transfers, kernel calls, and what surrounds a layer's loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from match.codegen.c_text import render, wrap
from match.dispatch.plan import LayerPlan
from match.ir.names import identifier
from match.target.hardware import Allocator, DirectApi, ExternalApi, HwModule, MatchTarget, ModuleApi
from match.target.registry import get_target

EXTERNAL = "match_external"
"""Begins the names of what moves blocks between main memory and an external one."""

MOST_BLOCKS = 16
"""Blocks of a layer in a module's memories: two buffers for each operand, partial sums and scratch."""

TILE_FIELDS = (
    *("input", "addend", "weights", "parameters", "excepted", "exceptions", "output", "sums_in", "sums_out", "scratch"),
    *("channels_in", "channels_out", "input_height", "input_width", "input_row_stride", "input_pixel_stride"),
    *("addend_row_stride", "addend_pixel_stride", "output_height", "output_width", "output_row_stride"),
    *("output_pixel_stride", "filter_height", "filter_width", "stride_y", "stride_x", "dilation_y", "dilation_x"),
    *("pad_top", "pad_left", "pad_bottom", "pad_right", "pad_value", "clip_low", "clip_high", "negative_step", "shift"),
    *("input_channel_stride", "addend_channel_stride", "output_channel_stride", "groups", "weight_bits"),
)
"""The fields of match_tile_t, in its order."""

CLEARED: Mapping[str, str] = MappingProxyType(
    {field: "NULL" if number < TILE_FIELDS.index("channels_in") else "0" for number, field in enumerate(TILE_FIELDS)}
)
"""What the fields of a tile are before they are set: nothing."""


def module_prefix(module: str) -> str:
    """Begins the names of what the layers of a module share."""
    return f"match_on_{identifier(module)}"


def plan_files(plans: Iterable[LayerPlan]) -> dict[str, str]:
    """Headers and C files that layers with these plans share, by name. They are the same for all networks."""
    shared = [text for plan in plans for text in _of_plan(plan)]
    return _files(shared)


def shared_files(target: str | MatchTarget) -> dict[str, str]:
    """Headers and C files that the layers of a target share, by name, for who builds layers by ``tvm.relay.build``."""
    return _files(_of_module(module) for module in get_target(target).modules)


def _of_module(module: HwModule) -> SharedText | DirectSharedText:
    if isinstance(module.api, DirectApi):
        return DirectSharedText.of_module(module.name, module.api)
    return SharedText.of_module(module.name, module.memories[-1].name, module.api)


def _of_plan(plan: LayerPlan) -> list[SharedText | DirectSharedText]:
    if plan.direct is not None:
        return [DirectSharedText.of_module(plan.module, plan.direct)]
    memory = plan.schedule.inner_memory.name
    found: list[SharedText | DirectSharedText] = [
        SharedText.of_module(unit.name, memory, unit.api) for unit in plan.units if unit.api is not None
    ]
    if plan.external is not None:
        found.append(SharedText.of_external(plan.schedule.memories[0].name, plan.external))
    return found


def _files(shared: Iterable[SharedText | DirectSharedText]) -> dict[str, str]:
    return {
        f"{text.name}.{suffix}": wrap(render(f"{text.template}.{suffix}.mako", shared=text))
        for text in shared
        for suffix in ("h", "c")
    }


@dataclass(frozen=True)
class DirectSharedText:
    """What the templates ask of a module without a scratchpad, whose layers share the context with nothing in it."""

    template: ClassVar[str] = "direct_shared"
    cleared: ClassVar[Mapping[str, str]] = CLEARED

    name: str
    title: str
    headers: tuple[str, ...]

    @classmethod
    def of_module(cls, module: str, api: DirectApi) -> DirectSharedText:
        """What layers on a module share."""
        return cls(module_prefix(module), f"What layers on {module} share: a kernel's context.", api.headers)

    @property
    def guard(self) -> str:
        """Macro that the header defines."""
        return f"{self.name}_H".upper()


@dataclass(frozen=True)
class SharedText:
    """What the templates ask; `api` is None where layers of all modules share what moves blocks outside of them."""

    template: ClassVar[str] = "shared"
    cleared: ClassVar[Mapping[str, str]] = CLEARED
    """What a tile's fields are before they are set: nothing, each by name."""

    name: str
    title: str
    module: str
    memory: str
    headers: tuple[str, ...]
    transfer: str
    copy_in: str
    copy_out: str
    wait: str
    api: ModuleApi | None = None

    @classmethod
    def of_module(cls, module: str, memory: str, api: ModuleApi) -> SharedText:
        """What layers on a module share; `memory` is the one that its kernels work on."""
        return cls(
            name=module_prefix(module),
            title=f"What layers on {module} share: blocks in {memory} with their transfers, kernel calls, execution.",
            module=module,
            memory=memory,
            headers=api.headers,
            transfer=api.memory.transfer,
            copy_in=api.memory.copy_in,
            copy_out=api.memory.copy_out,
            wait=api.sync.wait_transfer,
            api=api,
        )

    @classmethod
    def of_external(cls, memory: str, api: ExternalApi) -> SharedText:
        """What layers share that have blocks in main memory of tensors in an external one."""
        return cls(
            name=EXTERNAL,
            title=f"What layers share whose tensors are in external memory: blocks in {memory} with their transfers.",
            module="",
            memory=memory,
            headers=api.headers,
            transfer=api.transfer,
            copy_in=api.copy_in,
            copy_out=api.copy_out,
            wait=api.wait,
        )

    @property
    def under_way(self) -> int:
        """How many kernel calls may be under way while the core goes on; 0: none."""
        return self.api.compute.under_way if self.api else 0

    @property
    def guard(self) -> str:
        """Macro that the header defines."""
        return f"{self.name}_H".upper()

    @property
    def most(self) -> str:
        """Constant with the number of blocks that a layer may have."""
        return f"{self.name}_BLOCKS".upper()

    @property
    def limit(self) -> int:
        """That number."""
        return MOST_BLOCKS

    @property
    def private(self) -> tuple[tuple[str, Allocator], ...]:
        """Operands in memories of their own, in the order of their blocks, which follow all others."""
        return self.api.memory.private if self.api else ()

    def before(self, operand: str) -> str:
        """Number of the first block of an operand in a memory of its own."""
        names = [name for name, _ in self.private]
        return " - ".join(["layer->count", *(f"layer->{name}" for name in names[names.index(operand) :])])

    @property
    def reserve(self) -> str:
        """Expression that reserves the next block."""
        assert self.api
        return "reserve(layer, reserved)" if self.private else f"{self.api.memory.allocate}(layer->bytes[reserved])"

    @property
    def release(self) -> str:
        """Statement that gives the last block back."""
        assert self.api
        block = "blocks[reserved].data"
        return f"release(layer, reserved, {block})" if self.private else f"{self.api.memory.free}({block})"
