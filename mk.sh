cd /tmp/dev/scratch/kernels/sim; K=/tmp/dev/w/kernels/kernels; B=/tmp/dev/w/kernels/benchmarks/rtl
riscv64-unknown-elf-gcc $DEFS -std=c11 -Wall -Wextra -Werror -O3 -misa-spec=2.2 -march=rv32imc -mabi=ilp32 --specs=picolibc.specs -nostartfiles -I$K/include -I$K/pulp -T $B/firmware.ld $B/boot.S $B/firmware.c $K/pulp/*.c -o fw.elf && riscv64-unknown-elf-objcopy -O binary fw.elf fw.bin; ls -l fw.bin
