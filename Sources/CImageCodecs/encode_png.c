#include "codec.h"

#include <png.h>

typedef struct writer {
    png_structp png;
    png_infop info;
    uint8_t *bytes;
    size_t length, capacity;
} writer;

static _Noreturn void on_error(png_structp png, png_const_charp message) {
    (void)message;
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void write_bytes(png_structp png, png_bytep from, size_t count) {
    writer *work = png_get_io_ptr(png);
    if (count > work->capacity - work->length) {
        if (count > SIZE_MAX / 4 || work->capacity > SIZE_MAX / 4) png_error(png, "out of memory");
        size_t capacity = work->capacity * 2 + count + 4096;
        uint8_t *grown = realloc(work->bytes, capacity);
        if (!grown) png_error(png, "out of memory");
        work->bytes = grown;
        work->capacity = capacity;
    }
    memcpy(work->bytes + work->length, from, count);
    work->length += count;
}

static void flush(png_structp png) { (void)png; }

larder_status larder_png_encode(const larder_picture *picture, bool alpha, uint8_t **out, size_t *length) {
    *out = NULL;
    *length = 0;
    writer *work = calloc(1, sizeof *work);
    if (!work) return LARDER_TOO_LARGE;
    larder_status status = LARDER_TOO_LARGE;
    work->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
    if (work->png && setjmp(png_jmpbuf(work->png)) == 0) {
        work->info = png_create_info_struct(work->png);
        if (!work->info) png_error(work->png, "out of memory");
        png_set_write_fn(work->png, work, write_bytes, flush);
        // A profile that libpng dislikes is left out; it does not fail the picture.
        png_set_benign_errors(work->png, 1);
        png_set_user_limits(work->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
        int type = picture->channels == 1 ? PNG_COLOR_TYPE_GRAY : alpha ? PNG_COLOR_TYPE_RGBA : PNG_COLOR_TYPE_RGB;
        png_set_IHDR(work->png, work->info, picture->width, picture->height, 8, type, PNG_INTERLACE_NONE,
                     PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
        if (picture->icc_length > 0) {
            png_set_iCCP(work->png, work->info, "icc", PNG_COMPRESSION_TYPE_BASE, picture->icc,
                         (png_uint_32)picture->icc_length);
        }
        png_write_info(work->png, work->info);
        if (type == PNG_COLOR_TYPE_RGB) png_set_filler(work->png, 0, PNG_FILLER_AFTER);
        for (uint32_t row = 0; row < picture->height; row++) {
            png_write_row(work->png, picture->pixels + (size_t)row * picture->stride);
        }
        png_write_end(work->png, work->info);
        *out = work->bytes;
        *length = work->length;
        status = LARDER_OK;
    } else {
        free(work->bytes);
    }
    png_destroy_write_struct(&work->png, &work->info);
    free(work);
    return status;
}
