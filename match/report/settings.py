"""What was set of a target, in words."""

from __future__ import annotations

from match.report.schema import OptionsSummary


def settings_text(options: OptionsSummary) -> str:
    """Names and values, as `--set` takes them; empty where nothing was set."""
    return ", ".join(f"{name}={setting_text(value)}" for name, value in options.settings.items())


def setting_text(value: object) -> str:
    """A value, as `--set` takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.10g}" if isinstance(value, float) else str(value)
