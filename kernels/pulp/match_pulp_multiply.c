#include "match_pulp.h"
#include "match_pulp_combine.h"
#include "match_pulp_lines.h"

/* What is subtracted from both inputs. */
typedef struct {
    int32_t input;
    int32_t addend;
} zero_points_t;

static inline int32_t product(match_operands_t *run, const void *constants)
{
    const zero_points_t *zero = constants;
    int32_t result = (*run->input++ - zero->input) * (*run->addend - zero->addend);
    run->addend += run->step;
    return result;
}

static inline void multiply(const match_tile_t *tile, match_form_t form)
{
    const uint8_t *zero_points = tile->weights;
    zero_points_t zero = {.input = match_word(zero_points), .addend = match_word(zero_points + 4)};
    match_finish_t finish = match_finish_of(tile, form);
    if (match_are_lines(tile, &finish)) {
        match_bilinear_t sum = {.both = 1, .input = -zero.addend, .addend = -zero.input, .constant = zero.input * zero.addend};
        match_lines(tile, &finish, &sum);
    } else {
        match_combine(tile, form, product, &zero);
    }
}

void match_pulp_multiply(const match_tile_t *tile)
{
    multiply(tile, MATCH_FORM_64);
}

void match_pulp_multiply_split(const match_tile_t *tile)
{
    multiply(tile, MATCH_FORM_SPLIT);
}

void match_pulp_multiply_int32(const match_tile_t *tile)
{
    multiply(tile, MATCH_FORM_32);
}
