"""What a project says about itself, and its programs."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

import msgspec

from match.codegen.manifest import MANIFEST, Manifest, PlatformEntry
from match.errors import InputError, OptionError
from match.run.make import make
from match.run.tools import need
from match.target.arguments import is_a, is_one_of, shown

_CHECKS = "address,undefined"


def read_manifest(directory: str | PathLike[str]) -> Manifest:
    """What a project says about itself.

    Raises:
        InputError: if the folder holds no project, or one that another version of the compiler made.
    """
    folder = Path(directory)
    path = folder / MANIFEST
    try:
        return msgspec.json.decode(path.read_bytes(), type=Manifest)
    except OSError as error:
        raise InputError(
            f"{folder.resolve() if folder.name in ('', '..') else folder} holds no compiled network: {path} "
            f"cannot be read; compile one into it."
        ) from error
    except msgspec.MsgspecError as error:
        raise InputError(f"{path} is of another version or damaged: {error}; compile the network again.") from error


def platform_of(manifest: Manifest, name: str) -> PlatformEntry:
    """A platform of a project by its name, which programs are built for.

    Raises:
        OptionError: if the project has none of this name, or the platform not all modules that the network uses.
    """
    for platform in manifest.platforms:
        if platform.name == name:
            return _complete(manifest, platform)
    known = ", ".join(platform.name for platform in manifest.platforms)
    raise OptionError(f"{manifest.name} for {manifest.target} has no platform {name!r}; choose one of {known}.")


def own_platform(manifest: Manifest) -> PlatformEntry:
    """The chip's own platform: of those that have all modules of the network the last."""
    return next(platform for platform in reversed(manifest.platforms) if not platform.missing)


def platform_on(manifest: Manifest, place: str) -> PlatformEntry:
    """The platform of a project whose programs run on `place`: on "host" those for this machine.

    Raises:
        OptionError: if no platform's do, or the platform has not all modules that the network uses.
    """
    for platform in manifest.platforms if is_a(place, str) else ():
        if platform.on == place:
            return _complete(manifest, platform)
    known = ", ".join(platform.on for platform in manifest.platforms)
    others = (one for one in manifest.platforms if is_one_of(place, [one.name]))
    built = next((f": programs for {one.name} run on {one.on}" for one in others), "")
    raise OptionError(
        f"{manifest.name} for {manifest.target} does not run on {shown(place)}{built}; choose one of {known}."
    )


def _complete(manifest: Manifest, platform: PlatformEntry) -> PlatformEntry:
    if platform.missing:
        missing = ", ".join(platform.missing)
        raise OptionError(
            f"{manifest.name} has layers on {missing}, which platform {platform.name!r} of {manifest.target} does not "
            f"have; compile the network with --modules {','.join(platform.modules or ())}."
        )
    return platform


def build(
    directory: str | PathLike[str],
    platform: str = "host",
    *,
    sanitize: bool = False,
    traced: bool = False,
    counted: bool = False,
    dumped: bool = False,
    flags: str | None = None,
) -> Path:
    """Compile a project with make where it is not up to date; returns the program.

    Args:
        directory: the project.
        platform: what the program is for.
        sanitize: with the address and undefined-behaviour sanitizers, which the host alone has.
        traced: the program reports what layers do.
        counted: the program reports what each call costs, which takes a platform that counts.
        dumped: the program reports the tensors that layers on modules read and write.
        flags: of the compiler, in place of CFLAGS of the environment.

    Raises:
        InputError: if the folder holds no project.
        OptionError: if the project has no such platform, or the platform no sanitizers.
        OutputError: if the folder of the build cannot be written.
        ToolchainError: if make or a C compiler is missing, or the build fails.
    """
    chosen = platform_of(read_manifest(directory), platform)
    if sanitize and chosen.compiler is not None:
        raise OptionError(f"platform {platform!r} has no sanitizers; they run on the host.")
    command = compiler_of(chosen)
    tool = command.split()[0]
    need(("make", tool), f"building {directory}" + (f" for {platform}" if chosen.compiler else ""))
    options = ["WERROR=1", *([f"SANITIZE={_CHECKS}"] if sanitize else [])]
    options += ["TRACE=1"] if traced else []
    options += ["DUMP=1"] if dumped else []
    options += ["COUNT=1"] if counted else []
    options += [f"CFLAGS={flags}"] if flags is not None else []
    advice = f"see if `{tool} --version` works" + ("" if chosen.compiler else ", or set CC to another compiler")
    project = Path(directory)
    name = platform + ("-" + _CHECKS.replace(",", "-") if sanitize else "")
    name += ("-trace" if traced else "") + ("-dump" if dumped else "") + ("-count" if counted else "")
    folder = project / "build" / name
    make(project, folder, command, [f"PLATFORM={platform}", *options], advice)
    return folder / "network"


def compiler_of(platform: PlatformEntry) -> str:
    """A platform's C compiler as a command; this machine's is what the variable CC says, a path in it from here on."""
    if platform.compiler:
        return platform.compiler
    command = os.environ.get("CC", "").strip() or "cc"
    tool = command.split()[0]
    return command.replace(tool, str(Path(tool).absolute()), 1) if os.sep in tool else command
