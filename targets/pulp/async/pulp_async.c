/* The run has a stack, and gives the core back whenever the cluster works. */
#include "pulp_async.h"

#include <stddef.h>
#include <stdint.h>

#include "match_async.h"
#include "match_status.h"

/* Bytes of the run's stack. */
#ifndef PULP_ASYNC_STACK
#define PULP_ASYNC_STACK 8192
#endif

#define CANARY 0x5ca1ab1eu

enum { SAVED = 16 }; /* words that a change of stacks keeps: return address, s0 to s11, rounded up to the ABI's 16 bytes */

static _Alignas(16) uint32_t stack[PULP_ASYNC_STACK / 4];

static struct {
    void (*run)(void *);
    void *arg;
    uint32_t *run_at;    /* stack pointers of the two while they do not execute */
    uint32_t *caller_at;
    bool inside;
    bool done;
} job;

/* Keeps the registers that functions keep, on this stack, and goes on with the other. */
void match_pulp_async_switch(uint32_t **keep, uint32_t *go);
__asm__(".section .text.pulp_async_switch, \"ax\", @progbits\n"
        ".globl match_pulp_async_switch\n"
        "match_pulp_async_switch:\n"
        "    addi sp, sp, -64\n"
        "    sw ra, 0(sp)\n"
        "    sw s0, 4(sp)\n"
        "    sw s1, 8(sp)\n"
        "    sw s2, 12(sp)\n"
        "    sw s3, 16(sp)\n"
        "    sw s4, 20(sp)\n"
        "    sw s5, 24(sp)\n"
        "    sw s6, 28(sp)\n"
        "    sw s7, 32(sp)\n"
        "    sw s8, 36(sp)\n"
        "    sw s9, 40(sp)\n"
        "    sw s10, 44(sp)\n"
        "    sw s11, 48(sp)\n"
        "    sw sp, 0(a0)\n"
        "    mv sp, a1\n"
        "    lw ra, 0(sp)\n"
        "    lw s0, 4(sp)\n"
        "    lw s1, 8(sp)\n"
        "    lw s2, 12(sp)\n"
        "    lw s3, 16(sp)\n"
        "    lw s4, 20(sp)\n"
        "    lw s5, 24(sp)\n"
        "    lw s6, 28(sp)\n"
        "    lw s7, 32(sp)\n"
        "    lw s8, 36(sp)\n"
        "    lw s9, 40(sp)\n"
        "    lw s10, 44(sp)\n"
        "    lw s11, 48(sp)\n"
        "    addi sp, sp, 64\n"
        "    ret\n"
        ".text\n");

static void begin(void)
{
    job.run(job.arg);
    job.done = true;
    (void)match_pulp_async_yield();
}

static void resume(void)
{
    job.inside = true;
    match_pulp_async_switch(&job.caller_at, job.run_at);
    job.inside = false;
}

int32_t match_async_start(void (*run)(void *), void *arg)
{
    stack[0] = CANARY;
    job.run = run;
    job.arg = arg;
    job.done = false;
    job.run_at = stack + PULP_ASYNC_STACK / 4 - SAVED;
    job.run_at[0] = (uint32_t)(uintptr_t)begin;
    resume();
    return MATCH_OK;
}

bool match_async_poll(int32_t *status)
{
    if (!job.done && !job.inside) { /* a hook of the run may ask, too */
        resume();
    }
    const bool whole = stack[0] == CANARY;
    *status = whole ? MATCH_OK : MATCH_ERROR_STACK;
    return job.done || !whole;
}

bool match_pulp_async_yield(void)
{
    if (!job.inside) {
        return false;
    }
    match_pulp_async_switch(&job.run_at, job.caller_at);
    return true;
}
