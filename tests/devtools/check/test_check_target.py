"""What an author gets wrong is told in one sentence."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import match
from match.devtools.check import Check, check_target
from match.devtools.check.probes import int16_probes, layers_of, network, probes
from match.devtools.check.real_scales import refused_scales
from match.errors import TargetError
from match.ir.layer import Dim, Layer, Op
from match.ir.requantization import Requantizer
from match.mapping.memory import Memory
from match.partitioning.pattern import Match
from match.relay import integer_form, relay
from match.target import chip
from match.target.constraints import int8_input, uint8_input
from match.target.cost import CpuCostModel
from match.target.hardware import Allocator, MatchTarget, ModuleApi, Pattern, Platform, ProgramSize, Verdict
from match.target.own import OwnOperator, Reading
from match.target.tile_constants import INT64, INT64_EXCEPT, INT64_SIGNED

pytestmark = pytest.mark.cc

UncheckedMemory: Any = Memory
UncheckedPattern: Any = Pattern
"""As authors use these who have no type checker."""

TICKS = count()
EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "minichip"


@pytest.fixture(scope="module")
def minichip() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLE)
        return import_module("minichip.target")


def never(layer: Layer) -> Verdict:
    """Never."""
    return Verdict(False, "it is a layer")


def undocumented(layer: Layer) -> Verdict:
    return Verdict(True)


def target_with(minichip: Any, **changes: Any) -> MatchTarget:
    """The example's chip with its engine alone, which has other attributes and executes no groups."""
    target = minichip.Minichip()
    module = copy.copy(target.modules[0])
    for name, value in {"groups": False, **changes}.items():
        setattr(module, name, value)
    target.modules = (module,)
    return target


def with_both(minichip: Any, **changes: Any) -> MatchTarget:
    """The example's chip, whose adder has other attributes."""
    target = minichip.Minichip()
    engine, adder = target.modules
    other = copy.copy(adder)
    for name, value in changes.items():
        setattr(other, name, value)
    target.modules = (engine, other)
    return target


def private(**sizes: int) -> Memory:
    """A scratchpad beside which operands have memory of their own."""
    return Memory("scratchpad", 16384, private=tuple(sizes.items()))


def with_private(operand: str) -> ModuleApi:
    """The functions of the example's module, and some that reserve memory for an operand."""
    api = chip.module_api("minichip.h")
    return replace(api, memory=replace(api.memory, private=((operand, Allocator("take", "give")),)))


def the_problem(target: MatchTarget) -> str:
    problems = check_target(target).problems
    assert problems
    assert all("\n" not in problem and problem.endswith(".") for problem in problems)
    return problems[0]


def test_nothing_is_wrong_with_the_example(minichip: Any) -> None:
    check = check_target(minichip.Minichip())
    assert check.problems == ()
    assert [(row.module, row.op, row.taken, row.tried) for row in check.coverage] == [
        ("engine", Op.CONV2D, 7, 7),
        ("adder", Op.ADD, 1, 3),
    ]


def test_two_modules_in_one_group(minichip: Any) -> None:
    """The engine's output is what the adder reads; they are tried together if both execute groups."""
    heard: list[str] = []
    assert check_target(minichip.Minichip(), heard.append).problems == ()
    assert heard[-1] == "engine and adder together"
    heard.clear()
    assert check_target(with_both(minichip, groups=False), heard.append).problems == ()
    assert not any("together" in said for said in heard)


def test_modules_that_share_a_memory_that_is_too_small(minichip: Any) -> None:
    target = minichip.Minichip()
    target.modules = tuple(map(copy.copy, target.modules))
    for module in target.modules:
        module.memories = (Memory("scratchpad", 2048),)
    problem = the_problem(target)
    assert problem == "module engine of target minichip executes groups, and of 2 small ones none fits its memory."


def test_programs_that_leave_little_memory(minichip: Any) -> None:
    """The network of all small layers is larger than those that a chip has to have room for, and runs elsewhere."""
    target = minichip.Minichip()
    target.program = ProgramSize(target.main_memory.size - 256, 0)
    assert check_target(target).problems == ()


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["diana", "gap8", "gap9", "pulp_open"])
def test_nothing_is_wrong_with_targets_of_the_package(name: str) -> None:
    assert check_target(match.get_target(name)).problems == ()


def test_layers_that_one_of_two_types_leaves_to_the_control_core_step_by_step() -> None:
    """DIANA's core reads uint8 and its array int8: the core takes one of two, and the other has many rows."""
    target = match.get_target("diana", modules=["core"])
    (core,) = target.modules
    kept = tuple(pattern for pattern in core.patterns() if pattern.op is Op.GRU)
    vars(core)["patterns"] = lambda: kept
    found = check_target(target)
    assert found.problems == ()
    assert [(one.op, one.taken, one.tried) for one in found.coverage] == [("gru", 1, 2)]


def test_a_chip_without_modules(minichip: Any) -> None:
    target = minichip.Minichip()
    target.modules = ()
    assert check_target(target) == Check("minichip", (), ())


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_every_operator_is_tried(dtype: str) -> None:
    """By layers that are the same whenever a network is made of them."""
    layers = [*probes(dtype), *int16_probes()]
    assert {layer.op for layer in layers} == set(Op) - {Op.OWN}, "match/devtools/check/probes.py tries each operator"
    taken = [row.layer.op for row in layers_of(layers) if isinstance(row, Match)]
    lacking = {layer.op for layer in layers} - set(taken)
    assert not lacking, f"{lacking} are no layers"
    assert taken == [layer.op for layer in layers]


def test_parameters_at_addresses_that_kernels_may_not_read(minichip: Any) -> None:
    unaligned = replace(INT64, parameter_alignment=1)
    problem = the_problem(target_with(minichip, requantizers=(unaligned,)))
    assert "fails in a run of 7 small layers" in problem
    assert "misaligned address" in problem


def test_a_pattern_that_never_matches(minichip: Any) -> None:
    target = target_with(minichip, patterns=lambda: (Pattern(Op.CONV2D, (never,)),))
    problem = the_problem(target)
    assert "module engine of target minichip has a pattern for conv2d that matches none of 7 ordinary layers" in problem
    assert "is refused because it is a layer" in problem


def boom(*arguments: object) -> None:
    raise KeyError("no entry\nfor it")


def both_bits(example: Callable[..., Any], is_read: Callable[[str], bool]) -> OwnOperator:
    """The bits that two tensors both have, for inputs of some types."""
    dataflow = relay.dataflow_pattern
    a, b = dataflow.wildcard(), dataflow.wildcard()

    def read(parts: Any) -> Reading | None:
        return Reading((parts[a], parts[b])) if is_read(parts[a].checked_type.dtype) else None

    return OwnOperator("both_bits", dataflow.is_op("bitwise_and")(a, b), read, example, 2)


def more(x: Any, y: Any) -> Any:
    """The operator that `both_bits` finds, and an addition, which it does not."""
    return integer_form.add(relay.bitwise_and(x, y), y, (1, 1), 0, 0, (0, 255), "uint8")


UNFOUND = "OPERATOR is not found in its example (uint8), as passes leave it in integer form: "


@pytest.mark.parametrize(
    ("example", "is_read", "problem"),
    [
        (relay.maximum, True, f"{UNFOUND}its dataflow pattern matches nothing in it."),
        (relay.bitwise_and, False, f"{UNFOUND}its read() returns None for it."),
        (more, True, f"{UNFOUND}there are other operators in it, or one reads what is inside of it."),
        (boom, True, "the example of OPERATOR raised KeyError: 'no entry\\nfor it'."),
        (
            lambda x, y: relay.add(x, relay.cast(y, "int32")),
            True,
            "the example of OPERATOR cannot be compiled, because TVM fails with 'data types uint8 and int32 do not "
            "match in BroadcastRel'; replace the operator that this is about, or report the model.",
        ),
    ],
    ids=["not matched", "not read", "more than it", "raising", "ill-typed"],
)
def test_an_example_in_which_a_modules_own_operator_is_not_found(
    minichip: Any, example: Callable[..., Any], is_read: bool, problem: str
) -> None:
    own = both_bits(example, lambda dtype: is_read)
    target = target_with(minichip, patterns=lambda: (Pattern(Op.OWN, own=own),))
    words = problem.replace("OPERATOR", "the operator both_bits of a module of target minichip")
    assert check_target(target).problems == (words,)


BOTH_BITS = """
#include "minichip.h"

void match_minichip_conv2d(const match_tile_t *tile)
{
    for (int32_t y = 0; y < tile->output_height; y++) {
        for (int32_t x = 0; x < tile->output_width; x++) {
            const uint8_t *a = tile->input + y * tile->input_row_stride + x * tile->input_pixel_stride;
            const uint8_t *b = tile->addend + y * tile->addend_row_stride + x * tile->addend_pixel_stride;
            for (int32_t k = 0; k < tile->channels_out; k++) {
                tile->output[y * tile->output_row_stride + x * tile->output_pixel_stride + k] = a[k] & b[k];
            }
        }
    }
}
"""


def test_an_operator_that_is_read_in_one_type(minichip: Any, tmp_path: Path) -> None:
    source = tmp_path / "both_bits.c"
    source.write_text(BOTH_BITS)
    own = both_bits(relay.bitwise_and, lambda dtype: dtype == "uint8")
    target = with_host(minichip, lambda host: replace(host, sources=(source, *host.sources[1:])))
    target.modules = target_with(minichip, patterns=lambda: (Pattern(Op.OWN, own=own),)).modules
    target.activations = None
    check = check_target(target)
    assert check.problems == ()
    assert [(row.op, row.taken, row.tried) for row in check.coverage] == [("both_bits", 1, 1)]


TWO = Pattern(Op.CONV2D, before=(Op.CONV2D,))


def test_chains_are_tried(minichip: Any) -> None:
    """Two convolutions as one, with both filters."""
    check = check_target(target_with(minichip, patterns=lambda: (Pattern(Op.CONV2D), TWO)))
    assert check.problems == ()
    assert [(row.op, row.taken, row.tried) for row in check.coverage] == [("conv2d", 7, 7), ("conv2d+conv2d", 2, 2)]


@pytest.mark.parametrize(
    ("chain", "reason"),
    [
        (replace(TWO, constraints=(never,)), "it is a layer"),
        (
            replace(TWO, before=(Op.DEPTHWISE_CONV2D,)),
            "its depthwise_conv2d is refused: engine has no depthwise_conv2d",
        ),
    ],
)
def test_a_chain_that_is_never_taken(minichip: Any, chain: Pattern, reason: str) -> None:
    (problem,) = check_target(target_with(minichip, patterns=lambda: (Pattern(Op.CONV2D), chain))).problems
    assert problem == (
        f"module engine of target minichip has a pattern for {chain.name} that matches none of 2 ordinary chains; "
        f"{chain.name} on an 8x8x16 map, convolutions 3x3 is refused because {reason}."
    )


def test_the_layer_that_misses_least_is_told(minichip: Any) -> None:
    def pointwise(layer: Layer) -> Verdict:
        """The filter is 1x1."""
        return Verdict(layer.fy == layer.fx == 1, "its filter is not 1x1")

    def many_channels(layer: Layer) -> Verdict:
        """There are more than 64 input channels."""
        return Verdict(layer.c > 64, f"it has {layer.c} input channels")

    target = target_with(minichip, patterns=lambda: (Pattern(Op.CONV2D, (pointwise, many_channels)),))
    assert "a 1x1 convolution with stride 1 of 16 to 20 channels is refused because it has 16" in the_problem(target)


def test_a_memory_smaller_than_the_scratch(minichip: Any) -> None:
    class Hungry(minichip.EngineCost):
        def scratch(self, layer: Layer, tile: Any) -> int:
            return 20000

    assert "needs at least" in the_problem(target_with(minichip, cost_model=Hungry()))


@pytest.mark.parametrize(
    ("method", "answer", "words"),
    [
        ("compute", boom, ["compute(Tile(k=", "raised KeyError"]),
        ("transfer", lambda model, layer, block: -1, ["transfer(Block(operand='input'", "returned -1"]),
        ("overhead", lambda model, layer: float("nan"), ["overhead()", "returned nan"]),
        ("compute", lambda model, layer, tile: 100 + next(TICKS) % 2, ["compute(Tile", "must be deterministic"]),
    ],
    ids=["raising", "negative", "nan", "changing"],
)
def test_a_cost_model_that_fails(minichip: Any, method: str, answer: Callable[..., float], words: list[str]) -> None:
    model = type("BrokenCost", (minichip.EngineCost,), {method: answer})()
    problem = the_problem(target_with(minichip, cost_model=model))
    assert all(word in problem for word in ["module engine: cost model BrokenCost, layer conv2d_0: ", *words])


def test_the_control_cores_cost_model(minichip: Any) -> None:
    target = minichip.Minichip()
    target.cpu_cost_model = type("BrokenCost", (CpuCostModel,), {"cycles": lambda self, op, macs, outputs: -1})()
    problem = the_problem(target)
    assert "the control core of target minichip cannot be compiled for: module cpu: cost model BrokenCost" in problem


WRONG_ANSWERS: list[tuple[str, Callable[..., object], str]] = [
    (
        "pack",
        lambda own, *given: (*own(*given), b""),
        "pack() makes 3 components of LAYER where its operands have 2",
    ),
    ("pack", lambda own, *given: own(*given)[:1], "pack() makes 1 components of LAYER where its operands have 2"),
    (
        "pack",
        lambda own, *given: tuple(part[:-1] for part in own(*given)),
        "pack() makes 4607 bytes of filter for 32 output channels of LAYER where its operands have 4608",
    ),
    (
        "pack",
        lambda own, *given: (own(*given)[0], own(*given)[1] + b"0"),
        "pack() makes 513 bytes of requantization for 32 output channels of LAYER where its operands have 512",
    ),
    (
        "pack",
        lambda own, *given: ("a", "b"),
        "pack() returned ('a', 'b') for LAYER; it must return a tuple of bytes",
    ),
    ("pack", lambda own, *given: None, "pack() returned None for LAYER; it must return a tuple of bytes"),
    (
        "operands",
        lambda own, *given: own(*given)[::-1],
        "operands() returned those called output, weights, input for LAYER; they must be input, weights if it",
    ),
    ("operands", lambda own, *given: own(*given)[:-1], "operands() returned those called input, weights for LAYER"),
    ("operands", lambda own, *given: ("input",), "operands() returned ('input',) for LAYER"),
    ("kernel", lambda own, *given: "a name", "kernel() returned 'a name' for LAYER"),
    ("cost", lambda own, *given: None, "cost() returned None for LAYER; it must return a CostModel"),
    ("tile_multiples", lambda own, *given: {Dim.K: -1}, "tile_multiples() returned -1 for K of LAYER"),
    ("tile_multiples", lambda own, *given: {Dim.K: 2.5}, "tile_multiples() returned 2.5 for K of LAYER"),
    *(
        (method, lambda own, *given: boom(), f"{method}() raised KeyError: 'no entry\\nfor it' for LAYER")
        for method in ("forms", "operands", "cost", "kernel", "tile_multiples", "pack")
    ),
]
"""Answers of which a compilation would make wrong C, or none: what says so, of which layer."""

USELESS_ANSWERS: list[tuple[str, Callable[..., object], str]] = [
    ("tile_multiples", lambda own, *given: {Dim.FX: 3}, "tile_multiples() has FX for LAYER; tiles have all of it"),
    (
        "tile_multiples",
        lambda own, *given: {Dim.C: 8},
        "tile_multiples() has C for LAYER, but its output's operand",
    ),
    (
        "tile_multiples",
        lambda own, *given: {Dim.K: 256},
        "tile_multiples() makes tiles of conv2d of at least 256 of K, which take 41360 bytes of the 16384 of "
        "scratchpad",
    ),
]


@pytest.mark.parametrize(("method", "answer", "sentence"), [*WRONG_ANSWERS, *USELESS_ANSWERS])
def test_methods_that_answer_wrongly(minichip: Any, method: str, answer: Callable[..., object], sentence: str) -> None:
    own = getattr(minichip.Engine(), method)
    target = target_with(minichip, **{method: lambda *given: answer(own, *given)})
    layer = "a 3x3 conv2d of 16 to 32 channels"
    assert the_problem(target).startswith(f"module engine of target minichip: {sentence.replace('LAYER', layer)}")


@pytest.mark.parametrize(("method", "answer", "sentence"), WRONG_ANSWERS)
def test_a_compilation_says_the_same(
    minichip: Any, method: str, answer: Callable[..., object], sentence: str, tmp_path: Path
) -> None:
    own = getattr(minichip.Engine(), method)
    target = target_with(minichip, **{method: lambda *given: answer(own, *given)})
    layer = "a 3x3 conv2d of 16 to 32 channels"
    convolution = network([next(probe for probe in probes("uint8") if probe.op is Op.CONV2D)])
    with pytest.raises(TargetError) as raised:
        match.compile(convolution, target, cache=tmp_path)
    assert str(raised.value).startswith(f"module engine, layer conv2d_0: {sentence.replace('LAYER', layer)}")
    assert str(raised.value).endswith("; `match check-target` tells more.")


def test_constraints_that_answer_wrongly(minichip: Any) -> None:
    def truth(layer: Layer) -> Any:
        """True."""
        return True

    def lost(layer: Layer) -> Any:
        """Lost."""
        return boom()

    for constraint, words in ((truth, "constraint truth() returned True"), (lost, "constraint lost() raised KeyError")):
        patterns = (Pattern(Op.CONV2D, (constraint,)),)
        assert words in the_problem(target_with(minichip, patterns=lambda patterns=patterns: patterns))
    assert "has patterns() that raises KeyError" in the_problem(target_with(minichip, patterns=boom))


def test_a_function_that_is_not_there(minichip: Any) -> None:
    target = target_with(minichip, kernel=lambda layer, requantizer: "match_minichip_convolve")
    assert "match_minichip_convolve" in the_problem(target)


def with_host(minichip: Any, change: Callable[[Platform], Platform]) -> MatchTarget:
    class Changed(minichip.Minichip):
        @property
        def host(self) -> Platform:
            return change(super().host)

    return Changed()


def test_a_function_without_definition(minichip: Any) -> None:
    def without(source: str) -> MatchTarget:
        return with_host(
            minichip, lambda host: replace(host, sources=tuple(path for path in host.sources if path.name != source))
        )

    sentence = "calls the C function {}, which none of the host sources defines"
    assert the_problem(without("minichip.c")).startswith(
        f"module engine of target minichip {sentence.format('match_minichip_conv2d')}"
    )
    assert re.match(
        f"target minichip {sentence.format(r'match_chip_[a-z_]+')}", the_problem(without("match_host_chip.c"))
    )


def test_a_kernel_that_computes_something_else(minichip: Any, tmp_path: Path) -> None:
    source = tmp_path / "minichip.c"
    code = (EXAMPLE / "minichip" / "minichip.c").read_text()
    source.write_text(code.replace("- tile->pad_left", ""))
    target = with_host(minichip, lambda host: replace(host, sources=(source, *host.sources[1:])))
    problem = the_problem(target)
    assert (
        "kernel match_minichip_conv2d of module engine of target minichip computes other values than TVM's C" in problem
    )


READ_PLAIN = "    const match_requant_t *parameters = (const match_requant_t *)tile->parameters + channel;"
READ_SIGNED = """
    if (tile->negative_step != 0) {
        const match_requant_signed_t *own = (const match_requant_signed_t *)tile->parameters + channel;
        const int64_t step = STEP;
        const int64_t sum = (own->multiplier * (int64_t)acc + own->bias - step) >> own->shift;
        return (uint8_t)(sum < tile->clip_low ? tile->clip_low : sum > tile->clip_high ? tile->clip_high : sum);
    }
"""


def with_forms(minichip: Any, *forms: Requantizer, kernels: Path | None = None) -> MatchTarget:
    """The example with other forms of requantization, and other kernels."""
    target = with_host(
        minichip,
        lambda host: replace(host, sources=(kernels, *host.sources[1:])) if kernels else host,
    )
    target.modules = target_with(minichip, requantizers=forms).modules
    return target


@pytest.mark.parametrize("form", [INT64_SIGNED, INT64_EXCEPT])
def test_a_form_that_no_kernel_reads(minichip: Any, form: Requantizer) -> None:
    """That ordinary layers have the form before it."""
    problem = the_problem(with_forms(minichip, INT64, form))
    assert problem.startswith(
        f"kernel match_minichip_conv2d of module engine of target minichip, which requantizes in the form {form.name}, "
        "computes other values than TVM's C for a 3x3 convolution"
    )


@pytest.mark.parametrize(
    ("step", "right"),
    [("acc < own->negative_below ? tile->negative_step : 0", True), ("0", False), ("tile->negative_step", False)],
)
def test_a_kernel_of_a_form_with_corrections(minichip: Any, tmp_path: Path, step: str, right: bool) -> None:
    code = (EXAMPLE / "minichip" / "minichip.c").read_text()
    (tmp_path / "minichip.c").write_text(code.replace(READ_PLAIN, READ_SIGNED.replace("STEP", step) + READ_PLAIN))
    problems = check_target(with_forms(minichip, INT64, INT64_SIGNED, kernels=tmp_path / "minichip.c")).problems
    assert (not problems) == right
    assert all("the form int64_signed, computes other values" in problem for problem in problems)


def test_a_form_that_no_small_layer_has(minichip: Any) -> None:
    check = check_target(with_forms(minichip, INT64, replace(INT64, name="tiny", clips=((3, 5),))))
    assert check.problems == ()
    assert check.untried == (
        "module engine of target minichip lists the form tiny, which is exact for none of the small layers: it was not "
        "tried.",
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"multiplier_bits": 16, "signed_multiplier": False, "sum_bits": 48}, ""),
        ({"shift": (0, 8)}, "engine would be off by up to 65 steps for 100% of its accumulators"),
        ({"multiplier_bits": 0, "sum_bits": 32}, "for it can only shift and clip"),
    ],
)
def test_forms_that_real_scales_do_not_fit(minichip: Any, changes: dict[str, Any], said: str) -> None:
    (told,) = list(refused_scales(with_forms(minichip, replace(INT64, **changes)).modules[0], ("uint8",))) or [""]
    assert said in told
    assert not told or told.startswith("takes no conv2d with scales that are any real numbers")


@pytest.mark.parametrize(("constraint", "wrong"), [(uint8_input, 0), (int8_input, 7)])
def test_kernels_that_read_one_type(minichip: Any, constraint: Callable[[Layer], Verdict], wrong: int) -> None:
    """The example's kernel reads uint8: it computes what is constrained to that, and nothing of int8."""
    target = target_with(minichip, patterns=lambda: (Pattern(Op.CONV2D, (constraint,)),))
    target.activations = None
    check = check_target(target)
    assert [(row.taken, row.tried) for row in check.coverage] == [(7, 14)]
    assert len(check.problems) == wrong
    assert all(" channels (int8): " in problem for problem in check.problems)


def test_files_that_do_not_exist(minichip: Any) -> None:
    target = with_host(minichip, lambda host: replace(host, sources=(Path("kernels/none.c"),)))
    assert "the host source 'kernels/none.c', which does not exist" in the_problem(target)


def two_lines() -> None:
    raise RuntimeError("one line\nanother")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"memories": ()}, "has no memory"),
        ({"memories": (Memory("scratchpad", 0),)}, "of 0 bytes"),
        ({"memories": (Memory("scratchpad", 4096, 3),)}, "aligned to 3"),
        ({"memories": (Memory("L1", 4096), Memory("L0", 512))}, "has the memories L1, L0, and generated code moves"),
        (
            {"memories": (private(weight=512),)},
            "has private memory for 'weight'; operands are called input, ad",
        ),
        ({"memories": (private(weights=512),)}, "for the weights, and its api names no functions that reserve it"),
        ({"memories": (private(weights=0),)}, "has private memory of 0 bytes for the weights"),
        ({"api": with_private("input")}, "that reserve memory for the input, which has none of its own"),
        ({"peak_macs": 0}, "has a peak_macs of 0"),
        ({"patterns": lambda: (UncheckedPattern("conv2d"),)}, "has a pattern for 'conv2d'; operators are those of"),
        ({"patterns": lambda: (UncheckedPattern(Op.CONV2D, never),)}, "for the constraints of a pattern; give a tuple"),
        ({"patterns": tuple}, "has no pattern"),
        (
            {"patterns": two_lines},
            "has patterns() that raises RuntimeError: one line another; make it return Patterns.",
        ),
        ({"patterns": lambda: (Pattern(Op.CONV2D, (undocumented,)),)}, "without a docstring (undocumented)"),
    ],
)
def test_descriptions_that_cannot_be(minichip: Any, changes: dict[str, Any], sentence: str) -> None:
    assert sentence in the_problem(target_with(minichip, **changes))


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("memories", Memory("scratchpad", 4096), "for its memories, which must be a tuple of Memory objects"),
        (
            "memories",
            (UncheckedMemory("scratchpad", 4096.0),),
            "has 4096.0 for its size, which must be a whole number of byt",
        ),
        (
            "memories",
            (UncheckedMemory("scratchpad", 4096, "4"),),
            "has '4' for its alignment, which must be a whole number",
        ),
        (
            "memories",
            (UncheckedMemory("L1", 4096, private={"weights": 9}),),
            "for its private, which must be a tuple of (oper",
        ),
        (
            "memories",
            (UncheckedMemory("L1", 64, private=(("input", "9"),)),),
            "has ('input', '9') among the private memories",
        ),
        ("requantizers", None, "has None for its requantizers, which must be a tuple of Requantizers"),
        ("cost_model", CpuCostModel, "has the class CpuCostModel for its cost_model, which must be a CostModel"),
        ("api", "minichip.h", "has 'minichip.h' for its api, which must be a ModuleApi"),
        ("patterns", lambda: Pattern(Op.CONV2D), "has patterns() that returns Pattern(op=<Op.CONV2D"),
    ],
)
def test_attributes_of_modules(minichip: Any, name: str, value: object, sentence: str) -> None:
    problem = the_problem(target_with(minichip, **{name: value}))
    assert re.match(r"module engine of target minichip(, whose memory is '\w+',)? has ", problem)
    assert sentence in problem


@pytest.mark.parametrize("name", ["clock_hz", "main_memory", "modules", "cpu_cost_model", "api"])
def test_attributes_of_targets(minichip: Any, name: str) -> None:
    class Without(MatchTarget):
        @property
        def host(self) -> Platform:
            return minichip.Minichip().host

    for attribute in {"name", "clock_hz", "main_memory", "modules", "cpu_cost_model", "api"} - {name}:
        setattr(Without, attribute, getattr(minichip.Minichip, attribute))
    target = Without()
    assert the_problem(target).startswith(f"target minichip has no {name}; give it a")
    with pytest.raises(TargetError, match=f"target minichip has no {name}"):
        match.get_target(target)


def test_a_main_memory_of_half_a_byte(minichip: Any) -> None:
    target = minichip.Minichip()
    target.main_memory = UncheckedMemory("RAM", 0.5)
    sentence = "target minichip, whose memory is 'RAM', has 0.5 for its size, which must be a whole number of bytes."
    assert check_target(target).problems == (sentence,)
    with pytest.raises(TargetError, match=re.escape(sentence)):
        match.get_target(target)


def test_platforms_that_cannot_be_made(minichip: Any) -> None:
    class Lacking(minichip.Minichip):
        @property
        def host(self) -> Platform:
            return replace(super().host, sources=tuple({}[module.name] for module in self.modules))

    assert "target minichip has platforms that raise KeyError: 'engine'" in the_problem(Lacking())


def test_activations_of_a_type_that_networks_are_not_shifted_to(minichip: Any) -> None:
    target = minichip.Minichip()
    target.activations = "int8"
    sentence = "target minichip has 'int8' for its activations, which must be 'uint8' or None."
    assert check_target(target).problems == (sentence,)
    with pytest.raises(TargetError, match=re.escape(sentence)):
        match.get_target(target)


def test_energies_of_another_kind(minichip: Any) -> None:
    class Core(type(minichip.Minichip().cpu_cost_model)):  # type: ignore[misc]
        def energy(self, op: str, macs: int, outputs: int) -> float:
            return 2.0 * macs

    class Engine(type(minichip.Minichip().modules[0].cost_model)):  # type: ignore[misc]
        energy = 3.0

    target = minichip.Minichip()
    target.cpu_cost_model = Core()
    assert re.match(
        r"Core, which target minichip has for its control core, has .* which must be an E", the_problem(target)
    )
    target = target_with(minichip, cost_model=Engine())
    sentence = "Engine, the cost model of module engine of target minichip, has 3.0 for its energy, which must be an"
    assert sentence in the_problem(target)


def test_two_platforms_in_one_place(minichip: Any) -> None:
    class Boards(minichip.Minichip):
        @property
        def platforms(self) -> tuple[Platform, ...]:
            return (self.host, replace(self.host, name="board", on="host"))

    assert "has platforms whose programs run on host, host; the first has no `on`" in the_problem(Boards())


def test_names(minichip: Any) -> None:
    target = minichip.Minichip()
    target.name = "Mini Chip"
    assert "call it 'mini_chip'" in the_problem(target)
    target = target_with(minichip, name="cpu")
    assert "has a module called 'cpu', which is what the control core is called" in the_problem(target)
    target = minichip.Minichip()
    target.modules = target.modules[:1] * 2
    assert "has 2 modules called 'engine'" in the_problem(target)
