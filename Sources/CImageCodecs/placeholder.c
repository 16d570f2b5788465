#include <string.h>

#include "CImageCodecs.h"
#include "machines.h"

// The inner loops of placeholders. Doubles are rounded as in the format's own implementation: nothing is contracted.
#pragma STDC FP_CONTRACT OFF

typedef uint32_t int4v __attribute__((vector_size(16)));
typedef uint8_t byte4 __attribute__((vector_size(4)));
typedef double double4 __attribute__((vector_size(32)));
typedef double double8 __attribute__((vector_size(64)));

// Into each machine's own version of what calls it.
#define INLINE static inline __attribute__((always_inline))

// Of so many columns and rows the sum of what is 255 times 255 at most is below 2^32.
enum { PART = 256 };

// Adds up some rows.
INLINE void add_rows(const uint8_t *pixels, size_t stride, uint32_t rows, uint32_t count, bool alpha, int4v *sums) {
    memset(sums, 0, count * sizeof *sums);
    for (uint32_t row = 0; row < rows; row++, pixels += stride) {
        for (uint32_t i = 0; i < count; i++) {
            byte4 bytes;
            memcpy(&bytes, pixels + (size_t)4 * i, sizeof bytes);
            if (alpha) {
                uint32_t weight = bytes[3];
                bytes[3] = 255;
                sums[i] += __builtin_convertvector(bytes, int4v) * weight;
            } else {
                sums[i] += __builtin_convertvector(bytes, int4v);
            }
        }
    }
}

INLINE void average(const uint8_t *pixels, size_t stride, const larder_cells *cells, bool alpha, double *planes) {
    const size_t area = (size_t)cells->width * cells->height;
    for (uint32_t y = 0; y < cells->height; y++, planes += cells->width) {
        for (size_t plane = 0; plane < 4; plane++) memset(planes + plane * area, 0, cells->width * sizeof *planes);
        const uint32_t bottom = cells->rows[y + 1], last = cells->columns[cells->width];
        for (uint32_t top = cells->rows[y], rows; top < bottom; top += rows) {
            rows = bottom - top < PART ? bottom - top : PART;
            uint32_t x = 0;
            for (uint32_t left = cells->columns[0], right; left < last; left = right) {
                right = last - left < PART ? last : left + PART;
                int4v sums[PART];
                add_rows(pixels + top * stride + (size_t)4 * left, stride, rows, right - left, alpha, sums);
                for (uint32_t column = left; column < right; x++) {
                    uint32_t end = cells->columns[x + 1] < right ? cells->columns[x + 1] : right;
                    int4v total = {0};
                    for (; column < end; column++) total += sums[column - left];
                    // Whole numbers, below 2^53 for a cell of a hundred thousand million pixels.
                    double4 more = __builtin_convertvector(total, double4);
                    for (size_t plane = 0; plane < 4; plane++) planes[plane * area + x] += more[plane];
                    if (cells->columns[x + 1] > right) break;
                }
            }
        }
        for (uint32_t x = 0; x < cells->width; x++) {
            uint64_t pixels_of = (uint64_t)(cells->columns[x + 1] - cells->columns[x]) * (bottom - cells->rows[y]);
            for (size_t plane = 0; plane < 4; plane++) {
                double *mean = planes + plane * area + x;
                *mean = *mean * (alpha ? 1 : 255) / (double)(255 * 255 * pixels_of);
            }
        }
    }
}

FOR_EACH_MACHINE
void larder_average_cells(const uint8_t *pixels, size_t stride, const larder_cells *cells, bool alpha, double *planes) {
    if (alpha) {
        average(pixels, stride, cells, true, planes);
    } else {
        average(pixels, stride, cells, false, planes);
    }
}

FOR_EACH_MACHINE
void larder_cosine_sums(const double *const samples[LARDER_WAVE_GROUPS], uint32_t width, uint32_t height,
                        const double *columns, const double *rows, double *sums) {
    double8 sum[LARDER_WAVE_GROUPS] = {{0}};
    size_t at = 0;
    for (uint32_t y = 0; y < height; y++, rows += 8 * LARDER_WAVE_GROUPS) {
        double8 rise[LARDER_WAVE_GROUPS];
        memcpy(rise, rows, sizeof rise);
        const double *column = columns;
        for (uint32_t x = 0; x < width; x++, at++, column += 8 * LARDER_WAVE_GROUPS) {
            for (size_t group = 0; group < LARDER_WAVE_GROUPS; group++) {
                double8 wave;
                memcpy(&wave, column + 8 * group, sizeof wave);
                sum[group] += samples[group][at] * wave * rise[group];
            }
        }
    }
    memcpy(sums, sum, sizeof sum);
}
