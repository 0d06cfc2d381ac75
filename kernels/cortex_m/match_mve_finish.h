/* Outputs of four channels at a time. */
#ifndef MATCH_MVE_FINISH_H
#define MATCH_MVE_FINISH_H

#include "match_arm_finish.h"

enum { MATCH_MVE_CHANNELS = 4 };

/* What the sums of the four channels from `channel` on begin with. */
void match_mve_begin(const match_arm_finish_t *finish, int32_t channel, int32_t *sums);

/* Outputs of the four channels from `channel` on, or of those that there are, of `count` pixels, whose
 * sums begin `step` apart. */
void match_mve_finish(const match_arm_finish_t *finish, int32_t channel, int32_t channels, const int32_t *sums,
                      int32_t step, uint8_t *const *outputs, int32_t count);

#endif
