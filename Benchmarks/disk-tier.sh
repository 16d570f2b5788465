#!/bin/sh
# The disk tier with real processes: a million entries and what they cost, a storm of kills, a crowd on one limit.
#
#     Benchmarks/disk-tier.sh [all|bench|storm|crowd]
#
# A million entries want 5 GB in DIRECTORY (one below TMPDIR by default, removed at the end); COUNT, KILLS and
# CROWD_SECONDS make it smaller. Ends with 1 where a target is missed or anything but whole entries is found.
set -eu
cd "$(dirname "$0")/.."
what=${1:-all}
count=${COUNT:-1000000}
directory=${DIRECTORY:-$(mktemp -d "${TMPDIR:-/tmp}/larder-disk-XXXXXX")}
[ -n "${DIRECTORY:-}" ] || trap 'rm -rf "$directory"' EXIT
mkdir -p "$directory/million"

swift build ${TRAITS---traits Curl} -c release --product DiskExercise >&2
exercise=.build/release/DiskExercise
status=0
# Or the allocator gives memory back and takes it anew each time, on whichever side has bad luck.
export MALLOC_TRIM_THRESHOLD_=67108864 MALLOC_MMAP_THRESHOLD_=33554432

bench() {
    # Filled once: another run goes on with what is there.
    [ -e "$directory/million/filled" ] || {
        "$exercise" fill --directory "$directory/million/cache" --count "$count" >&2
        touch "$directory/million/filled"
    }
    # What was written is on the device before anything is measured.
    "$exercise" fill --directory "$directory/million/cache" --count 0 --old 20000 >&2
    sync
    "$exercise" bench --directory "$directory/million/cache" --count "$count" || status=1
    # A small cache, all of it on the device; then one of which nothing is: the cost of the calls alone. Nothing is
    # removed in between: ext4 looks at inodes that were freed a moment ago again and again before it takes others.
    for old in 20000 0; do
        small=$directory/small-$old-$$
        "$exercise" fill --directory "$small/cache" --count 20000 --old $old >&2
        [ $old = 0 ] || sync
        "$exercise" bench --directory "$small/cache" --count 20000 --opening 0 --hits 0 --room 1 || status=1
    done
}

storm() {
    "$exercise" storm --directory "$directory/storm" --kills "${KILLS:-2000}" --processes 4 || status=1
}

crowd() {
    "$exercise" crowd --directory "$directory/crowd" --processes 8 --seconds "${CROWD_SECONDS:-30}" || status=1
}

case $what in
all) bench; storm; crowd ;;
bench | storm | crowd) "$what" ;;
*) sed -n 's/^#     //p' "$0" >&2; exit 2 ;;
esac
exit $status
