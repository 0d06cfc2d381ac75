"""What was asked for, and what was set of a target, in words."""

from __future__ import annotations

from match.report.schema import OptionsSummary


def settings_text(options: OptionsSummary) -> str:
    """Names and values, as `--set` takes them; empty where nothing was set."""
    return ", ".join(f"{name}={setting_text(value)}" for name, value in options.settings.items())


def objective_text(options: OptionsSummary) -> str:
    """What was minimised, and within what."""
    return options.objective + (f", at most {options.at_most}" if options.at_most else "")


def setting_text(value: object) -> str:
    """A value, as `--set` takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.10g}" if isinstance(value, float) else str(value)
