/* What a program does with the interface of a network in one situation, named by the argument; prints what comes of it. */
#define _XOPEN_SOURCE 700 /* mutexes that a task may take twice */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "digits.h"
#include "match_host_faults.h"
#include "match_pulp_chip.h"

enum { RUNS = 20 };

static digits_context_t one;
static digits_context_t other;
static _Alignas(DIGITS_ALIGNMENT) uint8_t memory[DIGITS_WORKSPACE_IO_BYTES];
static _Alignas(DIGITS_TENSOR_ALIGNMENT) float image[DIGITS_INPUT_IMAGE_ELEMENTS + 1];
static float scores[DIGITS_OUTPUT_SCORES_ELEMENTS];
static const digits_inputs_t inputs = {.image = image};
static const digits_outputs_t outputs = {.scores = scores};

static void say(int32_t status)
{
    printf("%d\n", (int)status);
}

static void show(const float *values)
{
    for (int i = 0; i < DIGITS_OUTPUT_SCORES_ELEMENTS; i++) {
        printf("%.9g ", values[i]);
    }
    printf("\n");
}

static void open_both(void)
{
    say(match_platform_open());
    say(digits_init(&one, digits_workspace, sizeof digits_workspace));
    say(digits_init(&other, memory, sizeof memory));
}

/* Of the interleaved uses of two contexts, and of tensors inside and outside, none disturbs another. */
static void two_contexts(void)
{
    open_both();
    for (int i = 0; i < DIGITS_INPUT_IMAGE_ELEMENTS; i++) {
        digits_input_image(&one)[i] = (float)(i % 17) / 16.0f;
        digits_input_image(&other)[i] = (float)(i % 5) / 4.0f;
        image[i] = (float)(i % 3) / 2.0f;
    }
    say(digits_run(&one, NULL, NULL));
    say(digits_run(&other, NULL, NULL));
    show(digits_output_scores(&one));
    show(digits_output_scores(&other));
    say(digits_run(&one, &inputs, &outputs));
    show(scores);
    say(digits_run(&one, &inputs, NULL));
    show(digits_output_scores(&one));
    show(digits_output_scores(&other));
    say(digits_deinit(&one));
    say(digits_deinit(&other));
    match_platform_close();
}

static void arguments(void)
{
    const digits_inputs_t nothing = {.image = NULL};
    const digits_inputs_t odd = {.image = (const float *)(const void *)((const uint8_t *)image + 1)};
    const digits_inputs_t overlap = {.image = (const float *)(const void *)(digits_workspace + DIGITS_ALIGNMENT)};
    say(digits_init(NULL, digits_workspace, sizeof digits_workspace));
    say(digits_init(&one, NULL, sizeof digits_workspace));
    say(digits_init(&one, digits_workspace + 1, sizeof digits_workspace));
    say(digits_init(&one, digits_workspace, DIGITS_WORKSPACE_BYTES - 1));
    say(digits_run(&one, &inputs, &outputs)); /* not initialised */
    say(digits_deinit(&one));
    say(digits_run(NULL, &inputs, &outputs));
    say(digits_set_hooks(&one, NULL));
    say(digits_input_image(&one) == NULL);
    say(digits_init(&one, digits_workspace, sizeof digits_workspace));
    say(digits_run(&one, &inputs, &outputs)); /* not open */
    say(match_platform_open());
    say(digits_run(&one, &nothing, &outputs));
    say(digits_run(&one, &odd, &outputs));
    say(digits_run(&one, &overlap, &outputs));
    say(digits_run(&one, &inputs, &outputs));
    say(digits_deinit(&one));
    say(digits_run(&one, &inputs, &outputs));
    say(digits_init(&one, digits_workspace, DIGITS_WORKSPACE_BYTES));
    const bool room = DIGITS_WORKSPACE_BYTES == DIGITS_WORKSPACE_IO_BYTES;
    say(digits_run(&one, NULL, &outputs) == (room ? MATCH_OK : MATCH_ERROR_SIZE));
    say(digits_run(&one, &inputs, &outputs));
    match_platform_close();
}

/* How many functions are not refused while a network runs; none of them may change anything. */
static int let_in(void)
{
    static const match_hooks_t none = {.begin = NULL, .end = NULL, .user = NULL};
    static int depth;
    if (depth > 0) { /* a run was let in */
        return 1;
    }
    depth += 1;
    const int32_t statuses[] = {
        digits_init(&one, digits_workspace, sizeof digits_workspace),
        digits_init(&other, memory, sizeof memory),
        digits_init(&other, NULL, 0),
        digits_run(&one, NULL, NULL),
        digits_run(&other, &inputs, &outputs),
        digits_start(&one, NULL, NULL),
        digits_start(&other, NULL, NULL),
        digits_set_hooks(&one, &none),
        digits_set_hooks(&other, NULL),
        digits_deinit(&one),
        digits_deinit(&other),
        match_platform_open(),
        match_platform_close(),
        match_set_lock(NULL),
    };
    int found = 0;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        found += statuses[i] != MATCH_ERROR_BUSY;
    }
    depth -= 1;
    return found;
}

static int strangers;
static int calls;

static int32_t knock(void *user, uint32_t number)
{
    (void)user;
    (void)number;
    calls += 1;
    strangers += let_in();
    return MATCH_OK;
}

static void knock_again(void *user, uint32_t number, int32_t status)
{
    (void)user;
    (void)number;
    (void)status;
    strangers += let_in();
}

/* All that a program can call, from the hooks of a run and of one that was started; each run is as one without hooks. */
static void refused_from_hooks(void)
{
    static const match_hooks_t hooks = {.begin = knock, .end = knock_again, .user = NULL};
    float right[DIGITS_OUTPUT_SCORES_ELEMENTS];
    int32_t status = MATCH_OK;
    open_both();
    for (int i = 0; i < DIGITS_INPUT_IMAGE_ELEMENTS; i++) {
        image[i] = (float)(i % 17) / 16.0f;
    }
    say(digits_run(&one, &inputs, &outputs));
    memcpy(right, scores, sizeof right);
    memset(scores, 0, sizeof scores);
    say(digits_set_hooks(&one, &hooks));
    say(digits_run(&one, &inputs, &outputs));
    say(memcmp(right, scores, sizeof right));
    memset(scores, 0, sizeof scores);
    say(digits_start(&one, &inputs, &outputs));
    while (!digits_poll(&one, &status)) {
        sched_yield();
    }
    say(status);
    say(memcmp(right, scores, sizeof right));
    say(calls - 2 * (int)digits_network.operator_count);
    say(strangers);
    say(digits_set_hooks(&one, NULL));
    say(digits_deinit(&one));
    say(match_set_lock(NULL));
    say(match_platform_close());
}

static int begun;
static uint32_t ended;

static int32_t begin(void *user, uint32_t number)
{
    say(user == &begun && number == (uint32_t)begun);
    begun += 1;
    if (begun == 2) {
        say(digits_run(&other, &inputs, &outputs)); /* another task */
        say(digits_deinit(&one));
    }
    return MATCH_OK;
}

static void end(void *user, uint32_t number, int32_t status)
{
    (void)user;
    printf("%s %s %d\n", digits_network.operators[number].name, digits_network.operators[number].module, (int)status);
}

static void hooks(void)
{
    static const match_hooks_t both = {.begin = begin, .end = end, .user = &begun};
    open_both();
    say(digits_set_hooks(&one, &both));
    say(digits_run(&one, &inputs, &outputs));
    say(digits_set_hooks(&one, NULL));
    say(digits_run(&one, &inputs, &outputs));
    say(begun == (int)digits_network.operator_count);
    match_platform_close();
}

enum { TOO_LATE = -1000 };

/* Ends the run in front of operator number `*user`. */
static int32_t end_at(void *user, uint32_t number)
{
    begun += 1;
    return number == *(const uint32_t *)user ? TOO_LATE : MATCH_OK;
}

static void count_end(void *user, uint32_t number, int32_t status)
{
    (void)user;
    ended += number == ended && status == MATCH_OK;
}

/* A hook ends the run in front of each operator in turn: operators before it are made, and the next run is right. */
static void ended_by_a_hook(void)
{
    float right[DIGITS_OUTPUT_SCORES_ELEMENTS];
    open_both();
    say(digits_run(&one, &inputs, &outputs));
    memcpy(right, scores, sizeof right);
    int wrong = 0;
    for (uint32_t number = 0; number < digits_network.operator_count; number++) {
        const match_hooks_t deadline = {.begin = end_at, .end = count_end, .user = &number};
        begun = 0;
        ended = 0;
        wrong += digits_set_hooks(&one, &deadline) != MATCH_OK || digits_run(&one, &inputs, &outputs) != TOO_LATE;
        wrong += begun != (int)number + 1 || ended != number;
        memset(scores, 0, sizeof scores);
        wrong += digits_set_hooks(&one, NULL) != MATCH_OK || digits_run(&one, &inputs, &outputs) != MATCH_OK;
        wrong += memcmp(right, scores, sizeof right) != 0;
    }
    say(wrong);
    match_platform_close();
}

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static bool wait_for_turn(void *user)
{
    return pthread_mutex_lock(user) == 0;
}

static void end_turn(void *user)
{
    (void)pthread_mutex_unlock(user);
}

static void refused_under_a_lock(void)
{
    pthread_mutexattr_t kind;
    pthread_mutex_t twice;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&twice, &kind);
    const match_lock_t lock = {.take = wait_for_turn, .give = end_turn, .user = &twice};
    say(match_set_lock(&lock));
    open_both();
    say(digits_set_hooks(&one, &(match_hooks_t){.begin = knock, .end = knock_again, .user = NULL}));
    say(digits_run(&one, &inputs, &outputs));
    say(strangers);
    say(calls - (int)digits_network.operator_count);
    say(match_set_lock(NULL));
    pthread_mutex_lock(&twice); /* nobody has it */
    pthread_mutex_unlock(&twice);
    say(match_platform_close());
}

static void *task(void *context)
{
    static int32_t statuses[2][RUNS];
    int32_t *mine = statuses[context == &other];
    for (int i = 0; i < RUNS; i++) {
        mine[i] = digits_run(context, NULL, NULL);
    }
    return mine;
}

static void two_tasks(void)
{
    pthread_t threads[2];
    void *statuses[2];
    open_both();
    pthread_create(&threads[0], NULL, task, &one);
    pthread_create(&threads[1], NULL, task, &other);
    int done = 0;
    int refused = 0;
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], &statuses[i]);
        for (int run = 0; run < RUNS; run++) {
            done += ((int32_t *)statuses[i])[run] == MATCH_OK;
            refused += ((int32_t *)statuses[i])[run] == MATCH_ERROR_BUSY;
        }
    }
    say(done > 0 && done + refused == 2 * RUNS);
    say(refused);
    match_platform_close();
}

static void two_tasks_in_turn(void)
{
    const match_lock_t lock = {.take = wait_for_turn, .give = end_turn, .user = &turn};
    (void)match_set_lock(&lock);
    two_tasks();
}

static void description(void)
{
    const match_network_t *network = &digits_network;
    printf("%s %s %u %u\n", network->name, network->target, network->input_count, network->output_count);
    printf("%s %d %u %u %u\n", network->inputs[0].name, network->inputs[0].dtype, network->inputs[0].bytes,
           network->inputs[0].rank, network->inputs[0].shape[2]);
    for (uint32_t i = 0; i < network->room_count; i++) {
        printf("%s %s %u\n", network->rooms[i].memory, network->rooms[i].purpose, network->rooms[i].bytes);
    }
}

static void quantize(void)
{
    const float values[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 0.49999997f, 1e30f, -1e30f, 0.0f / 0.0f, 100.6f, -129.5f};
    enum { COUNT = sizeof values / sizeof *values };
    int8_t integers[COUNT];
    uint8_t bytes[COUNT];
    float back[COUNT];
    for (int rounding = MATCH_HALF_AWAY; rounding <= MATCH_HALF_EVEN; rounding++) {
        match_quantize_int8(values, integers, COUNT, 1.0f, 3, (match_rounding_t)rounding);
        match_quantize_uint8(values, bytes, COUNT, 1.0f, 128, (match_rounding_t)rounding);
        for (int i = 0; i < COUNT; i++) {
            printf("%d %d ", integers[i], bytes[i]);
        }
        printf("\n");
    }
    match_dequantize_int8(integers, back, 1, 0.25f, 3);
    printf("%g\n", back[0]);
    match_dequantize_uint8(bytes, back, 1, 0.25f, 0);
    printf("%g\n", back[0]);
}

/* ---- faults ---- */

enum { SEQUENCES = 200, GUARD = 0x5a };

static uint32_t seed = 1;

static uint32_t below(uint32_t limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % limit;
}

static uint32_t struck;

static int32_t strike_back(void *user, uint32_t number)
{
    struck += number == *(const uint32_t *)user && digits_run(&other, NULL, NULL) == MATCH_ERROR_BUSY;
    return MATCH_OK;
}

/* Runs with one fault of a kind each, and then without: what statuses there are, and whether all else is as it was. */
static void faults(void)
{
    static struct {
        uint8_t before[64];
        _Alignas(DIGITS_TENSOR_ALIGNMENT) float scores[DIGITS_OUTPUT_SCORES_ELEMENTS];
        uint8_t behind[64];
    } guarded;
    static const match_host_fault_t KINDS[] = {MATCH_FAULT_ALLOCATION, MATCH_FAULT_TRANSFER,
                                               MATCH_FAULT_ENDLESS_TRANSFER, MATCH_FAULT_ENDLESS_KERNEL};
    const digits_outputs_t kept = {.scores = guarded.scores};
    int32_t counts[10] = {0};
    int32_t wrong = 0;
    memset(guarded.before, GUARD, sizeof guarded.before);
    memset(guarded.behind, GUARD, sizeof guarded.behind);
    for (int i = 0; i < DIGITS_INPUT_IMAGE_ELEMENTS; i++) {
        image[i] = (float)(i % 17) / 16.0f;
    }
    open_both();
    say(digits_run(&one, &inputs, &outputs));
    for (uint32_t sequence = 0; sequence < SEQUENCES; sequence++) {
        const uint32_t kind = below(6);
        uint32_t number = below(digits_network.operator_count);
        const match_hooks_t hooks = {.begin = strike_back, .user = &number};
        int32_t expected = MATCH_OK;
        if (kind < 4) {
            match_host_inject(KINDS[kind], below(8));
            const int32_t statuses[] = {MATCH_ERROR_MEMORY, MATCH_ERROR_TRANSFER, MATCH_ERROR_TIMEOUT, MATCH_ERROR_TIMEOUT};
            expected = statuses[kind];
        } else if (kind == 4) { /* too small an L1 */
            match_platform_close();
            say(match_pulp_open_with(&(match_pulp_setup_t){.l1_bytes = 4 * (1 + below(DIGITS_L1_BYTES / 4 - 1))}));
            expected = MATCH_ERROR_MEMORY;
        } else { /* another task in between */
            digits_set_hooks(&one, &hooks);
            struck = 0;
        }
        const int32_t status = digits_run(&one, &inputs, &kept);
        wrong += status != expected;
        wrong += kind == 5 && struck != 1;
        counts[-status] += 1;
        if (kind == 4) {
            match_platform_close();
            say(match_platform_open());
        }
        match_host_inject(MATCH_FAULT_NONE, 0);
        digits_set_hooks(&one, NULL);
        wrong += digits_run(&one, &inputs, &kept) != MATCH_OK;
        wrong += memcmp(guarded.scores, scores, sizeof scores) != 0;
        for (size_t i = 0; i < sizeof guarded.before; i++) {
            wrong += guarded.before[i] != GUARD || guarded.behind[i] != GUARD;
        }
    }
    match_platform_close();
    printf("%d wrong; ", (int)wrong);
    for (int i = 0; i < 10; i++) {
        printf("%d ", (int)counts[i]);
    }
    printf("\n");
}

static int32_t poll_to_the_end(digits_context_t *context)
{
    int32_t status = MATCH_OK;
    while (!digits_poll(context, &status)) {
        sched_yield();
    }
    return status;
}

static void started(void)
{
    static float kept[DIGITS_OUTPUT_SCORES_ELEMENTS];
    const digits_outputs_t aside = {.scores = kept};
    const digits_inputs_t nothing = {.image = NULL};
    open_both();
    for (int i = 0; i < DIGITS_INPUT_IMAGE_ELEMENTS; i++) {
        image[i] = (float)(i % 17) / 16.0f;
    }
    say(digits_start(NULL, &inputs, &outputs));
    say(poll_to_the_end(&one)); /* nothing was started */
    say(digits_start(&one, &inputs, &aside));
    say(digits_start(&one, &inputs, &aside));
    say(digits_run(&other, &inputs, &outputs));
    say(digits_deinit(&one));
    say(digits_init(&one, digits_workspace, sizeof digits_workspace));
    say(poll_to_the_end(&other));
    say(digits_poll(&other, NULL));
    say(poll_to_the_end(&one));
    const int32_t status = digits_run(&other, &inputs, &outputs);
    say(status == MATCH_OK && memcmp(kept, scores, sizeof kept) == 0);
    say(digits_start(&one, &nothing, &aside));
    say(poll_to_the_end(&one));
    say(digits_start(&one, &inputs, &aside));
    while (!digits_poll(&one, NULL)) {
        sched_yield();
    }
    say(digits_init(&one, digits_workspace, sizeof digits_workspace));
    memcpy(digits_input_image(&one), image, sizeof image - sizeof *image);
    say(digits_start(&one, NULL, NULL));
    say(poll_to_the_end(&one) == MATCH_OK && memcmp(digits_output_scores(&one), kept, sizeof kept) == 0);
    say(digits_deinit(&one));
    match_platform_close();
}

static const struct {
    const char *name;
    void (*run)(void);
} SCENARIOS[] = {
    {"two_contexts", two_contexts}, {"arguments", arguments},
    {"hooks", hooks},               {"two_tasks", two_tasks},
    {"description", description},   {"two_tasks_in_turn", two_tasks_in_turn},
    {"quantize", quantize},         {"faults", faults},
    {"started", started},           {"ended_by_a_hook", ended_by_a_hook},
    {"refused_from_hooks", refused_from_hooks},
    {"refused_under_a_lock", refused_under_a_lock},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof SCENARIOS / sizeof *SCENARIOS; i++) {
        if (strcmp(SCENARIOS[i].name, argv[1]) == 0) {
            SCENARIOS[i].run();
            return 0;
        }
    }
    return 1;
}
