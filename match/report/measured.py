"""What the calls of a run cost, by the layers of the report that they compute: each call says which these are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from match.errors import MatchError
from match.report.file import read_report, write_report
from match.report.schema import REPORT, LayerSummary, MeasuredLayers, Measurement, Report
from match.run.counts import CallCount, Counts


def measurement(layers: Sequence[LayerSummary], counts: Counts) -> Measurement:
    """What a run of the network with these layers counted, layer by layer."""
    sources = {layer.name: layer.source for layer in layers}
    found: dict[tuple[str, ...], list[CallCount]] = {}
    for counted in counts.calls:
        found.setdefault(counted.call.layers, []).append(counted)
    return Measurement(
        platform=counts.platform,
        unit=counts.unit,
        command=counts.command,
        samples=counts.samples,
        total=counts.total,
        layers=tuple(
            MeasuredLayers(
                names,
                tuple(counted.call.function for counted in calls),
                sum(counted.count for counted in calls),
                tuple(sources[name] for name in names),
            )
            for names, calls in found.items()
        ),
        counted=counts.counted,
    )


def measured(report: Report, found: Measurement) -> Report:
    """The report with a measurement, in the place of an older one on the same platform."""
    others = (other for other in report.measured if other.platform != found.platform)
    return msgspec.structs.replace(report, measured=(*others, found))


def with_earlier(report: Report, project: Path) -> Report:
    """The report with what was measured and validated in that of a project of the same C, if this can be read."""
    try:
        before = read_report(project / REPORT)
    except MatchError:
        return report
    return msgspec.structs.replace(report, measured=before.measured, sizes=before.sizes, validated=before.validated)


def add_to_report(path: Path, counts: Counts) -> Report:
    """Write what a run counted into the report of its project, which is returned.

    Raises:
        InputError: if there is no report.
        ModelError: if it is of another version.
        OutputError: if it cannot be written.
    """
    report = read_report(path)
    new = measured(report, measurement(report.layers, counts))
    write_report(path, new)
    return new
