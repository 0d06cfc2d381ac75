"""Compiles the C of layers for the mock target and runs it: one executable for many layers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import match
from match.codegen import layer as codegen
from match.codegen.constants import pack_constants
from match.plan import LayerPlan
from match.schedule.mapping import Loop, Placement, Schedule
from tests.codegen.layers import Case, Uint8
from tests.codegen.mock_target import FOLDER, PLAIN, SCRATCHPAD, SIGNED, MockModule

PACKAGE = Path(match.__file__).parent
FLAGS = (
    "-std=c11",
    "-O0",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover",
)
INCLUDE = tuple(f"-I{folder}" for folder in (FOLDER, PACKAGE / "kernels" / "include", PACKAGE / "codegen" / "include"))


def plan(
    case: Case,
    loops: Sequence[Loop] = (),
    depths: dict[str, int] | None = None,
    buffers: dict[str, int] | None = None,
    *,
    symbol: str = "layer_0",
    scratch: int = 0,
) -> LayerPlan:
    """A plan of the mock module with the given placements; an operand that is not named is at depth 0 in one buffer."""
    module = MockModule()
    requant = case.constants.requantization
    requantizer = None if requant is None else SIGNED if requant.negative_step else PLAIN
    operands = module.operands(case.layer, requantizer)
    placements = tuple(
        Placement(o.name, SCRATCHPAD.name, (depths or {}).get(o.name, 0), (buffers or {}).get(o.name, 1))
        for o in operands
    )
    schedule = Schedule(case.layer, operands, (SCRATCHPAD,), tuple(loops), placements, scratch)
    return LayerPlan(
        symbol=symbol,
        target="mock",
        module=module.name,
        layer=case.layer,
        requantizer=requantizer,
        schedule=schedule,
        kernel=module.kernel(case.layer, requantizer),
        negative_step=requant.negative_step if requant else 0,
        constants=pack_constants(module, case.layer, requantizer, case.constants, schedule),
        api=module.api,
    )


@cache
def _platform() -> Path:
    """The mock platform, compiled once per process."""
    folder = TemporaryDirectory(prefix="match-mock-")
    _KEPT.append(folder)
    compiled = Path(folder.name) / "mock.o"
    _gcc("-c", str(FOLDER / "mock.c"), "-o", str(compiled))
    return compiled


_KEPT: list[TemporaryDirectory[str]] = []


def _gcc(*arguments: str) -> None:
    done = subprocess.run(["cc", *FLAGS, *INCLUDE, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _main(plans: Sequence[LayerPlan], cases: Sequence[Case]) -> str:
    """A program that reads the inputs of all layers, runs them and writes their outputs."""
    lines = [
        '#include "mock.h"',
        "#include <stdio.h>",
        "#include <stdlib.h>",
        '#include "match_layers.h"',
        "int main(void) {",
    ]
    lines += ["    if (mock_open() != MATCH_OK) { return 1; }", "    int32_t status;"]
    for number, (item, case) in enumerate(zip(plans, cases, strict=True)):
        names: list[str] = []
        for position, tensor in enumerate(case.inputs):
            names.append(f"in_{number}_{position}")
            lines.append(f"    void *{names[-1]} = malloc({tensor.size});")
            lines.append(f"    if (fread({names[-1]}, {tensor.size}, 1, stdin) != 1) {{ return 2; }}")
        size = item.layer.oy * item.layer.ox * item.layer.k
        lines += [
            f"    void *out_{number} = malloc({size});",
            f"    status = {item.symbol}({', '.join(names)}, out_{number});",
            f'    if (status != MATCH_OK) {{ fprintf(stderr, "layer {number}: status %d", (int)status); return 3; }}',
            f"    fwrite(out_{number}, {size}, 1, stdout);",
            *(f"    free({name});" for name in (*names, f"out_{number}")),
        ]
    return "\n".join([*lines, "    mock_close();", "    return 0;", "}", ""])


def run(
    plans: Sequence[LayerPlan],
    cases: Sequence[Case],
    *,
    trace: Path | None = None,
    environment: dict[str, str] | None = None,
) -> list[Uint8]:
    """Outputs of the layers, each (oy, ox, k). `trace` is where the platform writes what was called."""
    with TemporaryDirectory(prefix="match-codegen-") as name:
        folder = Path(name)
        declarations = "".join(f"{codegen.prototype(item)};\n" for item in plans)
        (folder / "match_layers.h").write_text("#pragma once\n#include <stdint.h>\n" + declarations)
        sources = [folder / f"{item.symbol}.c" for item in plans]
        for item, source in zip(plans, sources, strict=True):
            source.write_text(codegen.generate(item))
        (folder / "main.c").write_text(_main(plans, cases))
        program = folder / "program"
        _gcc(f"-I{folder}", *map(str, sources), str(folder / "main.c"), str(_platform()), "-o", str(program))
        done = subprocess.run(
            [program],
            input=b"".join(tensor.tobytes() for case in cases for tensor in case.inputs),
            capture_output=True,
            check=False,
            env={**os.environ, **(environment or {}), **({"MOCK_TRACE": str(trace)} if trace else {})},
        )
    assert done.returncode == 0, done.stderr.decode()
    stream = np.frombuffer(done.stdout, np.uint8)
    outputs: list[Uint8] = []
    for item in plans:
        shape = (item.layer.oy, item.layer.ox, item.layer.k)
        outputs.append(stream[: np.prod(shape)].reshape(shape))
        stream = stream[np.prod(shape) :]
    assert stream.size == 0
    return outputs
