/* The team of cores that kernels see: the chip's cluster, or the control core alone. */
#include "match_pulp_chip.h"
#include "match_team.h"

typedef struct {
    match_kernel_t kernel;
    const match_tile_t *tile;
} call_t;

static void call(void *arg)
{
    const call_t *self = arg;
    self->kernel(self->tile);
}

int32_t match_core_id(void)
{
    return match_pulp_is_control_core() ? 0 : match_pulp_core_id();
}

int32_t match_core_count(void)
{
    return match_pulp_is_control_core() ? 1 : match_pulp_cluster_cores();
}

void match_team_barrier(void)
{
    if (!match_pulp_is_control_core()) {
        match_pulp_cluster_barrier();
    }
}

int32_t match_team_run(match_kernel_t kernel, const match_tile_t *tile)
{
    call_t self = {kernel, tile};
    return match_pulp_cluster_fork(match_pulp_cluster_cores(), call, &self);
}

int32_t match_team_start(match_kernel_t kernel, const match_tile_t *tile)
{
    return match_pulp_cluster_run(kernel, tile);
}

int32_t match_team_wait(void)
{
    return match_pulp_cluster_wait();
}
