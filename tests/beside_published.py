"""Tables of docs/ with predictions beside publications, as benchmarks predicted last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchmarks.command import read
from benchmarks.energy import __main__ as energy
from benchmarks.energy.objectives import objectives_rows
from benchmarks.energy.published import figures as energies
from benchmarks.energy.results import Results
from benchmarks.fusion import cli as fusion
from benchmarks.fusion.published import PUBLISHED
from benchmarks.fusion.results import Results as FusionResults
from benchmarks.fusion.results import chosen_by
from benchmarks.published import __main__ as published
from benchmarks.published.results import Result, figures

_CHIPS = {"gap8": "GAP8", "gap9": "GAP9", "diana": "DIANA"}

CYCLES = {
    "gap9": "| network | modules | measured | predicted | ratio | with run-time |",
    "gap8": "| network | measured | predicted | ratio | by |",
    "diana": "| network | modules | measured | predicted | ratio | on the core | of that, layouts |",
}
"""Headers of the tables, by target."""
ENERGIES = "| chip | network | published | predicted | factor | of power | by |"
OBJECTIVES = "| target | network | latency | `energy` | `edp` | `energy`, `latency=1.1x` |"


FUSION = (
    "| network | less latency by fusion, published | ours, waiting for transfers | ours, transfers beside kernels "
    "| least kB of activations, published | ours | of the best pairs |"
)
_NETWORKS = {
    "ds-cnn": "DS-CNN",
    "mv1-96": "MobileNetV1, 96 x 96",
    "mv1-128": "MobileNetV1, 128 x 128",
    "mv1-224": "MobileNetV1, 224 x 224",
    "mv2-128": "MobileNetV2, 128 x 128",
    "mv2-224": "MobileNetV2, 224 x 224",
}


def with_predictions(page: str) -> str:
    """The page, with those of these tables that it has."""
    cycles = published.read(published.FILE)
    energies_ = read(energy.FILE, Results)
    tables: dict[str, list[tuple[str, ...]]] = {
        header: [_cycles(one) for one in cycles if one.cell.target == target] for target, header in CYCLES.items()
    }
    tables[ENERGIES] = [
        (_CHIPS[one.cell.target], one.cell.network, *energies(one), _by(one.cell.source, one.cell.remark))
        for one in energies_.published
    ]
    tables[OBJECTIVES] = objectives_rows(energies_.objectives)
    tables[FUSION] = list(_fusion())
    lines = page.split("\n")
    for header, rows in tables.items():
        if header in lines:
            first = lines.index(header) + 2
            lines[first : lines.index("", first)] = [_line(row) for row in rows]
    return "\n".join(lines)


def _cycles(one: Result) -> tuple[str, ...]:
    cell, prediction = one.cell, one.prediction
    assert prediction is not None, f"{cell.network} on {cell.target} was not predicted: {one.unavailable}"
    modules = " + ".join(cell.modules) or f"control core ({cell.tool})"
    measured, predicted, ratio, with_run_time = figures(cell, prediction)
    match cell.target:
        case "gap9":
            return (cell.network, modules, measured, predicted, ratio, with_run_time)
        case "gap8":
            return (cell.network, measured, predicted, ratio, _by(cell.source, cell.remark))
        case _:
            shares = [
                f"{1e3 * cycles / prediction.clock_hz:.2f} ms" if cell.modules and cell.milliseconds else ""
                for cycles in (prediction.cpu_cycles, prediction.layout_cycles)
            ]
            return (cell.network, modules, measured, predicted, ratio, *shares)


def _fusion() -> Iterator[tuple[str, ...]]:
    beside, waiting = (
        {name: rows for (name, *_), rows in chosen_by(read(file, FusionResults)).items()} for file in fusion.FILES
    )
    for name, shown in _NETWORKS.items():
        published_, least = PUBLISHED[name], beside[name]["bytes"]
        yield (
            shown,
            _percent(published_.gain),
            *(_percent(1 - rows[name]["latency"].cycles / rows[name]["unfused"].cycles) for rows in (waiting, beside)),
            f"{published_.activation_bytes[2] / 1e3:,.1f}",
            f"{least.activation_bytes / 1e3:,.1f}",
            f"{least.activation_bytes / least.pairs_bytes:.0%}".replace("%", " %"),
        )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share else "0 %"


def _by(source: str, remark: str) -> str:
    return "; ".join(filter(None, (source, remark)))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
