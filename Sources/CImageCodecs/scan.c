#include <string.h>

#include "CImageCodecs.h"
#include "machines.h"

enum { BLOCK = 64 };
typedef uint8_t byte64 __attribute__((vector_size(BLOCK)));
typedef uint64_t word8 __attribute__((vector_size(BLOCK)));

// Neither a stuffed zero (T.81 F.1.2.3) nor a restart marker (B.1.1.3).
static bool ends_scan(uint8_t code) { return code != 0 && (code & 0xF8) != 0xD0; }

FOR_EACH_MACHINE
size_t larder_jpeg_scan_end(const uint8_t *bytes, size_t count) {
    if (count < 2) return 0;
    size_t last = count - 1, i = 0;
    for (; i + BLOCK < count; i += BLOCK) {
        byte64 here, next;
        memcpy(&here, bytes + i, BLOCK);
        memcpy(&next, bytes + i + 1, BLOCK);
        byte64 found = (byte64)(here == 0xFF) & (byte64)(next != 0) & (byte64)((next & 0xF8) != 0xD0);
        word8 words;
        memcpy(&words, &found, BLOCK);
        if ((words[0] | words[1] | words[2] | words[3] | words[4] | words[5] | words[6] | words[7]) != 0) break;
    }
    while (i < last && !(bytes[i] == 0xFF && ends_scan(bytes[i + 1]))) i++;
    return i;
}
