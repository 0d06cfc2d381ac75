/* What FreeRTOS is built with; of FreeRTOS itself nothing is in this folder. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#define configCPU_CLOCK_HZ 25000000ul
#define configTICK_RATE_HZ 1000
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#define configUSE_PREEMPTION 1
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 0
#define configMAX_PRIORITIES 4
#define configMINIMAL_STACK_SIZE 256
#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 0
#define configKERNEL_PROVIDED_STATIC_MEMORY 1
#define configUSE_TIMERS 0
#define configUSE_MUTEXES 1
#define configUSE_COUNTING_SEMAPHORES 1
#define configCHECK_FOR_STACK_OVERFLOW 0
#define INCLUDE_vTaskSuspend 1

/* Three bits of priorities; interrupts from 0xa0 on may call FreeRTOS. */
#define configPRIO_BITS 3
#define configKERNEL_INTERRUPT_PRIORITY 0xe0
#define configMAX_SYSCALL_INTERRUPT_PRIORITY 0xa0
#define configCHECK_HANDLER_INSTALLATION 0

#endif
