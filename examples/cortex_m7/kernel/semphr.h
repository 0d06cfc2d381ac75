#ifndef KERNEL_SEMPHR_H
#define KERNEL_SEMPHR_H

#include "FreeRTOS.h"

SemaphoreHandle_t xSemaphoreCreateCountingStatic(UBaseType_t most, UBaseType_t count, StaticSemaphore_t *semaphore);
SemaphoreHandle_t xSemaphoreCreateBinaryStatic(StaticSemaphore_t *semaphore);
SemaphoreHandle_t xSemaphoreCreateMutexStatic(StaticSemaphore_t *semaphore);
BaseType_t xSemaphoreTake(SemaphoreHandle_t semaphore, TickType_t ticks); /* portMAX_DELAY */
BaseType_t xSemaphoreGive(SemaphoreHandle_t semaphore);
BaseType_t xSemaphoreGiveFromISR(SemaphoreHandle_t semaphore, BaseType_t *woken);

#endif
