/* A kernel with those functions of FreeRTOS that this example calls, under their names, so that it runs without FreeRTOS:
 * tasks by priority, semaphores that one waits for without end. `make FREERTOS=<its folder>` takes FreeRTOS itself. */
#ifndef KERNEL_FREERTOS_H
#define KERNEL_FREERTOS_H

#include <stdint.h>

typedef long BaseType_t;
typedef unsigned long UBaseType_t;
typedef uint32_t StackType_t;
typedef uint32_t TickType_t;

#define pdFALSE ((BaseType_t)0)
#define pdTRUE ((BaseType_t)1)
#define portMAX_DELAY UINT32_MAX
#define portYIELD_FROM_ISR(woken) kernel_yield_if(woken)

typedef struct {
    unsigned count, most;
} StaticSemaphore_t, *SemaphoreHandle_t;

typedef struct kernel_task {
    uint32_t *top;              /* of its stack, while it does not run */
    UBaseType_t priority;
    SemaphoreHandle_t waits_for; /* NULL: it can run */
    struct kernel_task *next;
} StaticTask_t, *TaskHandle_t;

void kernel_yield_if(BaseType_t woken);

#endif
