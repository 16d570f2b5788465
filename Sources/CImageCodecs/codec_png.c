#include "codec.h"

#include <png.h>

typedef struct png_codec {
    codec_base base;
    png_structp png;
    png_infop info;
    const uint8_t *bytes;
    size_t count, offset;
    uint64_t held;  // bytes libpng has allocated and not freed
    larder_status status;
} png_codec;

// Each block remembers its size, so that what is held can be counted.
typedef union block {
    size_t size;
    max_align_t aligned;
} block;

static png_voidp allocate(png_structp png, png_alloc_size_t size) {
    png_codec *codec = png_get_mem_ptr(png);
    if (size > codec->base.shown.limits.max_bytes || codec->held + size > codec->base.shown.limits.max_bytes ||
        size > SIZE_MAX - sizeof(block)) {
        codec->status = LARDER_TOO_LARGE;
        return NULL;
    }
    block *memory = malloc(sizeof(block) + size);
    if (!memory) {
        codec->status = LARDER_TOO_LARGE;
        return NULL;
    }
    memory->size = size;
    codec->held += size;
    return memory + 1;
}

static void release(png_structp png, png_voidp pointer) {
    if (!pointer) return;
    block *memory = (block *)pointer - 1;
    ((png_codec *)png_get_mem_ptr(png))->held -= memory->size;
    free(memory);
}

static _Noreturn void on_error(png_structp png, png_const_charp message) {
    png_codec *codec = png_get_error_ptr(png);
    if (codec->status == LARDER_OK) codec->status = LARDER_CORRUPT;
    codec_say(&codec->base.shown, message);
    png_longjmp(png, 1);
}

// libpng's warnings are about ancillary chunks, which it then leaves out: damage to pixels is always an error.
static void on_warning(png_structp png, png_const_charp message) {
    png_codec *codec = png_get_error_ptr(png);
    codec_warn(&codec->base.shown, message);
}

static void read_bytes(png_structp png, png_bytep into, size_t count) {
    png_codec *codec = png_get_io_ptr(png);
    if (count > codec->count - codec->offset) {
        codec->status = LARDER_TRUNCATED;
        png_error(png, "the data end early");
    }
    memcpy(into, codec->bytes + codec->offset, count);
    codec->offset += count;
}

static void check_abort(png_codec *codec) {
    if (!larder_flag_is_raised(codec->base.shown.limits.abort)) return;
    codec->status = LARDER_ABORTED;
    png_error(codec->png, "aborted");
}

static void fill_facts(png_codec *codec) {
    larder_facts *facts = &codec->base.shown.facts;
    facts->width = png_get_image_width(codec->png, codec->info);
    facts->height = png_get_image_height(codec->png, codec->info);
    facts->bit_depth = png_get_bit_depth(codec->png, codec->info);
    facts->progressive = png_get_interlace_type(codec->png, codec->info) != PNG_INTERLACE_NONE;
    int type = png_get_color_type(codec->png, codec->info);
    switch (type) {
        case PNG_COLOR_TYPE_GRAY: facts->color = LARDER_GRAY; break;
        case PNG_COLOR_TYPE_GRAY_ALPHA: facts->color = LARDER_GRAY_ALPHA; break;
        case PNG_COLOR_TYPE_PALETTE: facts->color = LARDER_INDEXED; break;
        case PNG_COLOR_TYPE_RGB: facts->color = LARDER_RGB; break;
        default: facts->color = LARDER_RGBA;
    }
    facts->has_alpha = (type & PNG_COLOR_MASK_ALPHA) || png_get_valid(codec->png, codec->info, PNG_INFO_tRNS);
    png_fixed_point gamma = 0;
    if (png_get_gAMA_fixed(codec->png, codec->info, &gamma)) facts->gamma = gamma;
    png_charp name = NULL;
    png_bytep icc = NULL, exif = NULL;
    int method = 0;
    png_uint_32 length = 0;
    if (png_get_iCCP(codec->png, codec->info, &name, &method, &icc, &length)) {
        facts->icc = icc;
        facts->icc_length = length;
    }
    if (png_get_eXIf_1(codec->png, codec->info, &length, &exif)) {
        facts->exif = exif;
        facts->exif_length = length;
    }
}

static void png_codec_close(larder_decoder *decoder) {
    png_codec *codec = (png_codec *)decoder;
    if (codec->png) png_destroy_read_struct(&codec->png, &codec->info, NULL);
    free(codec);
}

static larder_status png_codec_start(larder_decoder *decoder, const larder_request *request) {
    png_codec *codec = (png_codec *)decoder;
    png_structp png = codec->png;
    if (setjmp(png_jmpbuf(png))) return codec->status;
    const larder_facts *facts = &decoder->facts;
    bool gray = request->gray && facts->color == LARDER_GRAY && !facts->has_alpha;
    decoder->channels = gray ? 1 : 4;
    decoder->out_width = facts->width;
    decoder->out_height = facts->height;
    decoder->eighths = 8;
    decoder->only_whole = facts->progressive;

    // The picture, and libpng's rows of at most eight bytes a pixel.
    uint64_t need = (uint64_t)facts->width * 32 + (1 << 20);
    if (request->whole || decoder->only_whole) need += (uint64_t)facts->width * facts->height * decoder->channels;
    if (need > decoder->limits.max_bytes) {
        snprintf(decoder->message, sizeof decoder->message, "decoding needs %llu MiB", (unsigned long long)(need >> 20));
        return LARDER_TOO_LARGE;
    }
    decoder->need = need;
    png_set_expand(png);
    png_set_scale_16(png);
    if (!gray) {
        png_set_gray_to_rgb(png);
        png_set_add_alpha(png, 0xFF, PNG_FILLER_AFTER);
    }
    png_set_interlace_handling(png);
    png_read_update_info(png, codec->info);
    if (png_get_rowbytes(png, codec->info) != (size_t)facts->width * decoder->channels) {
        png_error(png, "unexpected size of a row");
    }
    return LARDER_OK;
}

static larder_status png_codec_read(larder_decoder *decoder, uint8_t *pixels, size_t stride, uint32_t rows) {
    png_codec *codec = (png_codec *)decoder;
    png_structp png = codec->png;
    if (setjmp(png_jmpbuf(png))) {
        return decoder->partial && codec->status == LARDER_TRUNCATED ? LARDER_OK : codec->status;
    }
    if (decoder->only_whole && rows != decoder->out_height) png_error(png, "an interlaced picture is read whole");
    const int passes = decoder->only_whole ? PNG_INTERLACE_ADAM7_PASSES : 1;
    for (int pass = 0; pass < passes; pass++) {
        for (uint32_t row = 0; row < rows; row++) {
            check_abort(codec);
            uint8_t *target = pixels + (size_t)row * stride;
            // The second of the two spreads each pixel over those that are still to come.
            png_read_row(png, decoder->partial ? NULL : target, decoder->partial ? target : NULL);
        }
        decoder->passes = (uint32_t)pass + 1;
    }
    return LARDER_OK;
}

larder_status png_codec_open(const uint8_t *bytes, size_t count, const larder_limits *limits,
                             larder_decoder **decoder) {
    static const codec_methods methods = {png_codec_start, png_codec_read, png_codec_close};
    // Not needed here, and costly to hold or to inflate.
    static const png_byte unread[] = "bKGD\0hIST\0iTXt\0oFFs\0pCAL\0pHYs\0sCAL\0sPLT\0tEXt\0tIME\0zTXt";
    png_codec *codec = calloc(1, sizeof *codec);
    if (!codec) return LARDER_TOO_LARGE;
    codec->base.methods = &methods;
    codec->base.shown.limits = *limits;
    codec->bytes = bytes;
    codec->count = count;
    *decoder = &codec->base.shown;

    codec->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, codec, on_error, on_warning, codec, allocate, release);
    if (!codec->png) return LARDER_TOO_LARGE;
    if (setjmp(png_jmpbuf(codec->png))) return codec->status;
    codec->info = png_create_info_struct(codec->png);
    if (!codec->info) return LARDER_TOO_LARGE;
    png_set_read_fn(codec->png, codec, read_bytes);
    png_set_user_limits(codec->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_cache_max(codec->png, 128);
    png_set_chunk_malloc_max(codec->png, (png_alloc_size_t)limits->max_metadata);
    png_set_keep_unknown_chunks(codec->png, PNG_HANDLE_CHUNK_NEVER, unread, sizeof unread / 5);
    png_read_info(codec->png, codec->info);
    fill_facts(codec);
    return LARDER_OK;
}

const char *larder_png_version(void) { return "libpng " PNG_LIBPNG_VER_STRING; }
