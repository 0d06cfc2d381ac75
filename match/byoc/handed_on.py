"""Functions that compute nothing: TVM makes them of tuples whose fields other functions compute."""

from __future__ import annotations

from match.codegen.network import Inside, Network
from match.codegen.steps import Argument, Copy
from match.frontend.model import Model, tensor_bytes
from match.relay import relay


class _Nothing:
    """No operators on the control core."""

    def code(self) -> str:
        """None."""
        return ""


def handed_on(function: relay.Function, model: Model) -> Network | None:
    """A function that computes nothing and hands on what it is given, as a network; None for others."""
    fields = function.body.fields if isinstance(function.body, relay.Tuple) else [function.body]
    places = {parameter.handle.value: number for number, parameter in enumerate(function.params)}
    if any(field.handle.value not in places for field in fields):
        return None
    copies = tuple(
        Copy(Argument(border=places[field.handle.value]), Argument(border=len(places) + number), tensor_bytes([output]))
        for number, (field, output) in enumerate(zip(fields, model.outputs, strict=True))
    )
    return Network(
        name=model.name,
        inputs=model.inputs,
        outputs=model.outputs,
        layers=(),
        steps=(),
        copies=copies,
        functions=_Nothing(),
        places={},
        constants=(),
        operator_constant_bytes=0,
        workspace_bytes=0,
        inside=Inside((), 0),
    )
