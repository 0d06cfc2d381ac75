# ${title}

A target of the MATCH compiler, as `match new-target` wrote it: a made-up chip that works, to be changed piece by piece into
yours.

```sh
pip install -e '.[test]'
python -m pytest                              # compiles layers and a network, runs them on this machine, compares
match check-target ${name}
match compile model.tflite --target ${name} -o build/model
```

| | |
|---|---|
| `${name}/target.py` | the chip: memories, modules with their patterns, cost model |
| `${name}/${name}.c`, `.h` | the kernels |
| `tests/` | what must stay true while you change it |

On a PC the functions that generated code calls are there already. `${"match_chip.h" if scratchpad else "match_core.h"}` says what they are; the chip's own are yours to write.
