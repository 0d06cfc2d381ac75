"""A part of a network that TVM cut, as a network of its own: on the modules that its composites name."""

from __future__ import annotations

from dataclasses import replace

from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.frontend.model import Model, Rounding
from match.frontend.relay import bind, tensor
from match.frontend.relay_functions import as_one_function
from match.partitioning.partitioner import Partitioned, cut
from match.passes.pipeline import integer_network
from match.relay import relay, tvm
from match.target.hardware import MatchTarget


def options_of(numerics: str) -> Options:
    """How parts are compiled: what a module takes is there, whatever it costs.

    Raises:
        OptionError: there are no such numerics.
    """
    return replace(Options.parse(numerics=numerics, jobs=1), off_core=True)


def part(function: relay.Function, name: str) -> Model:
    """A function as a network, with the arithmetic of TFLite Micro. `name` begins the names of its C.

    Raises:
        ModelError: it is none that the compiler reads.
    """
    what = f"the function {name}"
    main = as_one_function(tvm.IRModule.from_expr(relay.Function(function.params, function.body)), what)
    network = bind(tvm.IRModule.from_expr(main), {}, what)
    main = network["main"]
    inputs = tuple(tensor(one.name_hint, one.checked_type, what) for one in main.params)
    types = main.ret_type.fields if isinstance(main.ret_type, tvm.ir.TupleType) else [main.ret_type]
    outputs = tuple(tensor(f"output_{number}", kind, what) for number, kind in enumerate(types))
    return Model(name, "", network, inputs, outputs, Rounding.TFLITE)


def planned(model: Model, target: MatchTarget, options: Options) -> Partitioned:
    """A part on the modules of a target."""
    integers = integer_network(model, target.activations, exact=options.exact, truncates=False)
    return cut(integers, target, options, model.name, Stopwatch())
