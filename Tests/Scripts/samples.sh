#!/usr/bin/env bash
# Compiles every Swift sample of the README, the articles and the doc comments, and the programs in Examples, against the
# library as it was built for the tests: samples.sh [BUILD-FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-.build/debug}
command -v python3 >/dev/null || { echo "samples.sh: the samples were not compiled: python3 is missing" >&2; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

flags=(-typecheck -swift-version 6 -I "$build/Modules")
for map in Sources/C*/module.modulemap "$build"/C*.build/module.modulemap; do
    flags+=(-Xcc "-fmodule-map-file=$(realpath "$map")")
done
# Only what is public may be used: neither the package's name nor @testable is given.
python3 Tests/Scripts/samples.py "$work"
swiftc "${flags[@]}" -suppress-warnings -parse-as-library -module-name Samples "$work/Plain.swift"
swiftc "${flags[@]}" -suppress-warnings -parse-as-library -module-name InnerSamples "$work/Inner.swift"
for program in Examples/*/Sources/*; do
    swiftc "${flags[@]}" -warnings-as-errors -module-name "$(basename "$program")" "$program"/*.swift
done

# The list renderer of larder browse gets along with what is public.
swiftc "${flags[@]}" -warnings-as-errors -parse-as-library -module-name Browse Sources/LarderCommand/Browse/*.swift

# The list that the README shows is the one that larder browse has.
list() { sed -n '/^final class BrowseList/,/^}/p' "$1"; }
diff <(list README.md) <(list Sources/LarderCommand/Browse/BrowseList.swift)
