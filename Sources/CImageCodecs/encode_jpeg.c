#include <setjmp.h>

#include "codec.h"
// After stdio.h, which jpeglib.h needs.
#include <jpeglib.h>

typedef struct writer {
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr target;
    jmp_buf jump;
    uint8_t *bytes;
    size_t capacity;
} writer;

static void error_exit(j_common_ptr info) { longjmp(((writer *)info->client_data)->jump, 1); }
static void emit_message(j_common_ptr info, int level) {
    (void)info;
    (void)level;
}

// Ours, because jpeg_mem_dest loses its buffer when compression fails midway.
static boolean grow(j_compress_ptr info) {
    writer *work = info->client_data;
    size_t used = work->capacity;
    size_t capacity = used ? used * 2 : 16 << 10;
    uint8_t *grown = capacity > used ? realloc(work->bytes, capacity) : NULL;
    if (!grown) longjmp(work->jump, 1);
    work->bytes = grown;
    work->capacity = capacity;
    work->target.next_output_byte = grown + used;
    work->target.free_in_buffer = capacity - used;
    return TRUE;
}

static void begin(j_compress_ptr info) { grow(info); }
static void end(j_compress_ptr info) { (void)info; }

larder_status larder_jpeg_encode(const larder_picture *picture, int quality, bool progressive, uint8_t **out,
                                 size_t *length) {
    *out = NULL;
    *length = 0;
    if (picture->width > JPEG_MAX_DIMENSION || picture->height > JPEG_MAX_DIMENSION) return LARDER_TOO_LARGE;
    writer *work = calloc(1, sizeof *work);
    if (!work) return LARDER_TOO_LARGE;
    work->info.err = jpeg_std_error(&work->errors);
    work->info.client_data = work;
    work->errors.error_exit = error_exit;
    work->errors.emit_message = emit_message;
    larder_status status = LARDER_TOO_LARGE;
    // A profile is cut into at most 255 segments; libjpeg does not look.
    bool fits = picture->icc_length <= 255 * 65519;
    if (fits && setjmp(work->jump) == 0) {
        struct jpeg_compress_struct *info = &work->info;
        jpeg_create_compress(info);
        work->target.init_destination = begin;
        work->target.empty_output_buffer = grow;
        work->target.term_destination = end;
        info->dest = &work->target;
        info->image_width = picture->width;
        info->image_height = picture->height;
        info->input_components = (int)picture->channels;
        info->in_color_space = picture->channels == 1 ? JCS_GRAYSCALE : JCS_EXT_RGBX;
        jpeg_set_defaults(info);
        jpeg_set_quality(info, quality, TRUE);
        if (quality >= 90 && picture->channels == 4) {
            // Where quality is asked for, colour keeps its full resolution.
            info->comp_info[0].h_samp_factor = 1;
            info->comp_info[0].v_samp_factor = 1;
        }
        if (progressive) jpeg_simple_progression(info);
        jpeg_start_compress(info, TRUE);
        if (picture->icc_length > 0) jpeg_write_icc_profile(info, picture->icc, (unsigned int)picture->icc_length);
        while (info->next_scanline < info->image_height) {
            JSAMPROW row = (JSAMPROW)(picture->pixels + (size_t)info->next_scanline * picture->stride);
            jpeg_write_scanlines(info, &row, 1);
        }
        jpeg_finish_compress(info);
        *out = work->bytes;
        *length = work->capacity - work->target.free_in_buffer;
        status = LARDER_OK;
    } else {
        free(work->bytes);
    }
    jpeg_destroy_compress(&work->info);
    free(work);
    return status;
}
