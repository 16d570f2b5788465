// libFuzzer: every byte string through both codecs, with small limits. Built by run.sh with ASan and UBSan.
#include <stdlib.h>

#include "CImageCodecs.h"

static void decode(larder_codec codec, const uint8_t *bytes, size_t count, bool scaled) {
    const larder_limits limits = {
        .max_pixels = 1 << 20, .max_bytes = 32 << 20, .max_metadata = 1 << 20, .max_scans = 20, .abort = NULL};
    const larder_request request = {
        .min_width = scaled ? 16 : 0, .min_height = scaled ? 16 : 0, .gray = scaled, .whole = true, .fast = scaled};
    larder_decoder *decoder = NULL;
    if (larder_decoder_open(codec, bytes, count, &limits, &decoder) == LARDER_OK &&
        larder_decoder_start(decoder, &request) == LARDER_OK) {
        size_t stride = (size_t)decoder->out_width * decoder->channels;
        uint8_t *pixels = malloc(stride * decoder->out_height);
        if (pixels && larder_decoder_read(decoder, pixels, stride, decoder->out_height) == LARDER_OK) {
            larder_picture picture = {.pixels = pixels, .width = decoder->out_width, .height = decoder->out_height,
                                      .channels = decoder->channels, .stride = stride,
                                      .icc = decoder->facts.icc, .icc_length = decoder->facts.icc_length};
            uint8_t *out = NULL;
            size_t length = 0;
            if (picture.width * picture.height < 1 << 12) {
                larder_jpeg_encode(&picture, 80, false, &out, &length);
                larder_free(out);
                larder_png_encode(&picture, true, &out, &length);
                larder_free(out);
            }
        }
        free(pixels);
    }
    larder_decoder_close(decoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    // The signature tells which codec to try; the last byte how.
    bool scaled = count > 0 && bytes[count - 1] & 1;
    decode(count > 1 && bytes[0] == 0xFF ? LARDER_JPEG : LARDER_PNG, bytes, count, scaled);
    return 0;
}
