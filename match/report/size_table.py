"""The sizes of builds as a table, and what one of them needs of the chip's memories."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from rich.console import Console
from rich.table import Table

from match.report.memory import main_memory_use
from match.report.schema import Report
from match.run.size import Size


def show_sizes(report: Report, measured: Size, console: Console, *, own: bool) -> None:
    """Print a row for each build that was measured, and what the network needs of each memory of the chip.

    `measured` is the build of now, and `own` tells whether that is the chip's own code.
    """
    table = Table("bytes", "flags", box=None)
    for column in ("text", "rodata", "data", "bss", "control\nstack", "layer\nstack", "kernel\nstacks"):
        table.add_column(column, justify="right", no_wrap=True)
    for size in report.sizes:
        numbers = (size.text, size.rodata, size.data, size.bss, size.control_stack, size.layer_stack)
        kernels = [f"{module} {_number(stack)}" for module, stack in size.kernel_stacks.items()]
        table.add_row(
            size.platform, size.flags, *map(_number, numbers), "\n".join(kernels) or _number(size.kernel_stack)
        )
    console.print(table, "", sep="\n")
    for line in needs(report, measured if own else None):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if not own:
        text = f"{measured.platform} is not the chip: its code has models of the chip in it, and is in no line above."
        console.print(text, highlight=False, markup=False, soft_wrap=True)


def needs(report: Report, size: Size | None) -> Iterator[str]:
    """Lines that say what a network needs of each memory of the chip; `size` is that of its code on the chip, if known.

    The program lies in main memory where the report estimates that it takes some of it, else in memories of which the
    target says nothing. Inputs and outputs are among the activations, and the network's constants in `rodata`.
    """
    totals, main, flash = report.totals, report.target.main_memory, report.target.flash
    memory = None if isinstance(report.memory, msgspec.UnsetType) else report.memory
    constants = 0 if memory else totals.constant_bytes
    activations = {"activations": main_memory_use(report).activations}
    program, variables = {"estimated for the program": totals.program_bytes}, dict[str, int]()
    if size is not None:
        program = {"code": size.text, "other constants": max(size.rodata - constants, 0)}
        variables = {"variables": size.data + size.bss, "stack": size.control_stack or 0}
    inside = totals.program_bytes > 0
    if flash is not None:
        yield _need(main.name, activations | variables, main.bytes)
        yield _need(flash.name, {"constants": constants} | program, flash.bytes)
    else:
        own = program | variables if inside else {}
        yield _need(main.name, activations | {"constants": constants} | own, main.bytes)
    used: dict[str, int] = {}
    for layer in report.layers:
        for room in layer.schedule.memories if layer.schedule else ():
            used[room.name] = max(used.get(room.name, 0), room.bytes)
    rooms = {room.name: room.bytes for module in report.target.modules for room in module.memories}
    for name, most in used.items():
        if name != main.name:
            yield _need(name, {"": most}, rooms.get(name))
    if memory:
        yield _need(memory.external_memory.name, {"": memory.external_bytes}, memory.external_memory.bytes)
    if size is not None and not inside and flash is None:
        yield _need("Program, in flash and RAM beside that", program | variables, None)


def _need(memory: str, parts: dict[str, int], room: int | None) -> str:
    whole = sum(parts.values())
    named = ", ".join(f"{count:,} {name}" for name, count in parts.items() if count)
    what = f": {named}" if len(parts) > 1 else ""
    if room is None:
        return f"{memory}: needs {whole:,} bytes{what}."
    over = f", {whole - room:,} more than there are" if whole > room else ""
    return f"{memory}: needs {whole:,} of {room:,} bytes ({whole / room:.1%}){over}{what}."


def _number(bytes_: int | None) -> str:
    return "?" if bytes_ is None else f"{bytes_:,}"
