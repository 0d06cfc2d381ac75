"""What was asked for, and what was set of a target, in words."""

from __future__ import annotations

from match.report.schema import OptionsSummary, Report


def settings_text(options: OptionsSummary) -> str:
    """Names and values, as `--set` takes them; empty where nothing was set."""
    return ", ".join(f"{name}={setting_text(value)}" for name, value in options.settings.items())


def objective_text(options: OptionsSummary) -> str:
    """What was minimised, and within what."""
    return options.objective + (f", at most {options.at_most}" if options.at_most else "")


def hypothetical(report: Report) -> list[str]:
    """A sentence for each memory of which the chip has less than it was compiled for."""
    return [
        f"{report.target.name} has {one.own:,} bytes of {one.name} for networks, and this is for a chip with "
        f"{one.bytes:,}: the numbers are those of hypothetical hardware, and no {report.target.name} executes the "
        "program."
        for one in report.target.enlarged
    ]


def setting_text(value: object) -> str:
    """A value, as `--set` takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.10g}" if isinstance(value, float) else str(value)
