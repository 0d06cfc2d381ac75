"""Who gets a layer, in which arithmetic, and what the others are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from match.compilation.options import Numerics, Options
from match.dispatch.plan import LayerDecision, Offer
from match.dispatch.request import Workload
from match.ir.constants import Addends, Filters, LayerConstants
from match.ir.layer import Layer, Op, Padding
from match.ir.requantization import Requantization
from match.requantize.form import Form, choose_form
from tests.dispatch.fakes import SHIFT, SHIFT_SUM, SHORT, SHORTER, WIDE, WIDE_SIGNED, FakeModule, FakeTarget, FixedCost
from tests.dispatch.layer_by_layer import dispatch

pytestmark = pytest.mark.unit

LAYER = Layer("conv", Op.CONV2D, k=8, c=4, oy=6, ox=6, iy=6, ix=6, fy=3, fx=3, padding=Padding(1, 1, 1, 1))
REACH = np.full(8, 400_000)


def requantization(*, signed: bool = False, multiplier: int = (1 << 30) + 12345) -> Requantization:
    """TFLite's, with a multiplier that 16 bits can only come close to."""
    shift = np.full(8, 37)
    bias = (np.int64(1) << (shift - 1)) + (np.int64(1) << 30) + (np.int64(90) << shift)
    if not signed:
        return Requantization(np.full(8, multiplier), bias, shift, (0, 255))
    return Requantization(np.full(8, multiplier), bias, shift, (0, 255), np.full(8, -1), np.full(8, 1 << 31))


def workload(layer: Layer = LAYER, parameters: Requantization | None = None) -> Workload:
    weights = np.ones((layer.k, layer.fy, layer.fx, layer.c), np.int8)
    constants = LayerConstants(Filters(weights), parameters or requantization())
    return Workload(layer, constants, (-REACH, REACH), "net_00_conv2d")


def decide_all(works: Sequence[Workload], *modules: FakeModule, **options: Any) -> list[LayerDecision]:
    return dispatch(works, FakeTarget(*modules), Options.parse(cache=False, **options))


def decide(*modules: FakeModule, work: Workload | None = None, **options: Any) -> LayerDecision:
    (decision,) = decide_all([work or workload()], *modules, **options)
    return decision


def offer(decision: LayerDecision, module: str) -> Offer:
    return next(candidate for candidate in decision.candidates if candidate.module == module)


def test_the_cheapest_module_gets_the_layer() -> None:
    decision = decide(FakeModule("slow", mac=2), FakeModule("fast", mac=1))
    assert decision.module == "fast"
    assert decision.plan is not None
    assert (decision.plan.symbol, decision.plan.kernel) == ("net_00_conv2d", "fast_conv2d")
    cost = offer(decision, "fast").cost
    assert cost is not None
    assert cost.cycles == decision.cycles
    assert decision.macs == LAYER.macs
    assert decision.outputs == 8 * 36


def test_a_module_slower_than_the_cpu_does_not() -> None:
    decision = decide(FakeModule("crawling", mac=1000))
    assert (decision.module, decision.plan) == ("cpu", None)
    assert decision.cycles == 10 * LAYER.macs + 8 * 36
    assert offer(decision, "crawling").refusal is None


def test_refusals_say_why() -> None:
    wide_filter = replace(LAYER, fx=5, padding=Padding(1, 2, 1, 2))
    narrow = FakeModule("narrow")
    pool = FakeModule("pool", ops=(Op.MAX_POOL2D,))
    decision = decide(narrow, pool, work=workload(wide_filter))
    assert decision.module == "cpu"
    assert offer(decision, "narrow").refusal == "its filter is 5 wide"
    assert offer(decision, "pool").refusal == "pool has no conv2d"


def test_what_does_not_fit_goes_to_the_next_module() -> None:
    decision = decide(FakeModule("tiny", size=64), FakeModule("roomy", mac=2))
    assert decision.module == "roomy"
    reason = offer(decision, "tiny").refusal or ""
    assert reason.startswith("it needs at least ")
    assert reason.endswith(" bytes of L1, 64 are there")


def test_approximations_need_permission() -> None:
    short = FakeModule("short", forms=(SHORT,))
    hardware = decide(short)
    assert hardware.module == "short"
    fit = offer(hardware, "short").fit
    assert fit is not None
    assert (fit.exact, fit.max_step) == (False, 1)
    assert 0 < fit.share < 0.01
    exact = decide(short, numerics="exact")
    assert exact.module == "cpu"
    assert (offer(exact, "short").refusal or "").startswith("short would be off by one step for 0.")


def test_exact_form_is_taken_where_the_modules_own_is_not() -> None:
    both = FakeModule("both", forms=(SHORT, WIDE))
    plan = decide(both, numerics="exact").plan
    assert plan is not None
    assert plan.requantizer == WIDE
    plan = decide(both, numerics="hardware").plan
    assert plan is not None
    assert plan.requantizer == SHORT


def test_narrow_form_that_is_exact_is_taken_even_so() -> None:
    """M = 2**22 is exact in any form, and then the narrowest that holds the same integers does."""
    simple = replace(requantization(multiplier=1 << 20), bias=np.full(8, 1 << 29), shift=np.full(8, 30))
    work = Workload(
        LAYER, LayerConstants(Filters(np.ones((8, 3, 3, 4), np.int8)), simple), (-REACH // 100, REACH // 100), "f"
    )
    plan = decide(FakeModule("short", forms=(SHORTER, SHORT, WIDE)), work=work, numerics="exact").plan
    assert plan is not None
    assert plan.requantizer in (SHORT, SHORTER)


def test_correction_of_negative_values_needs_a_form_that_has_it() -> None:
    work = workload(parameters=requantization(signed=True))
    plan = decide(FakeModule("wide"), work=work).plan
    assert plan is not None
    assert (plan.requantizer, plan.negative_step) == (WIDE_SIGNED, 1 << 31)
    plan = decide(FakeModule("wide")).plan
    assert plan is not None
    assert (plan.requantizer, plan.negative_step) == (WIDE, 0)
    plain = FakeModule("plain", forms=(WIDE,))
    refusal = offer(decide(plain, work=work, numerics="exact"), "plain").refusal
    assert (refusal or "").startswith("plain would be off by one step for")
    fit = offer(decide(plain, work=work), "plain").fit
    assert fit is not None
    assert (fit.exact, fit.max_step) == (False, 1)


def test_forms_that_cannot_even_come_near_are_refused() -> None:
    falling = replace(requantization(), multiplier=np.full(8, -5))
    decision = decide(FakeModule("short", forms=(SHORT,)), work=workload(parameters=falling))
    assert offer(decision, "short").refusal == "short has no form of requantization that comes near its own"


def test_more_than_one_step_off_is_refused() -> None:
    """An output stage that cannot clip at 100 is off by more than one step, permission or not."""
    clipped = workload(replace(LAYER, clip=(0, 100)), replace(requantization(), clip=(0, 100)))
    decision = decide(FakeModule("short", forms=(SHORT,)), work=clipped)
    assert decision.module == "cpu"
    assert "up to 155 steps" in (offer(decision, "short").refusal or "")


def shifting(exponent: int, mantissa: int = 1 << 30) -> Requantization:
    """TFLite's for a factor of about 2**-exponent, negatives clamped away."""
    shift = np.full(8, 30 + exponent)
    return Requantization(np.full(8, mantissa), np.int64(1) << (shift - 1), shift, (0, 127))


def test_powers_of_two_are_a_shift_of_the_plan() -> None:
    plan = decide(FakeModule("shifter", forms=(SHIFT,)), work=workload(parameters=shifting(9)), numerics="exact").plan
    assert plan is not None
    assert (plan.requantizer, plan.shift) == (SHIFT, 9)
    plan = decide(FakeModule("wide")).plan
    assert plan is not None
    assert plan.shift == 0, "shifts by channel are among the constants"


def test_shifts_that_are_far_off_are_refused_with_what_to_do() -> None:
    work = workload(parameters=shifting(9, 1_500_000_000))
    reason = offer(decide(FakeModule("shifter", forms=(SHIFT,)), work=work), "shifter").refusal or ""
    assert reason.startswith("shifter would be off by up to ")
    assert "for it can only shift and clip to 0..127 or -128..127" in reason
    assert reason.endswith("quantize with scales that are powers of two, one per tensor")


def addition(multipliers: tuple[int, int], bias: int = 1 << 13, shift: int = 14) -> Workload:
    layer = replace(LAYER, op=Op.ADD, c=1, fy=1, fx=1, padding=Padding(), weight_dtype="", clip=(-128, 127))
    one, low = np.array([1]), np.array([-128 * sum(multipliers)])
    line = Requantization(one, np.array([bias]), np.array([shift]), (-128, 127))
    return Workload(layer, LayerConstants(Addends(*multipliers), line), (low, low // -128 * 127), "net_00_add")


def test_plain_additions() -> None:
    """Inputs that count alike are added first; without a bias, half of the odd sums of a halving round differently."""
    adder = FakeModule("adder", forms=(SHIFT_SUM,), ops=(Op.ADD,))

    def chosen(work: Workload, numerics: Numerics) -> Form | str:
        return choose_form(adder, work.layer, work.constants, work.accumulator, numerics)

    exact = chosen(addition((1 << 14, 1 << 14)), Numerics.EXACT)
    assert isinstance(exact, Form)
    assert exact.constants.data == Addends(1, 1)
    assert exact.constants.requantization is not None
    assert exact.constants.requantization.shift == [0]
    halving = chosen(addition((1 << 13, 1 << 13)), Numerics.HARDWARE)
    assert isinstance(halving, Form)
    assert halving.fit is not None
    assert (halving.fit.exact, halving.fit.max_step) == (False, 1)
    assert halving.fit.share == pytest.approx(0.5, abs=0.01)
    reason = chosen(addition((1 << 14, 1 << 13)), Numerics.HARDWARE)
    assert reason == "adder adds its inputs as they are, and these have different scales"


def test_layer_of_the_plan_clips_as_its_module_does() -> None:
    """No accumulator reaches 255, so a clip at 250 that none reaches either changes nothing."""
    parameters = replace(requantization(), bias=np.full(8, 1 << 36), clip=(0, 250))
    work = Workload(
        replace(LAYER, clip=(0, 250)),
        LayerConstants(Filters(np.ones((8, 3, 3, 4), np.int8)), parameters),
        (np.zeros(8, np.int64), np.full(8, 9000)),
        "f",
    )
    plan = decide(FakeModule("short", forms=(SHORT,)), work=work).plan
    assert plan is not None
    assert plan.layer.clip == plan.schedule.layer.clip == (0, 255)


def test_layers_of_one_geometry_are_searched_once() -> None:
    unit = FakeModule("unit")
    model = unit.cost_model
    assert isinstance(model, FixedCost)
    (alone,) = decide_all([workload()], unit)
    searches = model.searches
    other = workload(replace(LAYER, name="other", clip=(3, 200), pad_value=7))
    first, second = decide_all([workload(), other], unit)
    assert model.searches == 2 * searches
    assert alone.plan is not None
    assert first.plan is not None
    assert second.plan is not None
    assert second.plan.schedule.loops == first.plan.schedule.loops == alone.plan.schedule.loops
    assert (second.plan.layer.name, second.plan.layer.pad_value) == ("other", 7)
    decide_all([workload(), workload(replace(LAYER, ox=5))], unit)
    assert model.searches == 4 * searches


def test_layers_without_requantization_need_no_form() -> None:
    pool = replace(LAYER, op=Op.MAX_POOL2D, c=1, weight_dtype="")
    work = Workload(pool, LayerConstants(), None, "f")
    decision = decide(FakeModule("pool", mac=1, ops=(Op.MAX_POOL2D,)), work=work)
    assert decision.plan is not None
    assert (decision.plan.requantizer, decision.plan.constants) == (None, b"")
    assert offer(decision, "pool").fit is None


def test_without_modules_everything_is_the_cpus() -> None:
    decision = decide()
    assert decision.module == "cpu"
    assert [candidate.module for candidate in decision.candidates] == ["cpu"]
