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
| `${name}/target.py` | the chip: memories, modules with their patterns, cost model, and names of C functions |
| `${name}/${name}.h` | those functions: platform, memory, sync, compute, and the kernels |
| `${name}/${name}.c` | all of them as they are on a PC; write the chip's own beside it |
| `tests/` | what must stay true while you change it |
