#include <setjmp.h>

#include "codec.h"
// After stdio.h, which jpeglib.h needs.
#include <jpeglib.h>
#include <jerror.h>

typedef struct jpeg_codec {
    codec_base base;
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf jump;
    larder_status status;
    bool started;
    bool hit_end;
    uint8_t *icc;
    uint8_t *cmyk;  // one row, where libjpeg gives CMYK
} jpeg_codec;

static jpeg_codec *codec_of(j_common_ptr info) { return (jpeg_codec *)info->client_data; }

static _Noreturn void fail(jpeg_codec *codec, larder_status status) {
    codec->status = status;
    longjmp(codec->jump, 1);
}

static larder_status status_of(const jpeg_codec *codec, int code) {
    switch (code) {
        case JERR_OUT_OF_MEMORY:
        case JERR_NO_BACKING_STORE:
        case JERR_IMAGE_TOO_BIG:
        case JERR_WIDTH_OVERFLOW:
            return LARDER_TOO_LARGE;
        case JERR_BAD_PRECISION:
        case JERR_SOF_UNSUPPORTED:
        case JERR_ARITH_NOTIMPL:
        case JERR_CONVERSION_NOTIMPL:
        case JERR_CCIR601_NOTIMPL:
        case JERR_FRACT_SAMPLE_NOTIMPL:
            return LARDER_UNSUPPORTED;
        default:
            return codec->hit_end ? LARDER_TRUNCATED : LARDER_CORRUPT;
    }
}

static void error_exit(j_common_ptr info) {
    jpeg_codec *codec = codec_of(info);
    info->err->format_message(info, codec->base.shown.message);
    fail(codec, status_of(codec, info->err->msg_code));
}

// Sorted by kind, not counted: after damage libjpeg goes on and returns a grey picture as success.
static void emit_message(j_common_ptr info, int level) {
    if (level >= 0) return;
    jpeg_codec *codec = codec_of(info);
    char text[JMSG_LENGTH_MAX];
    info->err->format_message(info, text);
    bool harmless;
    switch (info->err->msg_code) {
        case JWRN_EXTRANEOUS_DATA: {
            // Stray bytes between markers are skipped without loss; before a restart marker they are lost pixels.
            int marker = info->err->msg_parm.i[1];
            harmless = marker < 0xD0 || marker > 0xD7;
            break;
        }
        case JWRN_ADOBE_XFORM:
        case JWRN_BOGUS_PROGRESSION:
        case JWRN_JFIF_MAJOR:
        case JWRN_NOT_SEQUENTIAL:
        case JWRN_TOO_MUCH_DATA:
        case JWRN_BOGUS_ICC:
            harmless = true;
            break;
        default:
            harmless = codec->hit_end && codec->base.shown.partial;
    }
    if (harmless) return codec_warn(&codec->base.shown, text);
    codec_say(&codec->base.shown, text);
    fail(codec, codec->hit_end ? LARDER_TRUNCATED : LARDER_CORRUPT);
}

static void output_message(j_common_ptr info) { (void)info; }

static void monitor(j_common_ptr info) {
    jpeg_codec *codec = codec_of(info);
    if (larder_flag_is_raised(codec->base.shown.limits.abort)) fail(codec, LARDER_ABORTED);
    if (codec->info.input_scan_number > 0 &&
        (uint32_t)codec->info.input_scan_number > codec->base.shown.limits.max_scans) {
        codec_say(&codec->base.shown, "more scans than the limit allows");
        fail(codec, LARDER_TOO_LARGE);
    }
}

static void init_source(j_decompress_ptr info) { (void)info; }

static boolean fill_input_buffer(j_decompress_ptr info) {
    static const JOCTET end[2] = {0xFF, JPEG_EOI};
    jpeg_codec *codec = codec_of((j_common_ptr)info);
    codec->hit_end = true;
    // In the one scan of a sequential picture the missing end is only missed where pixels are missing too (which
    // libjpeg then warns of). Anywhere else something is missing for certain.
    if (!codec->started || (jpeg_has_multiple_scans(info) && !codec->base.shown.partial)) {
        codec_say(&codec->base.shown, "the data end early");
        fail(codec, LARDER_TRUNCATED);
    }
    info->src->next_input_byte = end;
    info->src->bytes_in_buffer = sizeof end;
    return TRUE;
}

static void skip_input_data(j_decompress_ptr info, long count) {
    if (count <= 0) return;
    struct jpeg_source_mgr *source = info->src;
    size_t step = (size_t)count < source->bytes_in_buffer ? (size_t)count : source->bytes_in_buffer;
    source->next_input_byte += step;
    source->bytes_in_buffer -= step;
}

static void term_source(j_decompress_ptr info) { (void)info; }

static void fill_facts(jpeg_codec *codec) {
    larder_facts *facts = &codec->base.shown.facts;
    facts->width = codec->info.image_width;
    facts->height = codec->info.image_height;
    facts->bit_depth = (uint32_t)codec->info.data_precision;
    facts->progressive = codec->info.progressive_mode;
    switch (codec->info.jpeg_color_space) {
        case JCS_GRAYSCALE: facts->color = LARDER_GRAY; break;
        case JCS_RGB: facts->color = LARDER_RGB; break;
        case JCS_CMYK: facts->color = LARDER_CMYK; break;
        case JCS_YCCK: facts->color = LARDER_YCCK; break;
        default: facts->color = LARDER_YCBCR;
    }
    JOCTET *icc = NULL;
    unsigned int length = 0;
    if (jpeg_read_icc_profile(&codec->info, &icc, &length)) {
        codec->icc = icc;
        facts->icc = icc;
        facts->icc_length = length;
    }
}

static void jpeg_codec_close(larder_decoder *decoder) {
    jpeg_codec *codec = (jpeg_codec *)decoder;
    jpeg_destroy_decompress(&codec->info);
    free(codec->icc);
    free(codec->cmyk);
    free(codec);
}

// What libjpeg will allocate: coefficients of the whole picture where it has several scans, else a few rows.
static uint64_t library_bytes(const jpeg_codec *codec) {
    const struct jpeg_decompress_struct *info = &codec->info;
    uint64_t total = 1 << 20;
    total += (uint64_t)info->image_width * (uint64_t)info->num_components * (uint64_t)info->max_v_samp_factor * 8 * 4;
    if (!jpeg_has_multiple_scans((j_decompress_ptr)&codec->info)) return total;
    for (int i = 0; i < info->num_components; i++) {
        const jpeg_component_info *component = &info->comp_info[i];
        uint64_t across = (uint64_t)component->width_in_blocks + (uint64_t)component->h_samp_factor;
        uint64_t down = (uint64_t)component->height_in_blocks + (uint64_t)component->v_samp_factor;
        total += across * down * sizeof(JBLOCK);
    }
    return total;
}

static larder_status jpeg_codec_start(larder_decoder *decoder, const larder_request *request) {
    jpeg_codec *codec = (jpeg_codec *)decoder;
    struct jpeg_decompress_struct *info = &codec->info;
    if (setjmp(codec->jump)) return codec->status;

    switch (info->jpeg_color_space) {
        case JCS_GRAYSCALE:
            decoder->channels = request->gray ? 1 : 4;
            info->out_color_space = request->gray ? JCS_GRAYSCALE : JCS_EXT_RGBA;
            break;
        case JCS_RGB:
        case JCS_YCbCr:
            decoder->channels = 4;
            info->out_color_space = JCS_EXT_RGBA;
            break;
        case JCS_CMYK:
        case JCS_YCCK:
            decoder->channels = 4;
            info->out_color_space = JCS_CMYK;
            break;
        default:
            codec_say(decoder, "an unknown number of components");
            return LARDER_UNSUPPORTED;
    }
    info->scale_denom = 8;
    info->scale_num = 8;
    for (unsigned int scale = 1; scale < 8 && (request->min_width || request->min_height); scale *= 2) {
        uint64_t width = ((uint64_t)info->image_width * scale + 7) / 8;
        uint64_t height = ((uint64_t)info->image_height * scale + 7) / 8;
        if (width >= request->min_width && height >= request->min_height) {
            info->scale_num = scale;
            break;
        }
    }
    decoder->eighths = info->scale_num;
    if (request->fast) info->do_fancy_upsampling = FALSE;
    jpeg_calc_output_dimensions(info);
    decoder->out_width = info->output_width;
    decoder->out_height = info->output_height;

    uint64_t need = library_bytes(codec);
    if (request->whole) need += (uint64_t)info->output_width * info->output_height * decoder->channels;
    if (need > decoder->limits.max_bytes) {
        snprintf(decoder->message, sizeof decoder->message, "decoding needs %llu MiB", (unsigned long long)(need >> 20));
        return LARDER_TOO_LARGE;
    }
    decoder->need = need;
    uint64_t most = library_bytes(codec) * 2;
    info->mem->max_memory_to_use = most > INT64_MAX ? INT64_MAX : (long)most;
    if (info->out_color_space == JCS_CMYK) {
        codec->cmyk = malloc((size_t)info->output_width * 4);
        if (!codec->cmyk) return LARDER_TOO_LARGE;
    }
    codec->started = true;
    jpeg_start_decompress(info);
    return LARDER_OK;
}

// Adobe's inversion: 255 is no ink. As djpeg, Pillow and Skia do, also where no Adobe marker says so.
static void convert_cmyk(const uint8_t *from, uint8_t *to, uint32_t width) {
    for (uint32_t x = 0; x < width; x++, from += 4, to += 4) {
        uint32_t k = from[3];
        to[0] = (uint8_t)((from[0] * k + 127) / 255);
        to[1] = (uint8_t)((from[1] * k + 127) / 255);
        to[2] = (uint8_t)((from[2] * k + 127) / 255);
        to[3] = 255;
    }
}

static larder_status jpeg_codec_read(larder_decoder *decoder, uint8_t *pixels, size_t stride, uint32_t rows) {
    jpeg_codec *codec = (jpeg_codec *)decoder;
    struct jpeg_decompress_struct *info = &codec->info;
    if (setjmp(codec->jump)) return codec->status;
    const JDIMENSION first = info->output_scanline;
    while (info->output_scanline - first < rows && info->output_scanline < info->output_height) {
        monitor((j_common_ptr)info);
        JDIMENSION done = info->output_scanline - first;
        uint8_t *row = pixels + (size_t)done * stride;
        if (codec->cmyk) {
            JSAMPROW target = codec->cmyk;
            if (jpeg_read_scanlines(info, &target, 1) == 1) convert_cmyk(codec->cmyk, row, info->output_width);
        } else {
            JSAMPROW targets[8];
            JDIMENSION count = rows - done < 8 ? rows - done : 8;
            for (JDIMENSION i = 0; i < count; i++) targets[i] = row + i * stride;
            jpeg_read_scanlines(info, targets, count);
        }
    }
    return LARDER_OK;
}

larder_status jpeg_codec_open(const uint8_t *bytes, size_t count, const larder_limits *limits,
                              larder_decoder **decoder) {
    static const codec_methods methods = {jpeg_codec_start, jpeg_codec_read, jpeg_codec_close};
    jpeg_codec *codec = calloc(1, sizeof *codec);
    if (!codec) return LARDER_TOO_LARGE;
    codec->base.methods = &methods;
    codec->base.shown.limits = *limits;
    *decoder = &codec->base.shown;

    codec->info.err = jpeg_std_error(&codec->errors);
    codec->info.client_data = codec;
    codec->errors.error_exit = error_exit;
    codec->errors.emit_message = emit_message;
    codec->errors.output_message = output_message;
    if (setjmp(codec->jump)) return codec->status;

    jpeg_create_decompress(&codec->info);
    codec->source = (struct jpeg_source_mgr){
        .next_input_byte = bytes,
        .bytes_in_buffer = count,
        .init_source = init_source,
        .fill_input_buffer = fill_input_buffer,
        .skip_input_data = skip_input_data,
        .resync_to_restart = jpeg_resync_to_restart,
        .term_source = term_source,
    };
    codec->progress.progress_monitor = monitor;
    codec->info.src = &codec->source;
    codec->info.progress = &codec->progress;
    jpeg_save_markers(&codec->info, JPEG_APP0 + 2, 0xFFFF);
    jpeg_read_header(&codec->info, TRUE);
    fill_facts(codec);
    if (codec->info.jpeg_color_space == JCS_UNKNOWN) {
        codec_say(&codec->base.shown, "an unknown number of components");
        return LARDER_UNSUPPORTED;
    }
    return LARDER_OK;
}

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)
const char *larder_jpeg_version(void) { return "libjpeg-turbo " TEXT(LIBJPEG_TURBO_VERSION); }
