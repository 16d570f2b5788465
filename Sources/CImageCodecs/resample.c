#include <string.h>

#include "CImageCodecs.h"
#include "machines.h"

// The inner loops of resampling, in vectors.

typedef float vec4 __attribute__((vector_size(16)));
typedef float vec16 __attribute__((vector_size(64)));
typedef int32_t int16v __attribute__((vector_size(64)));
typedef uint8_t byte16 __attribute__((vector_size(16)));

FOR_EACH_MACHINE
void larder_spread(const uint8_t *pixels, size_t count, bool premultiply, float *line) {
    size_t whole = count & ~(size_t)15;
    if (!premultiply) {
        for (size_t i = 0; i < whole; i += 16) {
            byte16 bytes;
            memcpy(&bytes, pixels + i, sizeof bytes);
            vec16 floats = __builtin_convertvector(bytes, vec16);
            memcpy(line + i, &floats, sizeof floats);
        }
        for (size_t i = whole; i < count; i++) line[i] = pixels[i];
        return;
    }
    for (size_t i = 0; i < count; i += 4) {
        float alpha = pixels[i + 3];
        float factor = alpha * (1.0f / 255);
        for (size_t c = 0; c < 3; c++) line[i + c] = pixels[i + c] * factor;
        line[i + 3] = alpha;
    }
}

FOR_EACH_MACHINE
void larder_scale_across(const float *line, uint32_t channels, const larder_filter *filter, float *out) {
    const float *weight = filter->weights;
    if (channels == 1) {
        for (uint32_t x = 0; x < filter->count; x++, weight += filter->taps) {
            const float *source = line + filter->starts[x];
            vec4 total = {0};
            for (uint32_t tap = 0; tap < filter->taps; tap += 4) {
                vec4 samples, weights;
                memcpy(&samples, source + tap, sizeof samples);
                memcpy(&weights, weight + tap, sizeof weights);
                total += samples * weights;
            }
            out[x] = (total[0] + total[2]) + (total[1] + total[3]);
        }
        return;
    }
    for (uint32_t x = 0; x < filter->count; x++, weight += filter->taps) {
        const float *source = line + (size_t)4 * filter->starts[x];
        vec16 total = {0};
        for (uint32_t tap = 0; tap < filter->taps; tap += 4) {
            vec16 samples;
            vec4 weights;
            memcpy(&samples, source + (size_t)4 * tap, sizeof samples);
            memcpy(&weights, weight + tap, sizeof weights);
            total += samples * __builtin_shufflevector(weights, weights, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
        }
        vec4 pixel = (__builtin_shufflevector(total, total, 0, 1, 2, 3) + __builtin_shufflevector(total, total, 8, 9, 10, 11)) +
                     (__builtin_shufflevector(total, total, 4, 5, 6, 7) + __builtin_shufflevector(total, total, 12, 13, 14, 15));
        memcpy(out + (size_t)4 * x, &pixel, sizeof pixel);
    }
}

FOR_EACH_MACHINE
void larder_combine(const float *const *rows, const float *weights, uint32_t taps, size_t count, bool alpha,
                    uint8_t *out) {
    for (size_t i = 0; i < count; i += 16) {
        vec16 total = {0};
        for (uint32_t tap = 0; tap < taps; tap++) {
            vec16 samples;
            memcpy(&samples, rows[tap] + i, sizeof samples);
            total += samples * weights[tap];
        }
        if (alpha) {
            for (size_t c = 0; c < 16; c += 4) {
                float factor = total[c + 3] > 0.5f ? 255 / total[c + 3] : 0;
                for (size_t k = 0; k < 3; k++) total[c + k] *= factor;
            }
        }
        // Half up, since what is negative becomes 0 first.
        vec16 none = {0};
        vec16 held = __builtin_elementwise_min(__builtin_elementwise_max(total, none), none + 255) + 0.5f;
        byte16 bytes = __builtin_convertvector(__builtin_convertvector(held, int16v), byte16);
        size_t left = count - i;
        memcpy(out + i, &bytes, left < 16 ? left : 16);
    }
}
