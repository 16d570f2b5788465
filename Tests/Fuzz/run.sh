#!/bin/sh
# Fuzzes the C codecs (ASan, UBSan) and the header parsers (ASan) for SECONDS each, from the corpus's small files.
# Usage: run.sh [SECONDS]; LARDER_CORPUS names the corpus.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}
corpus=${LARDER_CORPUS:-../shared/corpus}
out=.build/fuzz
mkdir -p "$out/module" "$out/seeds" "$out/codecs" "$out/headers"
find "$corpus/good" "$corpus/bad" -type f -size -40k -exec cp -n {} "$out/seeds/" \; 2>/dev/null || true

clang -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
    -ISources/CImageCodecs/include -ISources/CImageCodecs Sources/CImageCodecs/*.c Tests/Fuzz/codecs.c \
    -lpng -ljpeg -o "$out/fuzz-codecs"

cat > "$out/module/module.modulemap" <<MAP
module CImageCodecs { header "$PWD/Sources/CImageCodecs/include/CImageCodecs.h" export * }
MAP
for source in Sources/CImageCodecs/*.c; do
    clang -std=gnu11 -g -O1 -fsanitize=address -ISources/CImageCodecs/include -c "$source" \
        -o "$out/$(basename "$source").o"
done
swiftc -swift-version 6 -package-name larder -parse-as-library -g -O -use-ld=lld -sanitize=fuzzer,address -I "$out/module" \
    $(find Sources/Larder/Image Sources/Larder/Errors -name '*.swift') Tests/Fuzz/headers.swift "$out"/*.c.o \
    -lpng -ljpeg -o "$out/fuzz-headers"

options="-max_total_time=$seconds -max_len=65536 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1"
"$out/fuzz-codecs" $options -artifact_prefix="$out/codec-" "$out/codecs" "$out/seeds"
"$out/fuzz-headers" $options -artifact_prefix="$out/header-" "$out/headers" "$out/seeds"
