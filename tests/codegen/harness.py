"""Compiles the C of layers for a target's host platform and runs it: one executable for many layers."""

from __future__ import annotations

import math
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from match.analysis.trace import LayerTrace, read_trace
from match.codegen import layer as codegen
from match.codegen.shared_text import plan_files
from match.dispatch.packed_constants import pack_constants
from match.dispatch.plan import LayerPlan, OperatorPlan
from match.ir.attributes import Transposition
from match.ir.layer import Role
from match.ir.requantization import Requantizer
from match.mapping.schedule import Loop, Placement, Schedule
from match.mapping.storage import Storage, storage
from match.target.hardware import DirectApi, HwModule, MatchTarget
from match.target.operands import OUTPUT, WEIGHTS
from tests.codegen.layers import Case, Tensor
from tests.codegen.mock_target import EXTERNAL_API, FOLDER, PLAIN, SIGNED, MockModule, MockTarget
from tests.kernels.toolchain import PACKAGE, SANITIZE, STRICT

QUICKLY = "-O0"
"""In front of a compiler's arguments: a layer is compiled for one run."""

STRICTER = (
    *("-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wundef", "-Wpedantic", "-Wcast-qual", "-Wcast-align=strict"),
    *("-Wstrict-prototypes", "-Wmissing-prototypes", "-Wredundant-decls", "-Wswitch-enum", "-Wdouble-promotion"),
    "-Wvla",
)
"""What firmware may ask of generated layers beside `STRICT`."""


def plan(
    case: Case,
    loops: Sequence[Loop] = (),
    depths: Mapping[str, int] | None = None,
    buffers: Mapping[str, int] | None = None,
    *,
    symbol: str = "layer_0",
    scratch: int = 0,
    module: HwModule | None = None,
    requantizer: Requantizer | None = None,
) -> LayerPlan:
    """A plan with the given placements; an operand that is not named is at depth 0 in one buffer.

    Without a module it is the mock's, with its own choice of requantizer.
    """
    requant = case.constants.requantization
    if module is None:
        module = MockModule()
        requantizer = None if requant is None else SIGNED if requant.negative_step is not None else PLAIN
    operands = module.operands(case.layer, requantizer)
    memory = module.memories[-1]
    placements = tuple(
        Placement(o.name, memory.name, (depths or {}).get(o.name, 0), (buffers or {}).get(o.name, 1)) for o in operands
    )
    schedule = Schedule(case.layer, operands, (memory,), tuple(loops), placements, scratch)
    return scheduled(case, schedule, symbol=symbol, module=module, requantizer=requantizer)


def scheduled(
    case: Case, schedule: Schedule, *, symbol: str, module: HwModule, requantizer: Requantizer | None
) -> LayerPlan:
    """A plan with the given schedule; of one with two memories the network has the constants."""
    requant = case.constants.requantization
    step = requant.negative_step if requant else None
    two = len(schedule.memories) == 2
    return LayerPlan(
        symbol=symbol,
        target="chip",
        module=module.name,
        layer=case.layer,
        schedule=schedule,
        operators=(
            OperatorPlan(
                module.kernel(case.layer, requantizer),
                requantizer,
                0 if step is None else int(step.max()),
                int(requant.shift[0]) if requant and requantizer and not requantizer.per_channel_shift else 0,
            ),
        ),
        constants=pack_constants([module], case.layer, [requantizer], [case.constants], schedule),
        api=module.scratchpad_api,
        direct=module.api if isinstance(module.api, DirectApi) else None,
        external=EXTERNAL_API if two else None,
        constants_at="network" if two and any(operand.name == WEIGHTS for operand in schedule.operands) else "code",
    )


def run(
    plans: Sequence[LayerPlan],
    cases: Sequence[Case],
    *,
    target: MatchTarget | None = None,
    trace: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> list[Tensor]:
    """Outputs of the layers, each (oy, ox, k). `trace` is where the mock writes what was called."""
    variables = {**(environment or {}), **({"MOCK_TRACE": str(trace)} if trace else {})}
    return _outputs(plans, _execute(plans, cases, target or MockTarget(), variables)[0])


def _outputs(plans: Sequence[LayerPlan], written: bytes) -> list[Tensor]:
    stream = np.frombuffer(written, np.uint8)
    outputs: list[Tensor] = []
    for item in plans:
        size = tensor_bytes(item)[-1]
        unit = item.layer.get(Transposition).element_bytes
        wide = item.layer.output_dtype in ("float32", "int16")
        elements = stream[:size].view(item.layer.output_dtype if wide else f"V{unit}" if unit > 1 else "uint8")
        outputs.append(plain(elements, layouts(item)[-1]))
        stream = stream[size:]
    assert stream.size == 0
    return outputs


def layouts(item: LayerPlan) -> list[Storage]:
    """How inputs and, last, the output lie in main memory."""
    return [storage(operand) for operand in item.schedule.operands if operand.role is not Role.CONSTANT]


def tensor_bytes(item: LayerPlan) -> list[int]:
    """Bytes of the inputs and, last, of the output in main memory."""
    operands = [operand for operand in item.schedule.operands if operand.role is not Role.CONSTANT]
    return [math.prod(storage(operand).room) * operand.components[0].element_bytes for operand in operands]


def stored(tensor: Tensor, layout: Storage) -> Tensor:
    """(rows, columns, channels) in main memory; room that is left over holds what no layer may depend on."""
    array = np.full(math.prod(layout.room) * tensor.itemsize, 0xA5, np.uint8).view(tensor.dtype).reshape(layout.room)
    array[tuple(slice(layout.shape[axis]) for axis in layout.order)] = tensor.transpose(layout.order)
    return array.reshape(-1, layout.byte_group)[:, ::-1].copy()


def plain(stream: Tensor, layout: Storage) -> Tensor:
    """From main memory to (rows, columns, channels)."""
    array = stream.reshape(-1, layout.byte_group)[:, ::-1].reshape(layout.room)
    array = array[tuple(slice(layout.shape[axis]) for axis in layout.order)]
    return array.transpose(np.argsort(layout.order))


def trace_of(
    plans: Sequence[LayerPlan],
    cases: Sequence[Case],
    *,
    target: MatchTarget | None = None,
    change: Callable[[str], str] = str,
) -> list[LayerTrace]:
    """What the layers do when they run; `change` is applied to the generated C first."""
    return traced_run(plans, cases, target=target, change=change)[1]


def traced_run(
    plans: Sequence[LayerPlan],
    cases: Sequence[Case],
    *,
    target: MatchTarget | None = None,
    change: Callable[[str], str] = str,
    flags: tuple[str, ...] = (),
) -> tuple[list[Tensor], list[LayerTrace]]:
    """Outputs of the layers and what they do when they run.

    `change` is applied to the generated C first; `flags` are more of the compiler's.
    """
    written, printed = _execute(plans, cases, target or MockTarget(), {}, change, traced=True, flags=flags)
    return _outputs(plans, written), list(read_trace(printed.splitlines()))


def _execute(
    plans: Sequence[LayerPlan],
    cases: Sequence[Case],
    chip: MatchTarget,
    environment: Mapping[str, str],
    change: Callable[[str], str] = str,
    *,
    traced: bool = False,
    flags: tuple[str, ...] = (),
) -> tuple[bytes, str]:
    """All outputs one after the other, and what was printed."""
    with TemporaryDirectory(prefix="match-codegen-") as name:
        folder = Path(name)
        functions = [codegen.prototype(item) for item in plans]
        functions += [callback.prototype for item in plans for callback in codegen.callbacks(item)]
        declarations = "".join(f"{function};\n" for function in functions)
        (folder / "layers.h").write_text("#pragma once\n#include <stdint.h>\n" + declarations)
        sources = [folder / f"{item.symbol}.c" for item in plans]
        for item, source in zip(plans, sources, strict=True):
            source.write_text(change(codegen.generate(item)))
        shared = plan_files(plans)
        for file, text in shared.items():
            (folder / file).write_text(text)
        sources += [folder / file for file in shared if file.endswith(".c")]
        (folder / "main.c").write_text(_main(plans, cases, chip))
        program = folder / "program"
        tracing = ("-DMATCH_TRACE",) if traced else ()
        # Named as seen from the folder: ccache knows them in whatever folder they are.
        generated = [Path(source.name) for source in sources]
        common = [FOLDER / "mock_external.c", *([PACKAGE / "codegen/src/trace.c"] if traced else [])]
        objects = [*_platform(type(chip), flags)]
        for source in (*generated, Path("main.c"), *common):
            objects.append(f"{source.stem}.o")
            checks = (QUICKLY, *(STRICTER if source in generated else ()))
            _gcc(chip, *checks, *flags, "-I.", f"-I{FOLDER}", *tracing, "-c", str(source), "-o", objects[-1], at=folder)
        _gcc(chip, *flags, *objects, "-o", str(program), "-lm", at=folder)
        done = subprocess.run(
            [program, folder / "outputs"],
            input=b"".join(_tensors(item, case) for item, case in zip(plans, cases, strict=True)),
            capture_output=True,
            check=False,
            env={**os.environ, **environment},
        )
        assert done.returncode == 0, done.stderr.decode()
        return (folder / "outputs").read_bytes(), done.stdout.decode()


_KEPT: list[TemporaryDirectory[str]] = []


@cache
def _platform(kind: type[MatchTarget], flags: tuple[str, ...]) -> tuple[str, ...]:
    """The host platform of a target, compiled once per process."""
    target = kind()
    folder = TemporaryDirectory(prefix="match-platform-")
    _KEPT.append(folder)
    compiled: list[str] = []
    for source in target.host.sources:
        compiled.append(f"{folder.name}/{source.stem}.o")
        _gcc(target, *flags, "-c", str(source), "-o", compiled[-1])
    return tuple(compiled)


def _gcc(target: MatchTarget, *arguments: str, at: Path | None = None) -> None:
    """Compile `at` a folder with the options of sanitized projects.

    Without a folder it is the package, and headers are named as in projects: ccache then knows the platform from these.
    """
    headers = (*target.host.include, Path("codegen/include"))
    include = [f"-I{folder if at is None else PACKAGE / folder}" for folder in headers]
    defines = [f"-D{name}={value}" for name, value in target.host.defines.items()]
    command = [*os.environ.get("CC", "cc").split(), *STRICT, *SANITIZE, *include, *defines, *arguments]
    done = subprocess.run(command, cwd=at or PACKAGE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _tensors(item: LayerPlan, case: Case) -> bytes:
    """What the program reads for a layer."""
    constants = item.constants if item.constants_at == "network" else b""
    inputs = zip(case.inputs, layouts(item), strict=False)
    return b"".join(stored(tensor, layout).tobytes() for tensor, layout in inputs) + constants


def _main(plans: Sequence[LayerPlan], cases: Sequence[Case], target: MatchTarget) -> str:
    """A program that reads the tensors of all layers, runs them and writes their outputs."""
    lines = [
        *(f'#include "{header}"' for header in target.api.headers),
        "#include <stdio.h>",
        "#include <stdlib.h>",
        "#include <string.h>",
        '#include "layers.h"',
        '#include "mock_external.h"',
    ]
    for number, item in enumerate(plans):
        if item.external:
            lines += [
                f"static uint8_t *blocks_{number};",
                f"uint8_t *{item.symbol}_blocks(void) {{ return blocks_{number}; }}",
            ]
        if item.constants_at == "network":
            lines += [
                f"static uint8_t *constants_{number};",
                f"int32_t {item.symbol}_constants(const uint8_t **constants) {{",
                f"    *constants = constants_{number};",
                "    return MATCH_OK;",
                "}",
            ]
    lines += [
        "int main(int argc, char **argv) {",
        '    FILE *const out = argc == 2 ? fopen(argv[1], "wb") : NULL;',
        "    if (out == NULL) { return 4; }",
        f"    if ({target.api.open}() != MATCH_OK) {{ return 1; }}",
        "    int32_t status;",
    ]
    for number, (item, case) in enumerate(zip(plans, cases, strict=True)):
        lines += _call(number, item, case)
    return "\n".join([*lines, f"    {target.api.close}();", "    return fclose(out);", "}", ""])


def _call(number: int, item: LayerPlan, case: Case) -> list[str]:
    """Statements that run one layer; operands that its first of two memories holds lie in external memory."""
    memory = item.schedule.memories[0] if item.external else None

    def external(operand: str) -> str:
        return "true" if memory is not None and memory.has(operand) else "false"

    lines: list[str] = []
    names: list[str] = []
    *inputs, size = tensor_bytes(item)
    operands = [operand.name for operand in item.schedule.operands if operand.role is Role.INPUT]
    for operand, read, _ in zip(operands, inputs, case.inputs, strict=True):
        names.append(f"{operand}_{number}")
        lines.append(f"    void *{names[-1]} = mock_external_tensor({read}, {external(operand)});")
        lines.append(f"    if ({names[-1]} == NULL) {{ return 2; }}")
    if item.constants_at == "network":
        lines.append(f"    constants_{number} = mock_external_tensor({len(item.constants)}, {external(WEIGHTS)});")
    if memory is not None:
        lines.append(f"    blocks_{number} = malloc({item.schedule.used_bytes(memory)});")
        lines.append(f"    memset(blocks_{number}, 0xa5, {item.schedule.used_bytes(memory)});")
    allocate = "mock_external_alloc" if external(OUTPUT) == "true" else "malloc"
    scratch = item.schedule.scratch if item.schedule.direct else 0
    if scratch:
        lines += [f"    void *scratch_{number} = malloc({scratch});", f"    memset(scratch_{number}, 0xa5, {scratch});"]
    given = [*names, f"out_{number}", *([f"scratch_{number}"] if scratch else [])]
    lines += [
        f"    void *out_{number} = {allocate}({size});",
        f"    status = {item.symbol}({', '.join(given)});",
        f'    if (status != MATCH_OK) {{ fprintf(stderr, "layer {number}: status %d", (int)status); return 3; }}',
        "    if (mock_external_outstanding() != 0) { return 5; }",
        f"    out_{number} = mock_external_bytes(out_{number}, {size}, {external(OUTPUT)});",
        f"    fwrite(out_{number}, {size}, 1, out);",
        f"    free(out_{number});",
    ]
    for operand, name in zip(operands, names, strict=True):
        lines.append(f"    {'mock_external_free' if external(operand) == 'true' else 'free'}({name});")
    if item.constants_at == "network":
        lines.append(f"    {'mock_external_free' if external(WEIGHTS) == 'true' else 'free'}(constants_{number});")
    if item.external:
        lines.append(f"    free(blocks_{number});")
    if scratch:
        lines.append(f"    free(scratch_{number});")
    return lines
