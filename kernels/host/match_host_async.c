/* A thread beside the caller's. */
#include <pthread.h>
#include <stdatomic.h>

#include "match_async.h"
#include "match_status.h"

static struct {
    pthread_t thread;
    void (*run)(void *);
    void *arg;
    atomic_bool done;
} job;

static void *work(void *unused)
{
    (void)unused;
    job.run(job.arg);
    atomic_store(&job.done, true);
    return NULL;
}

int32_t match_async_start(void (*run)(void *), void *arg)
{
    job.run = run;
    job.arg = arg;
    atomic_store(&job.done, false);
    return pthread_create(&job.thread, NULL, work, NULL) == 0 ? MATCH_OK : MATCH_ERROR_PLATFORM;
}

bool match_async_poll(int32_t *status)
{
    *status = MATCH_OK;
    const bool done = atomic_load(&job.done);
    if (done) {
        pthread_join(job.thread, NULL);
    }
    return done;
}
