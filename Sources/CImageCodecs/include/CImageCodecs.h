#ifndef LARDER_CIMAGECODECS_H
#define LARDER_CIMAGECODECS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// libjpeg and libpng behind calls that return a status. No jump leaves these functions, nothing is printed, and
// every size that comes from a file is checked before it is used.

typedef enum larder_status {
    LARDER_OK = 0,
    LARDER_TRUNCATED,    // the bytes end before the image does
    LARDER_CORRUPT,      // damaged data, or a structure that no decoder accepts
    LARDER_UNSUPPORTED,  // a feature that the library cannot decode
    LARDER_TOO_LARGE,    // a limit would be passed
    LARDER_ABORTED,      // the caller raised the flag
} larder_status;

typedef enum larder_codec { LARDER_JPEG, LARDER_PNG } larder_codec;

typedef enum larder_color {
    LARDER_GRAY,
    LARDER_GRAY_ALPHA,
    LARDER_RGB,
    LARDER_RGBA,
    LARDER_INDEXED,
    LARDER_YCBCR,
    LARDER_CMYK,
    LARDER_YCCK,
} larder_color;

typedef struct larder_limits {
    uint64_t max_pixels;    // width x height
    uint64_t max_bytes;     // everything one decode holds at once
    uint64_t max_metadata;  // one PNG chunk held, inflated
    uint32_t max_scans;     // of a progressive JPEG
    // Another thread may raise it (larder_flag_raise) to end the decode; NULL where nobody will.
    const int32_t *abort;
} larder_limits;

// What the file says of itself. Valid after larder_decoder_open.
typedef struct larder_facts {
    uint32_t width, height;
    larder_color color;
    uint32_t bit_depth;
    bool has_alpha;
    bool progressive;  // progressive JPEG, interlaced PNG
    int32_t gamma;     // PNG gAMA x 100,000; 0 where absent
    const uint8_t *icc;
    size_t icc_length;
    const uint8_t *exif;  // PNG's eXIf
    size_t exif_length;
} larder_facts;

typedef struct larder_request {
    // JPEG: the smallest of libjpeg's scales (1/8, 1/4, 1/2, 1) whose picture is at least this big; 0: full size.
    uint32_t min_width, min_height;
    // One channel for a gray picture; else always RGBA.
    bool gray;
    // The caller keeps all rows: they count against max_bytes.
    bool whole;
    // JPEG: plain chroma upsampling, for pictures that are shrunk afterwards.
    bool fast;
} larder_request;

typedef struct larder_decoder {
    larder_facts facts;
    // What rows will be. Valid after larder_decoder_start.
    uint32_t out_width, out_height, channels;
    uint32_t eighths;      // JPEG: the scale chosen; out_width is width x eighths / 8, rounded up
    bool only_whole;       // interlaced: all rows must be read by one call, without gaps between them
    uint64_t need;         // bytes that the decode holds at once, such rows among them
    char message[200];     // after a failure: the library's own words
    uint32_t warnings;     // harmless ones, collected
    char warning[200];     // the first of them
    larder_limits limits;
    // Set after opening, for a preview of a file that is still growing: where the data end, the picture ends as far as
    // it has come, and is no failure.
    bool partial;
    // Then, of an interlaced PNG: the passes read to their end, 7 being all. What is missing is filled in from the
    // coarser passes.
    uint32_t passes;
} larder_decoder;

// Reads the header. `*decoder` is set also on failure (for its message), NULL only where memory is short, and must
// be closed. `bytes` must outlive the decoder.
larder_status larder_decoder_open(larder_codec codec, const uint8_t *bytes, size_t count,
                                  const larder_limits *limits, larder_decoder **decoder);
// Chooses the scale and checks what the decode will cost, then starts it.
larder_status larder_decoder_start(larder_decoder *decoder, const larder_request *request);
// Reads the next `rows` rows into `pixels`.
larder_status larder_decoder_read(larder_decoder *decoder, uint8_t *pixels, size_t stride, uint32_t rows);
void larder_decoder_close(larder_decoder *decoder);

typedef struct larder_picture {
    const uint8_t *pixels;
    uint32_t width, height, channels;  // 1 or 4
    size_t stride;
    const uint8_t *icc;
    size_t icc_length;
} larder_picture;

// Both give a buffer for larder_free in `*out`. JPEG leaves the fourth channel out.
larder_status larder_jpeg_encode(const larder_picture *picture, int quality, bool progressive, uint8_t **out,
                                 size_t *length);
larder_status larder_png_encode(const larder_picture *picture, bool alpha, uint8_t **out, size_t *length);
void larder_free(uint8_t *bytes);

// Which source samples make up each output sample along one axis: those from `starts` to `ends`, neither of which ever
// falls, and room for `taps` weights each.
typedef struct larder_filter {
    const uint32_t *starts, *ends;
    const float *weights;
    uint32_t taps, count;
} larder_filter;

// A picture on its way from one size to another, rows from the top.
typedef struct larder_resampler {
    larder_filter across, down;
    uint32_t channels;  // 1 or 4, of the source and of the output
    bool alpha;         // of 4: colours are weighted by it; else the fourth is 255
    // What is held between rows, aligned to 64: `held_rows` times the output's width, made a multiple of 16, times 1
    // float where gray, 4 with alpha, else 3.
    float *held;
    // With `sums` as many output rows as are begun at once, added up as far as they have come; without it scaled rows of
    // the source, as many as one output row takes and 15.
    bool sums;
    uint32_t held_rows;
    uint8_t *out;  // rows without gaps
    uint32_t received, produced;
} larder_resampler;

// Takes the next rows, and writes the output rows that are whole.
void larder_resample(larder_resampler *resampler, const uint8_t *pixels, size_t stride, uint32_t rows);

// A picture divided into cells: one from columns[x] to columns[x + 1] and from rows[y] to rows[y + 1], none empty.
typedef struct larder_cells {
    const uint32_t *columns, *rows;
    uint32_t width, height;
} larder_cells;

// The mean of each cell of an RGBA picture, 0 to 1: all of red, then green and blue, each multiplied by alpha, and alpha.
// Without `alpha` the fourth channel is 255 throughout.
void larder_average_cells(const uint8_t *pixels, size_t stride, const larder_cells *cells, bool alpha, double *planes);

enum { LARDER_WAVE_GROUPS = 6 };

// For each of six groups of eight waves the sums of a picture's samples, each times the wave's value in its column and
// then in its row. Values lie by position, group and wave.
void larder_cosine_sums(const double *const samples[LARDER_WAVE_GROUPS], uint32_t width, uint32_t height,
                        const double *columns, const double *rows, double *sums);

void larder_flag_raise(int32_t *flag);
bool larder_flag_is_raised(const int32_t *flag);

const char *larder_jpeg_version(void);
const char *larder_png_version(void);

// Where the entropy-coded data of a JPEG scan ends: the index of the first 0xFF that neither a zero nor a restart marker
// follows, or of the last byte, which is for the next call to judge; 0 for no bytes.
size_t larder_jpeg_scan_end(const uint8_t *bytes, size_t count);

#endif
