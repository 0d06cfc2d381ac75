"""Where the programs of a Cortex-M run: a PC, QEMU, and the board."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from match.target.hardware import Platform
from match.target.sources import c_files
from match.targets.cortex_m.boards import Board
from match.targets.cortex_m.cores import Core
from match.targets.pulp.chip import PULP_KERNELS

_FOLDERS = "kernels/cortex_m", PULP_KERNELS
_INCLUDE = ("kernels/include", *_FOLDERS, "kernels/chip")

_COMPILER = "arm-none-eabi-gcc"
_STACK_BYTES = 0x4000
_PROGRAM_BYTES = 0x10_0000
"""How many bytes of a machine's RAM the program has for variables and its stack; the bytes after them are the board's
RAM."""


def platforms(board: Board) -> tuple[Platform, ...]:
    """A PC with as much RAM as the board, QEMU with its core, and the board."""
    defines = {"MATCH_CORE_RAM_BYTES": str(board.ram_bytes)}
    return _host(defines), _qemu(board, defines), _chip(board)


def _kernels() -> tuple[str, ...]:
    return ("kernels/chip/match_one_core.c", *(path for folder in _FOLDERS for path in c_files(folder)))


def with_functions(board: Board, chip: Platform) -> tuple[Platform, ...]:
    """A PC and QEMU where the functions of `chip` on a PC stand in for those of a board with more than its RAM."""
    sources = (*map(Path, _kernels()), *chip.sources)
    include = (*map(Path, _INCLUDE), *(folder for folder in chip.include if str(folder) not in _INCLUDE))
    host = replace(chip, sources=sources, include=include)
    qemu = _qemu(board, {})
    counter = Path("targets/cortex_m/qemu/cortex_m_qemu.c")
    defines = {**chip.defines, **qemu.defines}
    return host, replace(qemu, sources=(*sources, counter), include=include, defines=defines)


def _host(defines: Mapping[str, str]) -> Platform:
    sources = "kernels/host/match_host_core.c", "kernels/host/match_host_arena.c"
    return Platform(tuple(map(Path, (*_kernels(), *sources))), tuple(map(Path, (*_INCLUDE, "kernels/host"))), defines)


def _qemu(board: Board, defines: Mapping[str, str]) -> Platform:
    core, machine = board.core, board.core.machine
    memory = (
        *_memory(machine.flash, machine.flash_bytes, machine.ram, _PROGRAM_BYTES),
        f"match_core_ram={machine.ram + _PROGRAM_BYTES:#x}",
    )
    sources = (
        "kernels/chip/match_core_memory.c",
        "kernels/chip/match_stack.c",
        "targets/cortex_m/qemu/cortex_m_qemu.c",
    )
    return Platform(
        tuple(map(Path, (*_kernels(), *sources))),
        tuple(map(Path, _INCLUDE)),
        {**defines, "MATCH_TICK_HUNDREDTHS": str(round(100 * machine.tick))},
        name="qemu",
        compiler=_COMPILER,
        flags=_flags(core),
        link=_link(memory),
        runner="qemu",
        machine=("qemu-system-arm", "-M", machine.name),
        counts="instructions",
        counted=f"These are instructions of a {core.cpu}, not its cycles.",
    )


def _chip(board: Board) -> Platform:
    """The board, where a debugger passes files and what is printed; firmware takes the library alone."""
    sources = (
        "targets/cortex_m/chip/cortex_m_chip.c",
        "targets/cortex_m/chip/cortex_m_cycles.c",
        "targets/cortex_m/chip/cortex_m_heap.c",
    )
    return Platform(
        tuple(map(Path, (*_kernels(), *sources))),
        tuple(map(Path, _INCLUDE)),
        name="chip",
        compiler=_COMPILER,
        flags=_flags(board.core),
        link=_link(_memory(board.flash_at, board.flash_bytes, board.ram_at, board.ram_bytes)),
        runner="debugger",
        counts="cycles",
    )


def _flags(core: Core) -> tuple[str, ...]:
    return (
        f"-mcpu={core.cpu}",
        "-mfloat-abi=hard",
        "--specs=picolibc.specs",
        "--oslib=semihost",
        "-ffunction-sections",
        "-fdata-sections",
    )


def _memory(flash: int, flash_bytes: int, ram: int, ram_bytes: int) -> tuple[str, ...]:
    """What picolibc's linker script has to know."""
    sizes = {"flash": flash, "flash_size": flash_bytes, "ram": ram, "ram_size": ram_bytes, "stack_size": _STACK_BYTES}
    return tuple(f"__{name}={number:#x}" for name, number in sizes.items())


def _link(symbols: Iterable[str]) -> tuple[str, ...]:
    return "-lm", "--crt0=semihost", "-Wl,--gc-sections", *(f"-Wl,--defsym={symbol}" for symbol in symbols)
