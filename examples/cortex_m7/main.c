/* Two tasks of FreeRTOS on a Cortex-M7 with a network each. A camera hands over rows of pictures by interrupt while
 * networks run; a timer of the machine stands in for it. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "FreeRTOS.h"
#include "digits.h"
#include "keywords.h"
#include "semphr.h"
#include "task.h"

enum { PICTURES = 4, WORDS = 4, BUFFERS = 2, ROWS = 16, COLUMNS = 16, TICKS_OF_A_ROW = 10000, STACK_WORDS = 1536 };
enum { TIMER_INTERRUPT = 8, FROM_THE_CORE = 16, PRIORITY = 0xe0 };

_Static_assert(ROWS * COLUMNS == DIGITS_INPUT_IMAGE_ELEMENTS, "the camera has the network's resolution");

static digits_context_t digits;
static keywords_context_t keywords;

/* The handler fills one picture while the network reads another. */
static _Alignas(DIGITS_TENSOR_ALIGNMENT) float pictures[BUFFERS][DIGITS_INPUT_IMAGE_ELEMENTS];
static atomic_uint arrived; /* rows */
static atomic_uint done;    /* pictures that nobody reads any more */
static atomic_uint lost;    /* rows, as both pictures were in use */
static atomic_uint running; /* tasks that wait for a network or run it */
static atomic_uint during;  /* rows that arrived meanwhile */

static SemaphoreHandle_t complete; /* the handler gives it when a picture is */
static SemaphoreHandle_t turn;     /* of networks */
static SemaphoreHandle_t console;
static SemaphoreHandle_t finished;

static volatile uint32_t *reg(uintptr_t address)
{
    return (volatile uint32_t *)address;
}

static void row_arrived(void)
{
    BaseType_t woken = pdFALSE;
    const unsigned row = atomic_load(&arrived), picture = row / ROWS;
    *reg(0x4000000c) = 1; /* the timer's interrupt is taken */
    if (row == PICTURES * ROWS) {
        return;
    }
    if (picture - atomic_load(&done) >= BUFFERS) {
        atomic_fetch_add(&lost, 1);
        return;
    }
    float *const pixels = &pictures[picture % BUFFERS][row % ROWS * COLUMNS];
    for (unsigned column = 0; column < COLUMNS; column++) {
        pixels[column] = (float)((column + 3 * row + 5 * picture) % 17) / 16.0f;
    }
    atomic_store(&arrived, row + 1);
    atomic_fetch_add(&during, atomic_load(&running) != 0);
    if ((row + 1) % ROWS == 0) {
        xSemaphoreGiveFromISR(complete, &woken);
    }
    portYIELD_FROM_ISR(woken);
}

static void stop(void)
{
    printf("an exception\n");
    exit(2);
}

void vPortSVCHandler(void);
void xPortPendSVHandler(void);
void xPortSysTickHandler(void);

extern void __stack(void); /* where the linker script has the stack of handlers end */

/* Exceptions of the core and interrupts by number, behind that stack. */
static _Alignas(128) void (*const vectors[])(void) = {
    __stack,
    [1] = stop,
    [2] = stop,
    [3] = stop,
    [4] = stop,
    [5] = stop,
    [6] = stop,
    [11] = vPortSVCHandler,
    [14] = xPortPendSVHandler,
    [15] = xPortSysTickHandler,
    [FROM_THE_CORE + TIMER_INTERRUPT] = row_arrived,
};

static void start_camera(void)
{
    *((volatile uint8_t *)0xe000e400 + TIMER_INTERRUPT) = PRIORITY; /* low enough to call FreeRTOS */
    *reg(0xe000e100) = 1u << TIMER_INTERRUPT;
    *reg(0x40000008) = TICKS_OF_A_ROW - 1; /* the timer: reload, control */
    *reg(0x40000000) = 9;
}

static bool take_turn(void *semaphore)
{
    return xSemaphoreTake(semaphore, portMAX_DELAY) == pdTRUE;
}

static void give_turn(void *semaphore)
{
    (void)xSemaphoreGive(semaphore);
}

static void must(int32_t status)
{
    if (status != MATCH_OK) {
        printf("%s\n", match_status_text(status));
        exit(1);
    }
}

static void print_largest(const char *what, unsigned time, const float *values, int count)
{
    int best = 0;
    for (int i = 1; i < count; i++) {
        best = values[i] > values[best] ? i : best;
    }
    (void)xSemaphoreTake(console, portMAX_DELAY);
    printf("%s %u: %d at %d thousandths\n", what, time, best, (int)(values[best] * 1000.0f));
    (void)xSemaphoreGive(console);
}

static void look(void *unused)
{
    (void)unused;
    for (unsigned picture = 0; picture < PICTURES; picture++) {
        (void)xSemaphoreTake(complete, portMAX_DELAY);
        const digits_inputs_t inputs = {.image = pictures[picture % BUFFERS]};
        atomic_fetch_add(&running, 1);
        must(digits_run(&digits, &inputs, NULL));
        atomic_fetch_sub(&running, 1);
        atomic_store(&done, picture + 1);
        print_largest("picture", picture, digits_output_scores(&digits), DIGITS_OUTPUT_SCORES_ELEMENTS);
    }
    (void)xSemaphoreGive(finished);
    vTaskSuspend(NULL);
}

static void listen(void *unused)
{
    (void)unused;
    for (unsigned time = 0; time < WORDS; time++) {
        float *const cepstrum = keywords_input_cepstrum(&keywords);
        for (unsigned i = 0; i < KEYWORDS_INPUT_CEPSTRUM_ELEMENTS; i++) {
            cepstrum[i] = (float)((i + time) % 11) / 5.0f - 1.0f;
        }
        atomic_fetch_add(&running, 1);
        must(keywords_run(&keywords, NULL, NULL));
        atomic_fetch_sub(&running, 1);
        const float *const words = keywords_output_probabilities(&keywords);
        print_largest("word", time, words, KEYWORDS_OUTPUT_PROBABILITIES_ELEMENTS);
    }
    /* The other task, whose priority is higher, may wait for its pictures still. */
    (void)xSemaphoreTake(finished, portMAX_DELAY);
    printf("%s, %u rows arrived while networks ran, %u were lost\n", match_status_text(MATCH_OK), atomic_load(&during),
           atomic_load(&lost));
    exit(0);
}

int main(void)
{
    static StaticSemaphore_t semaphores[4];
    static StaticTask_t tasks[2];
    static StackType_t stacks[2][STACK_WORDS];
    complete = xSemaphoreCreateCountingStatic(PICTURES, 0, &semaphores[0]);
    finished = xSemaphoreCreateBinaryStatic(&semaphores[1]);
    turn = xSemaphoreCreateMutexStatic(&semaphores[2]);
    console = xSemaphoreCreateMutexStatic(&semaphores[3]);
    must(match_platform_open());
    must(digits_init(&digits, digits_workspace, sizeof digits_workspace));
    must(keywords_init(&keywords, keywords_workspace, sizeof keywords_workspace));
    must(match_set_lock(&(match_lock_t){take_turn, give_turn, turn}));
    *reg(0xe000ed08) = (uint32_t)(uintptr_t)vectors; /* VTOR */
    (void)xTaskCreateStatic(look, "look", STACK_WORDS, NULL, 2, stacks[0], &tasks[0]);
    (void)xTaskCreateStatic(listen, "listen", STACK_WORDS, NULL, 1, stacks[1], &tasks[1]);
    start_camera();
    vTaskStartScheduler();
    return 1;
}
