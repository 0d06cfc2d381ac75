/* Two networks on a Cortex-M7 without an operating system. A camera hands over rows of pictures by interrupt while
 * networks run; the timer of the core stands in for it. */
#include <stdatomic.h>
#include <stdio.h>

#include "digits.h"
#include "keywords.h"

enum { PICTURES = 4, BUFFERS = 2, ROWS = 16, COLUMNS = 16, TICKS_OF_A_ROW = 10000 };

_Static_assert(ROWS * COLUMNS == DIGITS_INPUT_IMAGE_ELEMENTS, "the camera has the network's resolution");

static digits_context_t digits;
static keywords_context_t keywords;

/* The handler fills one picture while the network reads another. */
static _Alignas(DIGITS_TENSOR_ALIGNMENT) float pictures[BUFFERS][DIGITS_INPUT_IMAGE_ELEMENTS];
static atomic_uint arrived; /* rows */
static atomic_uint done;    /* pictures that nobody reads any more */
static atomic_uint lost;    /* rows, as both pictures were in use */

static void row_arrived(void)
{
    const unsigned row = atomic_load(&arrived), picture = row / ROWS;
    if (picture - atomic_load(&done) >= BUFFERS) {
        atomic_fetch_add(&lost, 1);
        return;
    }
    float *const pixels = &pictures[picture % BUFFERS][row % ROWS * COLUMNS];
    for (unsigned column = 0; column < COLUMNS; column++) {
        pixels[column] = (float)((column + 3 * row + 5 * picture) % 17) / 16.0f;
    }
    atomic_store(&arrived, row + 1);
}

static void stop(void)
{
    printf("an exception\n");
    for (;;) {
    }
}

/* Exceptions of the core by number; the first entry is the stack, which is set already. */
static _Alignas(128) void (*const vectors[16])(void) = {
    NULL, stop, stop, stop, stop, stop, stop, stop, stop, stop, stop, stop, stop, stop, stop, row_arrived,
};

static volatile uint32_t *reg(uintptr_t address)
{
    return (volatile uint32_t *)address;
}

static void start_camera(void)
{
    *reg(0xe000ed08) = (uint32_t)(uintptr_t)vectors; /* VTOR */
    *reg(0xe000e014) = TICKS_OF_A_ROW - 1;           /* SysTick: reload, value, control */
    *reg(0xe000e018) = 0;
    *reg(0xe000e010) = 7;
}

static void print_largest(const char *what, unsigned time, const float *values, int count)
{
    int best = 0;
    for (int i = 1; i < count; i++) {
        best = values[i] > values[best] ? i : best;
    }
    printf("%s %u: %d at %d thousandths\n", what, time, best, (int)(values[best] * 1000.0f));
}

static int32_t look(unsigned picture)
{
    const digits_inputs_t inputs = {.image = pictures[picture % BUFFERS]};
    const int32_t status = digits_run(&digits, &inputs, NULL);
    atomic_store(&done, picture + 1);
    if (status == MATCH_OK) {
        print_largest("picture", picture, digits_output_scores(&digits), DIGITS_OUTPUT_SCORES_ELEMENTS);
    }
    return status;
}

static int32_t listen(unsigned time)
{
    float *const cepstrum = keywords_input_cepstrum(&keywords);
    for (unsigned i = 0; i < KEYWORDS_INPUT_CEPSTRUM_ELEMENTS; i++) {
        cepstrum[i] = (float)((i + time) % 11) / 5.0f - 1.0f;
    }
    const int32_t status = keywords_run(&keywords, NULL, NULL);
    if (status == MATCH_OK) {
        const float *const words = keywords_output_probabilities(&keywords);
        print_largest("word", time, words, KEYWORDS_OUTPUT_PROBABILITIES_ELEMENTS);
    }
    return status;
}

int main(void)
{
    unsigned during = 0;
    int32_t status = match_platform_open();
    status = status ? status : digits_init(&digits, digits_workspace, sizeof digits_workspace);
    status = status ? status : keywords_init(&keywords, keywords_workspace, sizeof keywords_workspace);
    start_camera();
    for (unsigned picture = 0; picture < PICTURES && status == MATCH_OK; picture++) {
        while (atomic_load(&arrived) < (picture + 1) * ROWS) {
            __asm__ volatile("wfi");
        }
        const unsigned before = atomic_load(&arrived);
        status = look(picture);
        status = status ? status : listen(picture);
        during += atomic_load(&arrived) - before;
    }
    printf("%s, %u rows arrived while networks ran, %u were lost\n", match_status_text(status), during, atomic_load(&lost));
    return status == MATCH_OK ? 0 : 1;
}
