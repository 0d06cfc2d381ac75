#include "match_runtime.h"

/* The lock that is used where none is given: a flag that one task sets. */
static bool taken;

#if defined(__riscv) && !defined(__riscv_atomic)

/* Without atomic instructions: no other task of this core comes in between while interrupts are off. */
static bool set(bool *flag)
{
    uintptr_t before;
    __asm__ volatile("csrrci %0, mstatus, 8" : "=r"(before) : : "memory");
    const bool was = *flag;
    *flag = true;
    __asm__ volatile("csrs mstatus, %0" : : "r"(before & 8) : "memory");
    return was;
}

static void clear(bool *flag)
{
    *(volatile bool *)flag = false;
}

#else

static bool set(bool *flag)
{
    return __atomic_test_and_set(flag, __ATOMIC_ACQUIRE);
}

static void clear(bool *flag)
{
    __atomic_clear(flag, __ATOMIC_RELEASE);
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

void match_set_lock(const match_lock_t *lock)
{
    used = lock != NULL ? *lock : (match_lock_t){.take = take, .give = give, .user = &taken};
}

bool match_take_turn(void)
{
    return used.take(used.user);
}

void match_give_turn(void)
{
    used.give(used.user);
}
