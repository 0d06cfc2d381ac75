"""The way through plain TVM: ``tvm.relay.build`` on a partitioned module, its sources linked by hand."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np

import match
from match.relay import relay, tvm
from match.target.registry import get_target
from tests.e2e import tflite_network

PACKAGE = Path(match.__file__).parent

MAIN = """
#include <stdint.h>
#include <stdio.h>
#include "gap9.h"
#include "tvmgen_default.h"
int32_t tvmgen_default_run(struct tvmgen_default_inputs *inputs, struct tvmgen_default_outputs *outputs);
static int8_t input[NETWORK_INPUT], output[NETWORK_OUTPUT];
int main(void)
{
    struct tvmgen_default_inputs inputs = {input};
    struct tvmgen_default_outputs outputs = {output};
    if (fread(input, 1, sizeof input, stdin) != sizeof input || pulp_open() != 0) {
        return 1;
    }
    int status = tvmgen_default_run(&inputs, &outputs);
    pulp_close();
    return status != 0 || fwrite(output, 1, sizeof output, stdout) != sizeof output;
}
"""

# What TVM's C needs of its runtime's headers.
RUNTIME = """
#include <stdint.h>
#define TVM_DLL
"""

SIGNATURE = """
struct tvmgen_default_inputs { void *%s; };
struct tvmgen_default_outputs { void *output; };
"""


def test_relay_build_on_a_partitioned_module(models_dir: Path, tmp_path: Path) -> None:
    path = models_dir / "kws_ref_model.tflite"
    network = tflite_network.read(path)
    tensor, result = network.tensors[network.input], network.tensors[network.output]
    partitioned = match.partition(match.load(path).module, "gap9", numerics="exact")
    with tvm.transform.PassContext(opt_level=3, config={"tir.disable_vectorize": True, "tir.usmp.enable": True}):
        library = relay.build(
            partitioned,
            target="match/gap9",
            executor=relay.backend.Executor("aot", {"interface-api": "c", "unpacked-api": True}),
            runtime=relay.backend.Runtime("crt"),
        )

    sources = [library.lib.get_source(), *(part.get_source() for part in library.lib.imported_modules)]
    for number, source in enumerate(sources):
        (tmp_path / f"tvm{number}.c").write_text(source)
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "tvm" / "runtime").mkdir(parents=True)
    for header in ("c_runtime_api.h", "c_backend_api.h"):
        (tmp_path / "tvm" / "runtime" / header).write_text(RUNTIME)
    (tmp_path / "tvmgen_default.h").write_text(SIGNATURE % tensor.name)
    host = get_target("gap9").host
    program = tmp_path / "program"
    subprocess.run(
        ["cc", "-std=gnu11", "-O1", "-o", program, *sorted(tmp_path.glob("*.c")), f"-I{tmp_path}"]
        + [PACKAGE / source for source in host.sources]
        + [f"-I{PACKAGE / folder}" for folder in (*host.include, "codegen/include")]
        + [f"-D{name}={value}" for name, value in host.defines.items()]
        + [f"-DNETWORK_INPUT={np.prod(tensor.shape)}", f"-DNETWORK_OUTPUT={np.prod(result.shape)}", "-pthread", "-lm"],
        check=True,
        capture_output=True,
        text=True,
    )

    samples = np.random.default_rng(3).integers(-128, 128, (5, *tensor.shape)).astype(np.int8)
    outputs = [subprocess.run([program], input=x.tobytes(), check=True, capture_output=True).stdout for x in samples]
    expected = tflite_network.run_micro(path, samples)
    assert [np.frombuffer(output, np.int8).tolist() for output in outputs] == [y.ravel().tolist() for y in expected]
