"""The least cost of a cover as an integer program, solved by CP-SAT: a reference where covers are too many to list."""

from __future__ import annotations

from ortools.sat.python import cp_model

from match.cover.problem import CoverProblem, Layout
from tests.cover.brute_force import serves

GRAIN = 8
"""Costs are multiples of an eighth."""


def least_cost(problem: CoverProblem, without: int | None = None) -> float | None:
    """The least cost of all covers, or of those without a candidate; None: there are none.

    More room costs no less to lay out.
    """
    model = cp_model.CpModel()
    taken = [model.new_bool_var(f"taken_{number}") for number in range(len(problem.candidates))]
    terms = [round(GRAIN * one.cost) * taken[number] for number, one in enumerate(problem.candidates)]
    for place in range(len(problem.graph.operators)):
        model.add_exactly_one(taken[number] for number, one in enumerate(problem.candidates) if place in one.operators)
    if without is not None:
        model.add(taken[without] == 0)
    written = {tensor for operator in problem.graph.operators for tensor in operator.writes}
    true = model.new_constant(1)
    for tensor in range(len(problem.graph.tensors)):
        gives = [
            (taken[n], dict(one.gives)[tensor]) for n, one in enumerate(problem.candidates) if tensor in dict(one.gives)
        ]
        wants = [
            (taken[n], layout) for n, one in enumerate(problem.candidates) for t, layout in one.wants if t == tensor
        ]
        gives += [] if tensor in written else [(true, None)]
        wants += [(true, None)] if tensor in problem.graph.outputs else []
        layouts: dict[Layout, None] = dict.fromkeys([None, *(layout for _, layout in wants)])
        there = {layout: model.new_bool_var(f"there_{tensor}_{n}") for n, layout in enumerate(layouts)}
        for wanting, wanted in wants:
            larger = [there[layout] for layout in layouts if serves(layout, wanted)]
            for giving, given in gives:
                if not serves(given, wanted):
                    model.add_bool_or([wanting.negated(), giving.negated(), *larger])
                    if given is not None:
                        model.add_bool_or([wanting.negated(), giving.negated(), there[None]])
        terms += [round(GRAIN * problem.conversions[tensor, layout]) * one for layout, one in there.items()]
    model.minimize(sum(terms))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    assert status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
    return solver.objective_value / GRAIN if status == cp_model.OPTIMAL else None
