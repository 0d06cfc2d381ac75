#ifndef KERNEL_TASK_H
#define KERNEL_TASK_H

#include "FreeRTOS.h"

TaskHandle_t xTaskCreateStatic(void (*code)(void *), const char *name, uint32_t stack_words, void *argument,
                               UBaseType_t priority, StackType_t *stack, StaticTask_t *task);
void vTaskStartScheduler(void);
void vTaskSuspend(TaskHandle_t task); /* NULL: of the caller, for good */

#endif
