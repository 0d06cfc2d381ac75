# A RISC-V core without an operating system, with picolibc, as QEMU's machine `virt`: cmake --toolchain riscv.cmake.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR riscv32)
set(CMAKE_C_COMPILER riscv64-unknown-elf-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

set(CMAKE_C_FLAGS_INIT "-misa-spec=2.2 -march=rv32imac -mabi=ilp32 --specs=picolibc.specs -ffunction-sections -fdata-sections")
set(CMAKE_EXE_LINKER_FLAGS_INIT "--oslib=semihost --crt0=semihost -Wl,--gc-sections")
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -Wl,--defsym=__flash=0x80000000,--defsym=__flash_size=0x4000000")
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -Wl,--defsym=__ram=0x84000000,--defsym=__ram_size=0x4000000")
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -Wl,--defsym=__stack_size=0x10000")
