# A Cortex-M without an operating system, with picolibc, as the STM32F446RE has it: cmake --toolchain cortex_m.cmake.
#
# Another core: -DCPU=cortex-m33 and the addresses of its memories below. A vendor's project brings all of this along.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CPU cortex-m4 CACHE STRING "The core, as -mcpu has it")

set(CMAKE_C_FLAGS_INIT "-mcpu=${CPU} -mfloat-abi=hard --specs=picolibc.specs -ffunction-sections -fdata-sections")
set(CMAKE_EXE_LINKER_FLAGS_INIT "--oslib=semihost --crt0=semihost -Wl,--gc-sections")
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -Wl,--defsym=__flash=0x08000000,--defsym=__flash_size=0x80000")
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -Wl,--defsym=__ram=0x20000000,--defsym=__ram_size=0x20000")
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -Wl,--defsym=__stack_size=0x2000")
