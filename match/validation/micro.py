"""TFLite Micro in a process of its own, which its kernels may end."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_ARENA = 64 << 20
"""Bytes for tensors, more than a microcontroller has, beside ten times the file, which TFLite Micro takes by itself."""

_PROGRAM = f"""
import json, os, pickle, sys
given, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # what kernels print is no reply
sys.path[:] = json.loads(given.readline())
from tflite_micro import runtime

def reply(compute, *arguments):
    try:
        answer = compute(*arguments), ""
    except (RuntimeError, ValueError) as error:
        answer = None, str(error) or type(error).__name__
    pickle.dump(answer, replies)
    replies.flush()

def load(data):
    global interpreter
    interpreter = runtime.Interpreter.from_bytes(data, arena_size={_ARENA} + 10 * len(data))

def outputs(inputs, count, keeps):
    if not keeps:
        interpreter.reset()  # the state of recurrent layers
    for index, tensor in enumerate(inputs):
        interpreter.set_input(tensor, index)
    interpreter.invoke()
    return [interpreter.get_output(index) for index in range(count)]

reply(load, pickle.load(given))
while True:
    reply(outputs, *pickle.load(given))
"""


class RefusedError(Exception):
    """TFLite Micro refuses a file or inputs, and says why."""


class EndedError(Exception):
    """TFLite Micro has ended its process: a condition that a kernel checks does not hold."""


class MicroProcess:
    """A process that computes a TFLite file by TFLite Micro; it ends with this object."""

    def __init__(self, data: bytes, *, keeps: bool = False) -> None:
        """Load a file; `keeps` is whether its variables go on from one sample to the next.

        Raises:
            RefusedError, EndedError: the file cannot be loaded.
        """
        self._keeps = keeps
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        weakref.finalize(self, _end, self._process)
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(sys.path).encode() + b"\n")
        self._answer(data)

    def outputs(self, inputs: list[Array], count: int) -> list[Array]:
        """The first `count` outputs for one sample of the inputs.

        Raises:
            RefusedError, EndedError: they cannot be computed.
        """
        return self._answer(([np.ascontiguousarray(one) for one in inputs], count, self._keeps))

    def _answer(self, question: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            pickle.dump(question, self._process.stdin)
            self._process.stdin.flush()
            answer, problem = pickle.load(self._process.stdout)
        except (EOFError, OSError) as error:
            raise EndedError from error
        if problem:
            raise RefusedError(problem)
        return answer


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()
