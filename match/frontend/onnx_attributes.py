"""What the import of ONNX files would drop without a word, or fail at: domains and attributes that it does not read.

`onnx.checker` knows the attributes of standard operators only, and the importer looks up operators by name alone: an
``Add`` of anyone's domain is to it the standard one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import onnx

from match.errors import ModelError

_STANDARD = ("", "ai.onnx")
_WINDOW = ("auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides")


@dataclass(frozen=True)
class _Contributed:
    """One of onnxruntime's own operators: what the importer reads of it, and what it cannot do without."""

    attributes: tuple[str, ...]
    """Names of those that the importer reads."""
    inputs: int
    """How many of the first inputs must be there, but for those of `zero_points`."""
    zero_points: tuple[int, ...] = ()
    """Positions of inputs that are 0 if the file leaves them out."""


_MICROSOFT: Mapping[str, _Contributed] = {
    "QuantizeLinear": _Contributed(("axis",), 2, (2,)),
    "DequantizeLinear": _Contributed(("axis",), 2, (2,)),
    "QGemm": _Contributed(("alpha", "transA", "transB"), 6),
    "QLinearAdd": _Contributed((), 7, (2, 5, 7)),
    "QLinearAveragePool": _Contributed(_WINDOW, 4, (2, 4)),
    "QLinearConcat": _Contributed(("axis",), 5),
    "QLinearGlobalAveragePool": _Contributed((), 5),
    "QLinearLeakyRelu": _Contributed(("alpha",), 4, (2, 4)),
    "QLinearMul": _Contributed((), 7, (2, 5, 7)),
    "QLinearSigmoid": _Contributed((), 4, (2, 4)),
    "QLinearSoftmax": _Contributed(("axis", "opset"), 5, (2,)),
    "QLinearWhere": _Contributed((), 9),
    "QuickGelu": _Contributed(("alpha",), 1),
}
"""onnxruntime's own operators that the importer has; their inputs are those of onnxruntime's schemas."""

_RANDOM = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
"""Operators that the importer makes constants of."""

_FLOAT = onnx.TensorProto.FLOAT
_IGNORED: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "BatchNormalization": {"training_mode": (0,)},
    "DequantizeLinear": {"output_dtype": (_FLOAT, 0)},
    "MaxPool": {"storage_order": (0,)},
    "QuantizeLinear": {"output_dtype": (0,), "precision": (_FLOAT, 0)},
    "Resize": {"antialias": (0,), "keep_aspect_ratio_policy": (b"stretch",)},
}
"""Attributes that the importer does not read, or reads as something else, with the values that they may have."""

_REPEATING = ("Loop", "Scan")


def check_inputs(graph: Any, path: object) -> None:
    """Refuse onnxruntime's own operators that lack inputs; `onnx.checker` knows the inputs of ONNX's operators alone.

    Raises:
        ModelError: there is one.
    """
    for position, node in enumerate(graph.node):
        if node.domain in _STANDARD or node.op_type not in _MICROSOFT:
            continue
        given, known = list(node.input), _MICROSOFT[node.op_type]
        count = known.inputs
        if node.op_type == "QLinearConcat":  # two numbers, then three inputs for each tensor
            count = max(count, 2 + -(-(len(given) - 2) // 3) * 3)
        given += [""] * (count - len(given))
        missing = [at for at in range(count) if not given[at] and at not in known.zero_points]
        if missing:
            what = f"{node.op_type} ({node.name or f'number {position}'})"
            raise ModelError(f"{path} has {what} without its input {missing[0]}, counted from 0; export it again")


def zero_points_left_out(node: Any) -> tuple[int, ...]:
    """Positions of the zero points that an operator leaves out; also of ONNX's operators of the same names."""
    known, given = _MICROSOFT.get(node.op_type), list(node.input)
    return () if known is None else tuple(at for at in known.zero_points if at >= len(given) or not given[at])


def check_attributes(proto: Any, path: object) -> None:
    """Refuse a model, of quantization operators, whose operators say what its import would not keep, or cannot mean.

    Raises:
        ModelError: it has an operator of an unknown domain or a random one, an attribute that would be dropped, or no
            groups.
    """
    for position, node in enumerate(proto.graph.node):
        what = f"{node.op_type} ({node.name or f'number {position}'})"
        if node.domain not in _STANDARD and (node.domain != "com.microsoft" or node.op_type not in _MICROSOFT):
            raise ModelError(
                f"{path} has {what} of the domain {node.domain!r}, which is unknown and cannot be compiled; replace it "
                "in the model"
            )
        if node.op_type in _RANDOM:
            raise ModelError(f"{path} has {what}, which draws random numbers; replace it in the model by constants")
        if node.op_type in _REPEATING:
            raise ModelError(f"{path} has {what}, which repeats operators; export it with these written out")
        if node.op_type == "If":
            raise ModelError(
                f"{path} has {what}, whose branch the data choose; export the model with the branch that is taken"
            )
        if node.op_type == "MaxPool" and len(node.output) > 1 and node.output[1]:
            raise ModelError(f"{path} has {what} that also says where maxima are, which cannot be compiled; replace it")
        for attribute in node.attribute:
            if attribute.ref_attr_name:
                raise ModelError(
                    f"{path} has {what} with the attribute {attribute.name!r}, which refers to one of a function that "
                    "it is not in; export it again"
                )
            if attribute.name == "block_size" and attribute.i:
                raise ModelError(
                    f"{path} has {what} with a scale for each block of {attribute.i}; quantize it with one scale for "
                    "each channel or tensor"
                )
            if attribute.name == "group" and attribute.i < 1:
                raise ModelError(
                    f"{path} has {what} with {attribute.i} groups, where there must be one at least; export it "
                    "again, or set the attribute 'group' to 1"
                )
            allowed = _IGNORED.get(node.op_type, {})
            if attribute.name in allowed:
                value = onnx.helper.get_attribute_value(attribute)
                if value not in allowed[attribute.name]:
                    raise ModelError(
                        f"{path} has {what} with the attribute {attribute.name!r} of {_text(value)}, which cannot be "
                        f"compiled; only {_text(allowed[attribute.name][0])} can"
                    )
            elif node.domain not in _STANDARD and attribute.name not in _MICROSOFT[node.op_type].attributes:
                raise ModelError(
                    f"{path} has {what} with the attribute {attribute.name!r}, whose meaning is unknown; remove it or "
                    "export the model without it"
                )


def check_kinds(graph: Any, path: object) -> None:
    """Refuse operators of ONNX whose attributes are of other kinds than ONNX defines them, and constants without one.

    That is what of `onnx.checker` also holds of networks with operators and attributes of their own.

    Raises:
        ModelError: there is one.
    """
    for position, node in enumerate(graph.node):
        what = f"{node.op_type} ({node.name or f'number {position}'})"
        if not node.output or (node.op_type == "Constant" and len(node.attribute) != 1):
            lacking = "output" if not node.output else "value"
            raise ModelError(f"{path} has {what} without {lacking}; export it again")
        standard = node.domain in ("", "ai.onnx") and onnx.defs.has(node.op_type)
        schema: Any = onnx.defs.get_schema(node.op_type) if standard else None
        known: dict[str, Any] = {} if schema is None else schema.attributes
        for attribute in node.attribute:
            kind = known[attribute.name].type.value if attribute.name in known else attribute.type
            empty = attribute.type == onnx.AttributeProto.TENSOR and not attribute.HasField("t")
            if attribute.ref_attr_name or attribute.type != kind or empty:
                raise ModelError(
                    f"{path} has {what} with the attribute {attribute.name!r}, which is not of the kind that ONNX "
                    "defines it as; export it again"
                )


def check_reshapes(proto: Any, path: object) -> None:
    """Refuse a Reshape that may make an empty tensor: where a 0 of its shape is one, or its shape is not constant.

    Raises:
        ModelError: there is one.
    """
    shapes = {each.name: onnx.numpy_helper.to_array(each) for each in proto.graph.initializer}
    for position, node in enumerate(proto.graph.node):
        zeros = node.op_type == "Reshape" and any(each.name == "allowzero" and each.i for each in node.attribute)
        if zeros and (node.input[1] not in shapes or 0 in shapes[node.input[1]]):
            raise ModelError(
                f"{path} has Reshape ({node.name or f'number {position}'}) with the attribute 'allowzero' of 1 and a "
                "shape that has a 0, or is not constant; export it without the attribute"
            )


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def drop_attributes(node: Any, *names: str) -> None:
    """Take attributes of these names off an operator, where it has them."""
    kept = [attribute for attribute in node.attribute if attribute.name not in names]
    del node.attribute[:]
    node.attribute.extend(kept)
