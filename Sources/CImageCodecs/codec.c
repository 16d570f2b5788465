#include "codec.h"

larder_status larder_decoder_open(larder_codec codec, const uint8_t *bytes, size_t count,
                                  const larder_limits *limits, larder_decoder **decoder) {
    *decoder = NULL;
    larder_status status = codec == LARDER_JPEG ? jpeg_codec_open(bytes, count, limits, decoder)
                                                : png_codec_open(bytes, count, limits, decoder);
    if (status != LARDER_OK) return status;
    const larder_facts *facts = &(*decoder)->facts;
    // 32 bits each: the product cannot overflow 64.
    if ((uint64_t)facts->width * facts->height > limits->max_pixels) {
        codec_say(*decoder, "more pixels than the limit allows");
        return LARDER_TOO_LARGE;
    }
    return LARDER_OK;
}

larder_status larder_decoder_start(larder_decoder *decoder, const larder_request *request) {
    return ((codec_base *)decoder)->methods->start(decoder, request);
}

larder_status larder_decoder_read(larder_decoder *decoder, uint8_t *pixels, size_t stride, uint32_t rows) {
    return ((codec_base *)decoder)->methods->read(decoder, pixels, stride, rows);
}

void larder_decoder_close(larder_decoder *decoder) {
    if (decoder) ((codec_base *)decoder)->methods->close(decoder);
}

void larder_free(uint8_t *bytes) { free(bytes); }

void larder_flag_raise(int32_t *flag) { __atomic_store_n(flag, 1, __ATOMIC_RELEASE); }

bool larder_flag_is_raised(const int32_t *flag) { return flag && __atomic_load_n(flag, __ATOMIC_ACQUIRE) != 0; }
