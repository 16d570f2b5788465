#!/usr/bin/env bash
# Fuzzes the server's router and parsers under ASan: Tests/Fuzz/server.sh [SECONDS], 300 by default.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-300}
out=.build/fuzz/server
mkdir -p "$out/corpus"
engine=(Sources/Larder/Concurrency/{Timestamp,ThreadSlot}.swift Sources/Larder/HTTP/{HTTPFields,HTTPDate,FieldReader}.swift
    Sources/Larder/Tiers/{CacheKey,SHA256}.swift Sources/Larder/Image/{ImageFormat,FormatSniffer,MarkupScanner}.swift
    Sources/Larder/Errors/*.swift Tests/Fuzz/StoredEntryStub.swift)
server=($(find Sources/LarderServer/Requests Sources/LarderServer/Access -name '*.swift')
    Sources/LarderServer/Answers/{Answer,JSONAnswer,Problem,ByteRange,Preconditions,FormatNegotiation}.swift
    Tests/ServerTests/FuzzedRequest.swift Tests/Fuzz/ServerFuzz.swift)
common=(-O -sanitize=fuzzer,address -parse-as-library -swift-version 6 -package-name larder -I Sources/CCrypto -I "$out")
swiftc "${common[@]}" -emit-library -static -emit-module -module-name Larder -emit-module-path "$out/Larder.swiftmodule" \
    -o "$out/libLarder.a" "${engine[@]}"
swiftc "${common[@]}" -module-name ServerFuzz "${server[@]}" -L "$out" -lLarder -lcrypto -o "$out/fuzz"
printf '\0/image?url=http%%3A%%2F%%2Fe.com%%2Fa&w=16' >"$out/corpus/image"
printf '\0/unsafe/fit-in/16x16/filters:quality(3)/http://e.com/a' >"$out/corpus/thumbor"
printf '\0/files/ab/cdef0123456789abcdef0123456789.jpg?w=3' >"$out/corpus/file"
printf '\0/api/entries?offset=1&limit=2&sort=-size&state=failed' >"$out/corpus/list"
printf '\1abytes=0-9' >"$out/corpus/range"
printf '\2-30x40/smart/filters:format(png)/https%%3A//e.com' >"$out/corpus/path"
printf '\3W/"abc", "def"' >"$out/corpus/tags"
printf '\4[::1]:80' >"$out/corpus/host"
printf '\5Host:a\nContent-Length:0' >"$out/corpus/fields"
"$out/fuzz" -max_total_time="$seconds" -max_len=600 -artifact_prefix="$out/" -print_final_stats=1 "$out/corpus"
