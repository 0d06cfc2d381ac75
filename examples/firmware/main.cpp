// Two networks in one program without an operating system: digits, used twice at a time, and keywords.
#include <stdio.h>

#include "digits.h"
#include "keywords.h"

// The workspace that comes with a network holds its inputs and outputs, too; another one is an array of the program's.
static digits_context_t first, second;
static keywords_context_t keywords;
alignas(DIGITS_ALIGNMENT) static uint8_t memory[DIGITS_WORKSPACE_IO_BYTES];

static void print(const char *what, const float *values, int count)
{
    printf("%s:", what);
    for (int i = 0; i < count; i++) {
        printf(" %ld", static_cast<long>(values[i] * 1000.0f));
    }
    printf("\n");
}

static int32_t run()
{
    int pauses = 0;
    int32_t status = digits_init(&first, digits_workspace, sizeof digits_workspace);
    status = status ? status : digits_init(&second, memory, sizeof memory);
    status = status ? status : keywords_init(&keywords, keywords_workspace, sizeof keywords_workspace);
    if (status != MATCH_OK) {
        return status;
    }
    for (int i = 0; i < DIGITS_INPUT_IMAGE_ELEMENTS; i++) {
        digits_input_image(&first)[i] = static_cast<float>(i % 17) / 16.0f;
        digits_input_image(&second)[i] = static_cast<float>(i % 5) / 4.0f;
    }
    for (int i = 0; i < KEYWORDS_INPUT_CEPSTRUM_ELEMENTS; i++) {
        keywords_input_cepstrum(&keywords)[i] = static_cast<float>(i % 11) / 5.0f - 1.0f;
    }
    status = digits_run(&first, nullptr, nullptr);
    status = status ? status : digits_run(&second, nullptr, nullptr);
    status = status ? status : keywords_start(&keywords, nullptr, nullptr);
    while (status == MATCH_OK && !keywords_poll(&keywords, &status)) {
        pauses++;  // the cluster works, and this core could do something else
    }
    print("first", digits_output_scores(&first), DIGITS_OUTPUT_SCORES_ELEMENTS);
    print("second", digits_output_scores(&second), DIGITS_OUTPUT_SCORES_ELEMENTS);
    print("keywords", keywords_output_probabilities(&keywords), KEYWORDS_OUTPUT_PROBABILITIES_ELEMENTS);
    printf(pauses > 0 ? "in parts\n" : "at once\n");
    return status;
}

int main()
{
    int32_t status = match_platform_open();
    status = status ? status : run();
    match_platform_close();
    printf("%s\n", match_status_text(status));
    return status == MATCH_OK ? 0 : 1;
}
