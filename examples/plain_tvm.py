"""From a model file to a program by `tvm.relay.build`, for those whose build goes through TVM already.

    python examples/plain_tvm.py model.tflite gap9 build/plain

cuts the network with `match.partition`, as is cheapest for the network as a whole, and

    python examples/plain_tvm.py model.tflite gap9 build/plain match.gap9.ne16.exact match.gap9.cluster.exact

with TVM's own passes and these pattern tables: each operator goes to the first module that takes it.

Both write TVM's C and a main function into a folder, compile them with the target's functions for this machine, and
print the program's name. The program reads the input tensors of one inference from its standard input, one after the
other, and writes the outputs; without input it says which. `match compile` does all this for you, plans the memory,
and writes a Makefile.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tflite
import tvm
from tvm import relay
from tvm.relay.backend import Executor, Runtime
from tvm.relay.op.contrib import get_pattern_table

import match
from match.frontend.onnx_as_relay import relay_of

MAIN = """\
#include <stdint.h>
#include <stdio.h>
#include "tvmgen_default.h"
{headers}
{arrays}
int main(void)
{{
    struct tvmgen_default_inputs inputs = {{{inputs}}};
    struct tvmgen_default_outputs outputs = {{{outputs}}};
    if ({reads}) {{
        fputs("{usage}\\n", stderr);
        return 2;
    }}
    if ({open}() != 0) {{
        return 1;
    }}
    int32_t status = tvmgen_default_run(&inputs, &outputs);
    {close}();
    return status != 0 || {writes};
}}
"""

HEADER = """\
#include <stdint.h>
struct tvmgen_default_inputs {{ {inputs} }};
struct tvmgen_default_outputs {{ {outputs} }};
int32_t tvmgen_default_run(struct tvmgen_default_inputs *inputs, struct tvmgen_default_outputs *outputs);
"""


def build(path: Path, target: str, **options: Any) -> tuple[match.Model, list[str]]:
    """The network, and TVM's C for it: its own operators and `main`, and a file for each layer on a module.

    `options` are those of `match.partition`.
    """
    model = match.load(path)
    return model, compiled(match.partition(model, target, **options), target)


def build_by_tables(path: Path, target: str, tables: list[str]) -> tuple[match.Model, list[str]]:
    """The same by TVM's own passes, with the pattern tables that `match.register` gives TVM, in order."""
    known = match.register(target)
    for table in tables:
        if table not in known:
            raise SystemExit(f"{target} has no pattern table {table}; its tables: {', '.join(known)}")
    passes = [
        relay.transform.InferType(),
        *(relay.transform.MergeComposite(get_pattern_table(table)) for table in tables),
        relay.transform.AnnotateTarget("match"),  # what all names of composites begin with
        relay.transform.MergeCompilerRegions(),  # neighbours become one function; without it each is one by itself
        relay.transform.PartitionGraph(),
    ]
    module = tvm.transform.Sequential(passes)(imported(path))
    return match.load(path), compiled(module, target)


def imported(path: Path) -> tvm.IRModule:
    """A network as Relay with QNN operators and constants: TFLite files by TVM's own front end."""
    if path.suffix == ".tflite":
        module, weights = relay.frontend.from_tflite(tflite.Model.GetRootAsModel(path.read_bytes(), 0))
        main = relay.build_module.bind_params_by_name(module["main"], weights)
        return tvm.IRModule.from_expr(relay.Function(main.params, main.body))  # outputs are called "output" then
    passes = [relay.transform.InferType(), relay.transform.FakeQuantizationToInteger(), relay.transform.FoldConstant()]
    return tvm.transform.Sequential(passes)(relay_of(path))


def compiled(module: tvm.IRModule, target: str) -> list[str]:
    """TVM's C for a network that has been cut, and that of the parts for modules."""
    with match.pass_context():
        library = relay.build(
            module,
            target=f"match/{target}",
            executor=Executor("aot", {"interface-api": "c", "unpacked-api": True}),
            runtime=Runtime("crt"),
        )
    return list(sources(library.lib))


def sources(library: tvm.runtime.Module) -> Iterator[str]:
    """The C of a library, and of those that it imports."""
    yield library.get_source()
    for part in library.imported_modules:
        yield from sources(part)


def write(model: match.Model, texts: list[str], target: str, folder: Path) -> None:
    """The C, what its layers share, a header with the network's interface, and a main function that passes tensors."""
    api = match.get_target(target).api
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(texts):
        (folder / f"network{number}.c").write_text(text)
    for name, text in match.shared_files(target).items():
        (folder / name).write_text(text)
    outputs = ["output"] if len(model.outputs) == 1 else [f"output{n}" for n in range(len(model.outputs))]
    inputs = [f"_{t.name}" if t.name[0].isdigit() else t.name for t in model.inputs]  # as `match.partition` calls them
    names = [re.sub(r"\W", "_", name, flags=re.ASCII) for name in inputs], outputs
    fields = [" ".join(f"void *{name};" for name in part) for part in names]
    (folder / "tvmgen_default.h").write_text(HEADER.format(inputs=fields[0], outputs=fields[1]))
    sizes = [[math.prod(t.shape) * np.dtype(t.dtype).itemsize for t in part] for part in (model.inputs, model.outputs)]
    arrays = [[f"{kind}{n}" for n in range(len(part))] for kind, part in zip(("in", "out"), sizes, strict=True)]
    (folder / "main.c").write_text(
        MAIN.format(
            headers="\n".join(f'#include "{header}"' for header in api.headers),
            arrays="\n".join(
                f"static uint8_t {name}[{size}] __attribute__((aligned(8)));"
                for part in zip(arrays, sizes, strict=True)
                for name, size in zip(*part, strict=True)
            ),
            inputs=", ".join(arrays[0]),
            outputs=", ".join(arrays[1]),
            usage=usage(model),
            open=api.open,
            close=api.close,
            reads=" || ".join(f"fread({a}, 1, sizeof {a}, stdin) != sizeof {a}" for a in arrays[0]),
            writes=" || ".join(f"fwrite({a}, 1, sizeof {a}, stdout) != sizeof {a}" for a in arrays[1]),
        )
    )


def usage(model: match.Model) -> str:
    """What the program says where its standard input ends too early; a part of a string in C."""
    read, written = (
        ", ".join(f"{tensor.name} {tensor.dtype} {list(tensor.shape)}" for tensor in part)
        for part in (model.inputs, model.outputs)
    )
    told = f"standard input ends too early; give it the bytes of {read}; standard output gets those of {written}"
    return re.sub(r'[^ -~]|["\\?]', "_", told)


def link(target: str, folder: Path) -> Path:
    """Compile what is in the folder with the target's functions for this machine."""
    host, package, runtime = match.get_target(target).host, Path(match.__file__).parent, Path(tvm.__file__).parent
    program = folder / "network"
    includes = [folder, *(package / place for place in (*host.include, "codegen/include"))]
    includes += [runtime / "include", runtime / "3rdparty" / "dlpack" / "include"]
    compiler = os.environ.get("CC", "cc").split()
    flags = ["-std=gnu11", "-O2", "-Wno-attributes", *(f"-I{place}" for place in includes)]
    flags += [f"-D{name}={value}" for name, value in host.defines.items()]
    files = [*sorted(folder.glob("*.c")), *(package / source for source in host.sources)]
    objects = [folder / f"{number}.o" for number in range(len(files))]
    for source, made in zip(files, objects, strict=True):
        subprocess.run([*compiler, *flags, "-c", str(source), "-o", str(made)], check=True)
    subprocess.run([*compiler, "-o", str(program), *map(str, objects), "-pthread", "-lm"], check=True)
    return program


def main() -> None:
    """Build the network that the command line names."""
    if len(sys.argv) < 4:
        raise SystemExit("usage: python examples/plain_tvm.py MODEL TARGET FOLDER [TABLE ...]")
    path, target, folder, tables = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4:]
    try:
        model, texts = build_by_tables(path, target, tables) if tables else build(path, target)
    except match.MatchError as error:
        raise SystemExit(str(error)) from error
    write(model, texts, target, folder)
    sys.stdout.write(f"{link(target, folder)}\n")


if __name__ == "__main__":
    main()
