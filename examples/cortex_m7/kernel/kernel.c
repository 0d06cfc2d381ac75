#include "FreeRTOS.h"
#include "semphr.h"
#include "task.h"

#include <stddef.h>

enum { FRAME_WORDS = 8, SAVED_WORDS = 9, IDLE_WORDS = 128, TO_A_TASK = (int)0xfffffffd, THUMB = 1 << 24 };

static uint32_t idle_stack[IDLE_WORDS] __attribute__((aligned(8)));
static StaticTask_t idle = {.priority = 0}, *tasks = &idle;
StaticTask_t *kernel_current = &idle;

static uint32_t mask(void)
{
    uint32_t before;
    __asm__ volatile("mrs %0, primask\n cpsid i" : "=r"(before)::"memory");
    return before;
}

static void unmask(uint32_t before)
{
    __asm__ volatile("msr primask, %0\n isb" ::"r"(before) : "memory");
}

static void yield(void)
{
    *(volatile uint32_t *)0xe000ed04 = 1u << 28; /* PendSV */
    __asm__ volatile("dsb\n isb" ::: "memory");
}

void kernel_yield_if(BaseType_t woken)
{
    if (woken) {
        yield();
    }
}

__attribute__((used)) static void choose(void)
{
    const uint32_t before = mask();
    StaticTask_t *best = &idle;
    for (StaticTask_t *task = tasks; task != NULL; task = task->next) {
        if (task->waits_for == NULL && task->priority > best->priority) {
            best = task;
        }
    }
    kernel_current = best;
    unmask(before);
}

/* The registers that the core does not save by itself, with the kind of frame in front of them, on the task's stack. */
__attribute__((naked)) void xPortPendSVHandler(void)
{
    __asm__ volatile("mrs r0, psp\n"
                     "tst lr, #16\n it eq\n vstmdbeq r0!, {s16-s31}\n"
                     "stmdb r0!, {r4-r11, lr}\n"
                     "ldr r4, =kernel_current\n ldr r1, [r4]\n str r0, [r1]\n"
                     "bl choose\n"
                     "ldr r1, [r4]\n ldr r0, [r1]\n"
                     "ldmia r0!, {r4-r11, lr}\n"
                     "tst lr, #16\n it eq\n vldmiaeq r0!, {s16-s31}\n"
                     "msr psp, r0\n bx lr\n"
                     ".ltorg");
}

void vPortSVCHandler(void)
{
}

void xPortSysTickHandler(void)
{
}

static void suspended(void)
{
    vTaskSuspend(NULL);
}

TaskHandle_t xTaskCreateStatic(void (*code)(void *), const char *name, uint32_t stack_words, void *argument,
                               UBaseType_t priority, StackType_t *stack, StaticTask_t *task)
{
    (void)name;
    uint32_t *const frame = (uint32_t *)((uintptr_t)(stack + stack_words) & ~(uintptr_t)7) - FRAME_WORDS;
    uint32_t *const top = frame - SAVED_WORDS;
    frame[0] = (uint32_t)(uintptr_t)argument;
    frame[5] = (uint32_t)(uintptr_t)suspended;
    frame[6] = (uint32_t)(uintptr_t)code & ~1u;
    frame[7] = THUMB;
    top[SAVED_WORDS - 1] = (uint32_t)TO_A_TASK;
    *task = (StaticTask_t){top, priority, NULL, tasks};
    tasks = task;
    return task;
}

__attribute__((used)) static void rest(void)
{
    yield();
    for (;;) {
        __asm__ volatile("wfi");
    }
}

void vTaskStartScheduler(void)
{
    *(volatile uint32_t *)0xe000ed20 |= 0xffu << 16; /* PendSV interrupts no handler */
    __asm__ volatile("msr psp, %0\n movs r0, #2\n msr control, r0\n isb\n bl rest" ::"r"(idle_stack + IDLE_WORDS)
                     : "r0", "lr", "memory");
}

void vTaskSuspend(TaskHandle_t task)
{
    static StaticSemaphore_t never;
    (void)task;
    (void)xSemaphoreTake(&never, portMAX_DELAY);
}

SemaphoreHandle_t xSemaphoreCreateCountingStatic(UBaseType_t most, UBaseType_t count, StaticSemaphore_t *semaphore)
{
    *semaphore = (StaticSemaphore_t){(unsigned)count, (unsigned)most};
    return semaphore;
}

SemaphoreHandle_t xSemaphoreCreateBinaryStatic(StaticSemaphore_t *semaphore)
{
    return xSemaphoreCreateCountingStatic(1, 0, semaphore);
}

SemaphoreHandle_t xSemaphoreCreateMutexStatic(StaticSemaphore_t *semaphore)
{
    return xSemaphoreCreateCountingStatic(1, 1, semaphore);
}

BaseType_t xSemaphoreTake(SemaphoreHandle_t semaphore, TickType_t ticks)
{
    (void)ticks;
    for (;;) {
        const uint32_t before = mask();
        if (semaphore->count > 0) {
            semaphore->count--;
            unmask(before);
            return pdTRUE;
        }
        kernel_current->waits_for = semaphore;
        yield();
        unmask(before); /* another task runs here, until the semaphore is given */
    }
}

BaseType_t xSemaphoreGiveFromISR(SemaphoreHandle_t semaphore, BaseType_t *woken)
{
    const uint32_t before = mask();
    const BaseType_t room = semaphore->count < semaphore->most;
    semaphore->count += room ? 1 : 0;
    for (StaticTask_t *task = tasks; task != NULL; task = task->next) {
        if (task->waits_for == semaphore) {
            task->waits_for = NULL;
            *woken = pdTRUE;
        }
    }
    unmask(before);
    return room;
}

BaseType_t xSemaphoreGive(SemaphoreHandle_t semaphore)
{
    BaseType_t woken = pdFALSE;
    const BaseType_t given = xSemaphoreGiveFromISR(semaphore, &woken);
    kernel_yield_if(woken);
    return given;
}
