#!/usr/bin/env bash
# Runs tests under ThreadSanitizer and under AddressSanitizer (with LeakSanitizer), each with a build of its own:
#   sanitize.sh                      the engine, room by room, and the relay
#   sanitize.sh thread|address ...   one of the two
#   sanitize.sh --short              transports, their hostile servers, the cache above them
# A finding fails the run. Each line of `filters` is a process of its own.
set -euo pipefail
cd "$(dirname "$0")/../.."
export SWIFT_BACKTRACE=enable=no
short= kinds=
for argument; do
    case $argument in
    --short) short=yes ;;
    thread | address) kinds="$kinds $argument" ;;
    *) echo "usage: sanitize.sh [--short] [thread] [address]" >&2; exit 2 ;;
    esac
done

# What a bare continuation hands over before its task suspends is reported as a race; a Handover's is not.
if grep -rnE 'with(Checked|Unsafe)(Throwing)?Continuation' Sources Tests --include='*.swift' |
    grep -v '/Concurrency/Handover.swift:'; then
    echo "sanitize.sh: use withHandover there: ThreadSanitizer does not see through a continuation" >&2
    exit 1
fi

# 66 is what a sanitizer itself ends with; a test that failed ends with 1.
export TSAN_OPTIONS="halt_on_error=0 exitcode=66 second_deadlock_stack=1"

if [ -n "$short" ]; then
    export LARDER_ROOMS="ConcurrencyTests HTTPTests LoadingTests"
    filters=('CurlTransport|HostileWebTests/overCurl'
        '^ConcurrencyTests\.|HostileWebTests/(overURLSession|endsAProcess)|HostLimiter|CircuitBreaker|RateLimiter|RobotsTests'
        '^LoadingTests\.CachingFetcher(Sharing|Retry|Redirect)Tests')
else
    export LARDER_ROOMS="ConcurrencyTests ImageTests HTTPTests TiersTests LoadingTests"
    LARDER_ROOMS+=" WorkersTests PrefetchTests ServerTests"
    filters=('CurlTransport|HostileWebTests/overCurl' '^ConcurrencyTests\.' '^ImageTests\.' '^HTTPTests\.' '^TiersTests\.'
        '^LoadingTests\.' '^WorkersTests\.' '^PrefetchTests\.' 'RelayTests')
fi

for kind in ${kinds:-thread address}; do
    scratch=.build/${kind:0:1}san
    swift build --traits Curl --sanitize="$kind" --scratch-path "$scratch" --product larderPackageTests
    echo "== $kind: built after $SECONDS s"
    tests=$scratch/debug/larderPackageTests.xctest
    for filter in "${filters[@]}"; do
        # URLSession leaves libcurl's lists of header fields behind, and now and then a work item that it has cancelled:
        # where it runs, leaks through these two say nothing of us.
        cp Tests/Scripts/lsan.supp "$scratch/lsan.supp"
        case $filter in CurlTransport*) ;; *) printf 'leak:%s\n' libcurl libswiftDispatch >>"$scratch/lsan.supp" ;; esac
        # Not yet where a scripted transfer may hang for good at the end of its test.
        case $filter in *LoadingTests* | *RelayTests*) leaks=0 ;; *) leaks=1 ;; esac
        export ASAN_OPTIONS="detect_leaks=$leaks exitcode=66"
        export LSAN_OPTIONS="suppressions=$PWD/$scratch/lsan.supp print_suppressions=0"
        # Few at once: under ThreadSanitizer a hundred threads that need the same metadata of Swift's runtime, each for
        # the first time, were seen to wait for each other for ever.
        timeout 900 "$tests" --testing-library swift-testing --experimental-maximum-parallelization-width 6 \
            --filter "$filter" 2>&1 | tee "$scratch/log"
        # A process that a test has started ends with its own status, which the test need not look at.
        if grep -qE '(WARNING|ERROR): (Thread|Address|Leak)Sanitizer' "$scratch/log"; then
            echo "sanitize.sh: $kind: a finding in a process of $filter" >&2
            exit 66
        fi
        echo "== $kind: $filter, after $SECONDS s"
    done
done
