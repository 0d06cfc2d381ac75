# ${network.name} on ${target.name}

Generated C. `make` builds it for a PC, `make SANITIZE=address,undefined` with run-time checks, `make TRACE=1` with a line on
stdout for every transfer, wait and kernel; make and a C compiler are all that is needed.
% for placed in platforms[1:]:
`make PLATFORM=${placed.platform.name}` builds it ${placed.needs}.
% endfor

| file | what it is |
|---|---|
| `include/${header}` | the interface: tensors, sizes, `match_run` |
| `src/network.c` | operators on the control core and the order of all layers |
| `src/match_*.c` | one layer on a module each, ${len(network.layers)} in all |
| `src/main.c`, `src/trace.c` | the program, which runs sample after sample; its trace |
| `src/io.c`, `include/match_io.h` | where samples come from and outputs go: two binary files |
| `include/match_layer.h`, `include/match_layers.h` | what layers share; their declarations |
| `include/match_trace.h` | what layers say of themselves when traced |
| `include/match_count.h`, `src/count.c` | what each call of the network costs, where a platform counts (`make COUNT=1`) |
| `include/match_dump.h`, `src/dump.c` | the tensors that layers on modules read and write (`make DUMP=1`) |
| ${', '.join(f'`{name}/`' for name in folders)} | kernels, and the functions of ${target.name} on each platform |
| `project.json` | the tensors, for `match run` |
% if "report.json" in others:
| `report.json` | what each layer is predicted to cost, where it runs and why |
% endif

% if network.memory:
What ${target.main_memory.name} cannot hold is in `${image}`, the image of ${target.external.memory.name}: ${network.memory.plan.image} bytes of constants. The network takes
${network.main_bytes} of ${target.main_memory.size} bytes of ${target.main_memory.name} with inputs and outputs, and ${network.memory.plan.external} of ${target.external.memory.size} bytes of ${target.external.memory.name}.
`match_run` takes inputs from ${target.main_memory.name} and leaves outputs there, in arrays of the caller.
% else:
Constants take ${network.constant_bytes} bytes of ${target.main_memory.name}, activations with inputs and outputs ${network.activation_bytes},
out of ${target.main_memory.size}.
% endif
