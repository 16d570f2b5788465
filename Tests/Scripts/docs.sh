#!/usr/bin/env bash
# Builds the documentation of the library with the toolchain's docc; a warning is a failure: docs.sh OUTPUT [BUILD-FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
output=$1
build=${2:-.build/debug}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tools=$(dirname "$(readlink -f "$(command -v swiftc)")")
target=$(swiftc -print-target-info | sed -n 's/.*"triple" *: *"\([^"]*\)".*/\1/p' | head -1)
flags=()
for map in Sources/C*/module.modulemap "$build"/C*.build/module.modulemap; do
    flags+=(-Xcc "-fmodule-map-file=$(realpath "$map")")
done
"$tools/swift-symbolgraph-extract" -module-name Larder -target "$target" -I "$build/Modules" "${flags[@]}" \
    -minimum-access-level public -skip-inherited-docs -output-dir "$work"
python3 - "$work/Larder.symbols.json" <<'END'
import json, sys
missing = [
    f"{symbol['location']['uri'].split('/Sources/')[-1]}:{symbol['location']['position']['line'] + 1}: "
    + ".".join(symbol["pathComponents"]) + " is not documented"
    for symbol in json.load(open(sys.argv[1]))["symbols"]
    if "docComment" not in symbol and "/Sources/Larder/" in symbol.get("location", {}).get("uri", "")
]
if missing: sys.exit("\n".join(missing))
END
# What other modules' types gain is theirs to document.
rm -f "$work"/Larder@*.json
"$tools/docc" convert Sources/Larder/Larder.docc --additional-symbol-graph-dir "$work" \
    --fallback-display-name Larder --fallback-bundle-identifier org.larder.Larder \
    --warnings-as-errors --output-path "$output"
