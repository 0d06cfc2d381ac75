# ${comment(network.name)} on ${target.name}

Generated C. `make` builds it for a PC, `make SANITIZE=address,undefined` with run-time checks, `make TRACE=1` with a line on
stdout for every transfer, wait and kernel; make and a C compiler are all that is needed. `make lib` makes a library for programs
of your own, `make help` lists all.
% for placed in platforms[1:]:
`make PLATFORM=${placed.platform.name}` builds it ${placed.needs}.
% endfor

| file | what it is |
|---|---|
| `include/${name}.h` | the interface: tensors, sizes, `${name}_init`, `${name}_run` |
| `include/match_on_*.h`, `runtime/match_on_*.c` | what the layers of a module share: their blocks of its memory, transfers, kernel calls |
| `include/match_version.h` | which version of MATCH made what networks share, for which target |
| `include/match_network.h`, `runtime/` | what the interfaces of all networks share: contexts, status, whose turn it is, real numbers, starting the chip |
| `src/network.c` | operators on the control core, the order of all layers, and the interface |
| `src/NN_*.c`, `src/layers.h` | one layer on a module each, ${len(network.layers)} in all; their declarations |
| `src/start.c` | runs that are started and polled |
| `src/workspace.c` | a workspace, for programs that have none of their own |
| `program/` | a program that is a client of the interface and runs sample after sample; its trace and counts |
| `program/io.c`, `include/match_io.h` | where its samples come from and outputs go: two binary files |
| `include/match_layer.h` | what layers share |
| `include/match_trace.h` | what layers say of themselves when traced |
| `include/match_count.h`, `program/count.c` | what each operator costs, where a platform counts (`make COUNT=1`) |
| `include/match_dump.h`, `program/dump.c` | the tensors that layers on modules read and write (`make DUMP=1`) |
| ${', '.join(f'`{name}/`' for name in folders)} | kernels, and the functions of ${target.name} on each platform |
| `${name}.cmake`, `${name}.mk` | the library's sources, folders and flags, for CMake and for pmsis |
| `project.json` | the tensors, for `match run`, and these files as they were written: what is changed or added stays in another compilation |
% if "report.json" in others:
| `report.json` | what each layer is predicted to cost, where it runs and why |
% endif

% if network.memory:
What ${target.main_memory.name} cannot hold is in `${image}`, the image of ${target.external.memory.name}: ${network.memory.plan.image} bytes of constants. The network takes
${network.main_bytes} of ${target.main_memory.size} bytes of ${target.main_memory.name} with inputs and outputs, and ${network.memory.plan.external} of ${target.external.memory.size} bytes of ${target.external.memory.name}.
Inputs and outputs lie in ${target.main_memory.name}, in arrays of the caller or inside the workspace.
% else:
Constants take ${network.constant_bytes} bytes of ${(target.flash or target.main_memory).name}, activations with inputs and outputs ${network.activation_bytes},
out of ${target.main_memory.size}${f' of {target.main_memory.name}' if target.flash else ''}.
% endif
