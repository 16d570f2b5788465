#include <string.h>

#include "CImageCodecs.h"
#include "machines.h"

// The inner loops of resampling, in vectors. Their sixteen lanes are rows of the source while these are scaled across,
// and columns of the output while rows are combined down: a weight is one number for all lanes, and nothing is shuffled
// but where the two change places.

enum { LANES = 16, SEGMENT = 128 };

typedef float vec16 __attribute__((vector_size(64)));
typedef int32_t int16v __attribute__((vector_size(64)));
typedef uint32_t word16 __attribute__((vector_size(64)));
typedef uint8_t byte16 __attribute__((vector_size(16)));
// Anywhere in memory. Not by memcpy: beside a copy of fewer bytes it would become one call for both.
typedef word16 loose_word16 __attribute__((aligned(1), may_alias));
typedef byte16 loose_byte16 __attribute__((aligned(1), may_alias));

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a pixel is taken apart as a word");

// Into each machine's own version of what calls it.
#define INLINE static inline __attribute__((always_inline))

// Of two vectors the lanes named, where they are those of the first and, 16 higher, of the second.
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

// Rows and columns of a square change places: first within squares of four, then these.
INLINE void turn(word16 square[LANES]) {
    word16 half[LANES];
    for (int i = 0; i < LANES; i += 2) {
        word16 a = square[i], b = square[i + 1];
        half[i] = PICK(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
        half[i + 1] = PICK(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    }
    for (int i = 0; i < LANES; i += 4) {
        for (int k = 0; k < 2; k++) {
            word16 a = half[i + k], b = half[i + k + 2];
            square[i + 2 * k] = PICK(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
            square[i + 2 * k + 1] = PICK(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
        }
    }
    for (int i = 0; i < LANES; i += 8) {
        for (int k = 0; k < 4; k++) {
            word16 a = square[i + k], b = square[i + k + 4];
            half[i + k] = PICK(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
            half[i + k + 4] = PICK(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
        }
    }
    for (int k = 0; k < 8; k++) {
        word16 a = half[k], b = half[k + 8];
        square[k] = PICK(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
        square[k + 8] = PICK(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    }
}

// `bytes` of each of up to sixteen rows, which have `left`: a sample becomes a vector of them, colours multiplied by
// alpha where that is one of the planes. Vectors are written for whole 64 bytes.
INLINE void spread(const uint8_t *pixels, size_t stride, uint32_t rows, size_t bytes, size_t left, uint32_t planes,
                   vec16 *samples) {
    for (size_t at = 0; at < bytes; at += 64, left -= 64) {
        word16 words[LANES];
        for (uint32_t row = 0; row < LANES; row++) {
            words[row] = (word16){0};
            if (row >= rows) continue;
            const uint8_t *from = pixels + row * stride + at;
            if (left >= sizeof(word16)) {
                words[row] = *(const loose_word16 *)from;
            } else {
                memcpy(&words[row], from, left);
            }
        }
        turn(words);
        for (uint32_t i = 0; i < LANES; i++) {
            vec16 first = __builtin_convertvector((int16v)(words[i] & 255), vec16);
            vec16 second = __builtin_convertvector((int16v)(words[i] >> 8 & 255), vec16);
            vec16 third = __builtin_convertvector((int16v)(words[i] >> 16 & 255), vec16);
            vec16 fourth = __builtin_convertvector((int16v)(words[i] >> 24), vec16);
            vec16 factor = planes == 4 ? fourth * (1.0f / 255) : (vec16){0} + 1;
            *samples++ = first * factor;
            *samples++ = second * factor;
            *samples++ = third * factor;
            if (planes != 3) *samples++ = fourth;
        }
    }
}

// Adds `count` samples to the sum of each plane.
INLINE void add(const vec16 *samples, const float *weights, uint32_t count, uint32_t planes, vec16 *sums) {
    vec16 sum[4];
    for (uint32_t plane = 0; plane < planes; plane++) sum[plane] = sums[plane];
    for (uint32_t i = 0; i < count; i++, samples += planes) {
        for (uint32_t plane = 0; plane < planes; plane++) sum[plane] += samples[plane] * weights[i];
    }
    for (uint32_t plane = 0; plane < planes; plane++) sums[plane] = sum[plane];
}

// Writes up to sixteen pixels.
INLINE void put(vec16 *sums, uint32_t count, uint32_t planes, uint8_t *out) {
    vec16 none = {0};
    if (planes == 4) {
        // Straight again; no colour where alpha rounds to 0.
        vec16 factor = 255 / __builtin_elementwise_max(sums[3], none + 0.5f);
        factor = (vec16)((int16v)factor & (sums[3] > 0.5f));
        for (uint32_t plane = 0; plane < 3; plane++) sums[plane] *= factor;
    }
    word16 levels[4] = {{0}, {0}, {0}, (word16){0} + 255};
    for (uint32_t plane = 0; plane < planes; plane++) {
        // Half up, since what is negative becomes 0 first.
        vec16 held = __builtin_elementwise_min(__builtin_elementwise_max(sums[plane], none), none + 255) + 0.5f;
        levels[plane] = (word16) __builtin_convertvector(held, int16v);
    }
    if (planes == 1) {
        byte16 bytes = __builtin_convertvector(levels[0], byte16);
        if (count == LANES) {
            *(loose_byte16 *)out = bytes;
        } else {
            memcpy(out, &bytes, count);
        }
    } else {
        word16 pixels = levels[0] | levels[1] << 8 | levels[2] << 16 | levels[3] << 24;
        if (count == LANES) {
            *(loose_word16 *)out = pixels;
        } else {
            memcpy(out, &pixels, (size_t)4 * count);
        }
    }
}

// Sixteen columns of up to sixteen rows, scaled across: a vector for each row and plane.
INLINE void scale_across(const larder_filter *filter, uint32_t column, uint32_t width, const uint8_t *pixels,
                         size_t stride, uint32_t rows, uint32_t planes, vec16 scaled[4][LANES]) {
    size_t channels = planes == 1 ? 1 : 4;
    uint32_t count = filter->count - column < LANES ? filter->count - column : LANES;
    const uint32_t *starts = filter->starts + column, *ends = filter->ends + column;
    const float *weights = filter->weights + (size_t)column * filter->taps;
    vec16 samples[SEGMENT * 4], sums[LANES * 4];
    memset(sums, 0, LANES * planes * sizeof(vec16));
    // A filter may be as wide as the picture: of the row only so much is spread at a time.
    for (uint32_t from = starts[0], to; from < ends[count - 1]; from = to) {
        to = ends[count - 1] - from < SEGMENT ? ends[count - 1] : from + SEGMENT;
        spread(pixels + from * channels, stride, rows, (to - from) * channels, (width - from) * channels, planes,
               samples);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t first = starts[i] > from ? starts[i] : from, end = ends[i] < to ? ends[i] : to;
            if (first >= end) continue;
            add(samples + (size_t)(first - from) * planes, weights + (size_t)i * filter->taps + (first - starts[i]),
                end - first, planes, sums + i * planes);
        }
    }
    for (uint32_t plane = 0; plane < planes; plane++) {
        for (uint32_t i = 0; i < LANES; i++) scaled[plane][i] = sums[i * planes + plane];
        turn((word16 *)scaled[plane]);
    }
}

// Up to sixteen rows.
INLINE void push(const larder_resampler *work, const uint8_t *pixels, size_t stride, uint32_t rows, uint32_t planes) {
    const larder_filter *across = &work->across, *down = &work->down;
    const size_t channels = planes == 1 ? 1 : 4;
    const uint32_t begin = work->received, end = begin + rows;
    vec16 scaled[4][LANES], strip[LANES * 4];
    for (uint32_t column = 0; column < across->count; column += LANES) {
        scale_across(across, column, across->ends[across->count - 1], pixels, stride, rows, planes, scaled);
        vec16 *held = (vec16 *)work->held + (size_t)(column / LANES) * planes * work->held_rows;
        vec16 *ring = work->sums ? strip : held;
        uint32_t size = work->sums ? LANES : work->held_rows;
        uint32_t at = begin % size;
        for (uint32_t row = 0; row < rows; row++, at = at + 1 < size ? at + 1 : 0) {
            for (uint32_t plane = 0; plane < planes; plane++) ring[at * planes + plane] = scaled[plane][row];
        }
        for (uint32_t y = work->produced; y < down->count && down->starts[y] < end; y++) {
            uint32_t start = down->starts[y], stop = down->ends[y];
            if (stop > end && !work->sums) break;
            vec16 sums[4] = {0};
            vec16 *sum = held + (size_t)(y % work->held_rows) * planes;
            uint32_t first = start;
            if (work->sums && start < begin) {
                first = begin;
                for (uint32_t plane = 0; plane < planes; plane++) sums[plane] = sum[plane];
            }
            uint32_t count = (stop < end ? stop : end) - first, place = first % size;
            uint32_t some = count < size - place ? count : size - place;
            const float *weights = down->weights + (size_t)y * down->taps + (first - start);
            add(ring + (size_t)place * planes, weights, some, planes, sums);
            add(ring, weights + some, count - some, planes, sums);
            if (stop <= end) {
                uint32_t wide = across->count - column < LANES ? across->count - column : LANES;
                put(sums, wide, planes, work->out + ((size_t)y * across->count + column) * channels);
            } else {
                for (uint32_t plane = 0; plane < planes; plane++) sum[plane] = sums[plane];
            }
        }
    }
}

FOR_EACH_MACHINE
void larder_resample(larder_resampler *work, const uint8_t *pixels, size_t stride, uint32_t rows) {
    const larder_filter *down = &work->down;
    for (uint32_t some; rows > 0; rows -= some, pixels += some * stride) {
        some = rows < LANES ? rows : LANES;
        uint32_t end = work->received + some;
        if (work->produced < down->count && down->starts[work->produced] < end) {
            if (work->channels == 1) {
                push(work, pixels, stride, some, 1);
            } else if (work->alpha) {
                push(work, pixels, stride, some, 4);
            } else {
                push(work, pixels, stride, some, 3);
            }
        }
        work->received = end;
        while (work->produced < down->count && down->ends[work->produced] <= end) work->produced++;
    }
}
