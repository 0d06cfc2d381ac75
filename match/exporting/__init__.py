"""Networks as libraries for other build systems than make and CMake: Zephyr, Arduino, CMSIS-Pack."""
