#include "match_network.h"

/* The integer nearest to value / scale + zero_point in low .. high. */
static int32_t quantized(float value, float scale, int32_t zero_point, int32_t low, int32_t high,
                         match_rounding_t rounding)
{
    const float real = value / scale;
    if (real != real) {
        return zero_point;
    }
    if (real >= 512.0f || real <= -512.0f) { /* farther than a zero point reaches */
        return real > 0.0f ? high : low;
    }
    int32_t whole = (int32_t)real;
    const float rest = real - (float)whole; /* exact */
    const bool odd = whole % 2 != 0;
    const bool half = rounding == MATCH_HALF_AWAY || odd;
    if (rest > 0.5f || (rest == 0.5f && half)) {
        whole += 1;
    } else if (rest < -0.5f || (rest == -0.5f && half)) {
        whole -= 1;
    }
    whole += zero_point;
    return whole < low ? low : whole > high ? high : whole;
}

void match_quantize_int8(const float *values, int8_t *integers, size_t count, float scale, int32_t zero_point,
                         match_rounding_t rounding)
{
    for (size_t i = 0; i < count; i++) {
        integers[i] = (int8_t)quantized(values[i], scale, zero_point, INT8_MIN, INT8_MAX, rounding);
    }
}

void match_quantize_uint8(const float *values, uint8_t *integers, size_t count, float scale, int32_t zero_point,
                          match_rounding_t rounding)
{
    for (size_t i = 0; i < count; i++) {
        integers[i] = (uint8_t)quantized(values[i], scale, zero_point, 0, UINT8_MAX, rounding);
    }
}

void match_dequantize_int8(const int8_t *integers, float *values, size_t count, float scale, int32_t zero_point)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = scale * (float)(integers[i] - zero_point);
    }
}

void match_dequantize_uint8(const uint8_t *integers, float *values, size_t count, float scale, int32_t zero_point)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = scale * (float)(integers[i] - zero_point);
    }
}
