#include "match_runtime.h"

/* The lock that is used where none is given: a flag that one task sets. */
static bool taken;

#if defined(__riscv) && !defined(__riscv_atomic)

static uintptr_t interrupts_off(void)
{
    uintptr_t before;
    __asm__ volatile("csrrci %0, mstatus, 8" : "=r"(before) : : "memory");
    return before;
}

static void interrupts_as(uintptr_t before)
{
    __asm__ volatile("csrs mstatus, %0" : : "r"(before & 8) : "memory");
}

#elif defined(__ARM_ARCH_6M__)

static uintptr_t interrupts_off(void)
{
    uintptr_t before;
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(before) : : "memory");
    return before;
}

static void interrupts_as(uintptr_t before)
{
    __asm__ volatile("msr primask, %0" : : "r"(before) : "memory");
}

#else
#define ATOMIC_INSTRUCTIONS
#endif

#ifdef ATOMIC_INSTRUCTIONS

static bool set(bool *flag)
{
    return __atomic_test_and_set(flag, __ATOMIC_ACQUIRE);
}

static void clear(bool *flag)
{
    __atomic_clear(flag, __ATOMIC_RELEASE);
}

#else

/* No other task of this core comes in between while interrupts are off. */
static bool set(bool *flag)
{
    const uintptr_t before = interrupts_off();
    const bool was = *flag;
    *flag = true;
    interrupts_as(before);
    return was;
}

static void clear(bool *flag)
{
    *(volatile bool *)flag = false;
}

#endif

static bool take(void *user)
{
    return !set(user);
}

static void give(void *user)
{
    clear(user);
}

static match_lock_t used = {.take = take, .give = give, .user = &taken};

/* Whether a task has the turn, which a lock may give to the same task a second time. It is read and written by who holds
 * the lock. */
static bool busy;

bool match_take_turn(void)
{
    if (!used.take(used.user)) {
        return false;
    }
    if (busy) {
        used.give(used.user);
        return false;
    }
    busy = true;
    return true;
}

void match_give_turn(void)
{
    busy = false;
    used.give(used.user);
}

int32_t match_set_lock(const match_lock_t *lock)
{
    const match_lock_t before = used;
    if (!match_take_turn()) {
        return MATCH_ERROR_BUSY;
    }
    used = lock != NULL ? *lock : (match_lock_t){.take = take, .give = give, .user = &taken};
    busy = false;
    before.give(before.user);
    return MATCH_OK;
}
