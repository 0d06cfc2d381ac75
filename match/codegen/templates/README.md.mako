# ${network.name} on ${target.name}

Generated C; `make` builds it for a PC (a C compiler and make are all it needs), `make SANITIZE=address,undefined` with run-time
checks.

| file | what it is |
|---|---|
| `include/${header}` | the interface: tensors, sizes, `match_run` |
| `src/network.c` | operators on the control core and the order of all layers |
| `src/match_*.c` | a layer on a module each: ${len(network.layers)} |
| `src/main.c` | the program for a PC: samples from a binary file, outputs to another |
| `include/match_layer.h`, `include/match_layers.h` | what layers share; their declarations |
| ${', '.join(f'`{name}/`' for name in platform)} | kernels, and the functions of ${target.name} as they are on a PC |
| `project.json` | the tensors, for `match run` |
% if "report.json" in others:
| `report.json` | what each layer costs, where it runs and why |
% endif

Of ${target.main_memory.size} bytes of ${target.main_memory.name}, constants take ${network.constant_bytes} and activations, inputs and outputs included,
${network.activation_bytes}.
