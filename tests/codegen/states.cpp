// Two contexts of one network in turns, and one that begins again: prints status and outputs. C++, as firmware may be.
#include <cstdio>
#include <cstring>

#include "stream.h"

static stream_context_t first, second;
alignas(STREAM_ALIGNMENT) static uint8_t memory[STREAM_WORKSPACE_IO_BYTES];

static void step(stream_context_t *context, int number)
{
    int8_t *const input = stream_input_t0(context);
    for (int i = 0; i < STREAM_INPUT_T0_ELEMENTS; i++) {
        input[i] = (int8_t)((number * 37 + i * 11) % 256 - 128);
    }
    std::printf("%d", (int)stream_run(context, nullptr, nullptr));
    const int8_t *const output = stream_output_t17(context);
    for (int i = 0; i < STREAM_OUTPUT_T17_ELEMENTS; i++) {
        std::printf(" %d", output[i]);
    }
    std::printf("\n");
}

int main()
{
    std::printf("%d\n", (int)stream_reset(&first)); // not initialised
    match_platform_open();
    stream_init(&first, stream_workspace, sizeof stream_workspace);
    stream_init(&second, memory, sizeof memory);
    for (int number = 0; number < 4; number++) {
        step(&first, number);
        if (number % 2 == 0) {
            std::memset(memory, 0x5a, sizeof memory); // states are not in there
            step(&second, number);
        }
    }
    std::printf("%d\n", (int)stream_reset(&first));
    step(&first, 0);
    step(&second, 5);
    stream_init(&second, memory, sizeof memory); // begins again
    step(&second, 0);
    stream_deinit(&first);
    stream_deinit(&second);
    match_platform_close();
}
