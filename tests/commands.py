"""The page of commands: what `match COMMAND --help` says, for all of them."""

from __future__ import annotations

import re
from typing import Any

import typer

from match.cli import application

_HEAD = """# Commands

What `match COMMAND --help` says. `-q` prints errors and warnings only, `-v` each step, `--json` [an object](json.md)
in place of tables. An error is [one sentence](errors.md) on stderr and exit status 2; Ctrl-C ends any command with
status 130 and leaves nothing behind.
"""


def _text(text: str | None) -> str:
    """A text of the help as Markdown: in it one line break is none, and two are a paragraph."""
    paragraphs = (" ".join(part.split()) for part in (text or "").split("\n\n"))
    return re.sub(r"[<|*]", r"\\\g<0>", "<br>".join(paragraphs)).replace("\\<br>", "<br>")


def _names(parameter: Any) -> str:
    """What stands on the command line: an argument's name, or an option's, with what follows it."""
    if parameter.param_type_name == "argument":
        names = [parameter.metavar or parameter.name.upper()]
    else:
        names = [" ".join(filter(None, (name, parameter.metavar))) for name in parameter.opts]
    return ", ".join(f"`{name}`" for name in names)  # Zensical takes bars in code as they are


def commands() -> str:
    """The page."""
    group: Any = typer.main.get_command(application())
    parts = [_HEAD]
    for name, command in group.commands.items():
        parts.append(f"\n## match {name}\n\n{_text(command.help)}\n\n| | |\n|---|---|\n")
        parts += [f"| {_names(parameter)} | {_text(parameter.help)} |\n" for parameter in command.params]
    return "".join(parts)
