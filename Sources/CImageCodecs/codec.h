#ifndef LARDER_CODEC_H
#define LARDER_CODEC_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "CImageCodecs.h"

// What a codec does behind the larder_decoder that callers see.
typedef struct codec_methods {
    larder_status (*start)(larder_decoder *, const larder_request *);
    larder_status (*read)(larder_decoder *, uint8_t *pixels, size_t stride, uint32_t rows);
    void (*close)(larder_decoder *);
} codec_methods;

typedef struct codec_base {
    larder_decoder shown;  // first: callers hold a pointer to it
    const codec_methods *methods;
} codec_base;

larder_status jpeg_codec_open(const uint8_t *bytes, size_t count, const larder_limits *limits,
                              larder_decoder **decoder);
larder_status png_codec_open(const uint8_t *bytes, size_t count, const larder_limits *limits,
                             larder_decoder **decoder);

static inline void codec_say(larder_decoder *decoder, const char *message) {
    snprintf(decoder->message, sizeof decoder->message, "%s", message);
}

static inline void codec_warn(larder_decoder *decoder, const char *message) {
    if (decoder->warnings++ == 0) snprintf(decoder->warning, sizeof decoder->warning, "%s", message);
}

#endif
