"""Reads operators on integers that only the control core computes (`match.graph.integers`)."""

from __future__ import annotations

from match.graph.integers import FUNCTIONS, TYPES, Clip, Difference, Elementwise, Entries, Extreme, Place, Saturate
from match.ir.dtypes import value_range
from match.relay import relay, tvm
from match.relay.integer_form import is_real_sums, unmarked
from match.relay.read import Read
from match.relay.rewrite import constant, dtype, is_8bit, is_call, operator_name, scalar, shape


def read_place(root: relay.Expr) -> Read[Place] | None:
    """The index of an extreme of numbers of 8 bits, which are widened before they are compared."""
    if not is_call(root, "argmax", "argmin") or root.attrs.exclude or not is_call(root.args[0], "cast"):
        return None
    x, axes = root.args[0].args[0], root.attrs.axis
    if not is_8bit(x) or axes is None or len(axes) != 1:
        return None
    place = Place(
        axis=int(axes[0]) % len(shape(x)),
        keepdims=bool(root.attrs.keepdims),
        largest=is_call(root, "argmax"),
        last=bool(root.attrs.select_last_index),
        dtype=dtype(root),
    )
    return Read(place, (x,)) if dtype(root.args[0]) == dtype(root) else None


def read_extreme(root: relay.Expr) -> Read[Extreme] | None:
    """The largest or smallest of numbers of 8 bits along axes."""
    if not is_call(root, "max", "min") or root.attrs.exclude or not is_8bit(root):
        return None
    rank = len(shape(root.args[0]))
    axes = range(rank) if root.attrs.axis is None else (int(axis) % rank for axis in root.attrs.axis)
    extreme = Extreme(axes=tuple(axes), keepdims=bool(root.attrs.keepdims), largest=is_call(root, "max"))
    return Read(extreme, (root.args[0],))


def read_difference(root: relay.Expr) -> Read[Difference] | None:
    """The difference of two widened tensors of 8 bits of one type."""
    if not is_call(root, "subtract") or dtype(root) not in ("int16", "int32", "int64"):
        return None
    if not all(is_call(x, "cast") and is_8bit(x.args[0]) for x in root.args):
        return None
    a, b = (x.args[0] for x in root.args)
    return Read(Difference(dtype=dtype(root)), (a, b)) if dtype(a) == dtype(b) else None


def read_saturate(root: relay.Expr) -> Read[Saturate] | None:
    """int32 numbers, to which a number may be added, clipped to 8 bits."""
    if not is_call(root, "cast") or not is_8bit(root) or not is_call(root.args[0], "clip"):
        return None
    clip, x, more = root.args[0].attrs, root.args[0].args[0], 0
    low, high = value_range(dtype(root))
    if dtype(x) != "int32" or not low <= int(clip.a_min) <= int(clip.a_max) <= high:
        return None
    if is_call(x, "add") and scalar(x.args[1]) is not None and shape(x) == shape(x.args[0]):
        x, more = x.args[0], int(scalar(x.args[1]))
    return Read(Saturate(more=more, clip=(int(clip.a_min), int(clip.a_max)), dtype=dtype(root)), (x,))


def read_entries(root: relay.Expr) -> Read[Entries] | None:
    """The entries of a table of integers at places; a mark around the places says that entries are not exact."""
    if not is_call(root, "take") or root.attrs.axis is not None or str(root.attrs.mode) != "clip":
        return None
    table, places = constant(root.args[0]), unmarked(root.args[1])
    if table is None or table.ndim != 1 or dtype(root) not in TYPES:
        return None
    return Read(Entries(table=table), (places,), exact=not is_real_sums(root.args[1]))


def read_elementwise(root: relay.Expr) -> Read[Clip] | Read[Elementwise] | None:
    """One operator on integers, element by element."""
    if not is_call(root, "clip", *FUNCTIONS) or not all(_is_integer(x) for x in (root, *root.args)):
        return None
    if is_call(root, "clip"):
        limits = int(root.attrs.a_min), int(root.attrs.a_max)
        return Read(Clip(limits=limits, dtype=dtype(root)), (root.args[0],))
    return Read(Elementwise(function=operator_name(root), dtype=dtype(root)), tuple(root.args))


def _is_integer(x: relay.Expr) -> bool:
    return isinstance(x.checked_type, tvm.ir.TensorType) and dtype(x) in TYPES
