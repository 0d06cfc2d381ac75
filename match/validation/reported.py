"""What a validation found, in the report of its project, where tables and pages show it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from match.report.file import read_report, write_report
from match.report.schema import Report, ValidatedLayer, ValidatedSummary
from match.validation.schema import Validation
from match.validation.table import sentences, title


def add_validation(path: Path, validation: Validation) -> Report:
    """Write what was found into the report of its project, which is returned.

    It takes the place of an older one on the same platform.

    Raises:
        InputError: if there is no report.
        ModelError: if it is of another version.
        OutputError: if it cannot be written.
    """
    report = read_report(path)
    others = (other for other in report.validated if other.platform != validation.platform)
    new = msgspec.structs.replace(report, validated=(*others, summary(validation)))
    write_report(path, new)
    return new


def summary(validation: Validation) -> ValidatedSummary:
    """A validation as a report has it."""
    layers = validation.layers
    return ValidatedSummary(
        platform=validation.platform,
        reference=validation.reference,
        samples=validation.samples,
        verdict=validation.verdict,
        elements=sum(tensor.elements for tensor in validation.outputs),
        equal=sum(tensor.equal for tensor in validation.outputs),
        compared=title(validation),
        found=tuple(sentences(validation)),
        accuracy=validation.accuracy,
        layers=None
        if layers is None
        else tuple(
            ValidatedLayer(layer.name, layer.elements, layer.differing, layer.largest, layer.known_steps)
            for layer in layers
        ),
    )
