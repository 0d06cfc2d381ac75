/* Which digit the network sees in a picture of stripes. */
#include <stdio.h>

#include "digits.h"
#ifdef COUNT
#include "match_count.h"
#endif

static digits_context_t context;

static int failed(const char *what, int32_t status)
{
    printf("%s: %s\n", what, match_status_text(status));
    return 1;
}

int main(void)
{
    int32_t status = match_platform_open();
    if (status == MATCH_OK) {
        status = digits_init(&context, digits_workspace, sizeof digits_workspace);
    }
    if (status != MATCH_OK) {
        return failed("start", status);
    }
#ifdef COUNT
    (void)digits_set_hooks(&context, &match_count_hooks);
#endif
    for (int i = 0; i < DIGITS_INPUT_IMAGE_ELEMENTS; i++) {
        digits_input_image(&context)[i] = (float)(i % 17) / 16.0f;
    }
    status = digits_run(&context, NULL, NULL);
    if (status != MATCH_OK) {
        return failed("run", status);
    }
    const float *scores = digits_output_scores(&context);
    for (int digit = 0; digit < DIGITS_OUTPUT_SCORES_ELEMENTS; digit++) {
        printf("%d: %d thousandths\n", digit, (int)(scores[digit] * 1000.0f));
    }
    (void)digits_deinit(&context);
    (void)match_platform_close();
    return 0;
}
