"""A module of Zephyr: CMake and Kconfig beside the library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from match.exporting.library import Library


def zephyr(library: Library) -> Mapping[str, str]:
    """The files of a module, which ZEPHYR_EXTRA_MODULES or a manifest of west adds to an application."""
    symbol = f"MATCH_{library.name.upper()}"
    return {
        **library.files,
        "zephyr/module.yml": f"name: {library.name}\nbuild:\n  cmake: zephyr\n  kconfig: zephyr/Kconfig\n",
        "zephyr/Kconfig": (
            f"config {symbol}\n"
            f'\tbool "Neural networks: {", ".join(library.networks)}"\n'
            f"\tdefault y\n"
            f"\timply FPU if CPU_HAS_FPU\n"
            f"\thelp\n"
            f"\t  Networks that MATCH compiled for {library.target}.\n"
        ),
        "zephyr/CMakeLists.txt": _cmake(library, symbol),
        "README.md": _readme(library, symbol),
    }


def _cmake(library: Library, symbol: str) -> str:
    defines = [f"{name}={value}" for name, value in library.defines.items()]
    lines = [
        f"if(CONFIG_{symbol})",
        f"    zephyr_library_named({library.name})",
        *_call("zephyr_library_sources", library.sources),
        *_call("zephyr_include_directories", library.include),
        "    zephyr_library_compile_options(-ffp-contract=off)",
        *([f"    zephyr_library_compile_definitions({' '.join(defines)})"] if defines else []),
        "endif()",
    ]
    return "\n".join(lines) + "\n"


def _call(command: str, paths: Iterable[str]) -> Iterator[str]:
    """A command with paths, which begin in the module's folder."""
    yield f"    {command}("
    yield from (f"        ${{CMAKE_CURRENT_LIST_DIR}}/../{path}" for path in paths)
    yield "    )"


def _readme(library: Library, symbol: str) -> str:
    headers = ", ".join(f"`{network}.h`" for network in library.networks)
    return f"""\
# {library.name}: a module of Zephyr

`west build -- -DZEPHYR_EXTRA_MODULES=<this folder>`, or an entry in the manifest of west, adds it to an application,
which includes {headers}. `CONFIG_{symbol}=n` leaves it out.

- `CONFIG_MAIN_STACK_SIZE`, or that of the thread that runs a network: what `match size` says, and what Zephyr takes.
- Threads that share a network wait for each other with `match_set_lock` and a `k_mutex`.
- `match_count_hooks` (`match_count.h`) print what each operator takes, for `match measure`.
"""
