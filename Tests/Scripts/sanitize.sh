#!/usr/bin/env bash
# Runs tests under ThreadSanitizer and under AddressSanitizer (with LeakSanitizer), each with a build of its own:
#   sanitize.sh                      every room of the engine, and the relay
#   sanitize.sh thread|address ...   one of the two
#   sanitize.sh --short              transports, their hostile servers, the cache above them
# ThreadSanitizer does not see a continuation that is resumed before its task suspends, and may report what is handed
# over by it as a race: read such a finding before it is believed.
# A finding fails the run. Room by room, each in a process of its own.
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
# 66 is what a sanitizer itself ends with; a test that failed ends with 1.
export TSAN_OPTIONS="halt_on_error=0 exitcode=66 second_deadlock_stack=1"

if [ -n "$short" ]; then
    export LARDER_ROOMS="HTTPTests LoadingTests"
    filters=('CurlTransport|HostileWebTests/overCurl'
        'HostileWebTests/(overURLSession|endsAProcess)|HostLimiter|CircuitBreaker|RateLimiter|RobotsTests'
        '^LoadingTests\.CachingFetcher(Sharing|Retry|Redirect)Tests')
else
    export LARDER_ROOMS="ConcurrencyTests ImageTests HTTPTests TiersTests LoadingTests ServerTests"
    filters=('^ConcurrencyTests\.' '^ImageTests\.' 'CurlTransport|HostileWebTests/overCurl' '^HTTPTests\.' '^TiersTests\.' '^LoadingTests\.' 'RelayTests')
fi

for kind in ${kinds:-thread address}; do
    scratch=.build/${kind:0:1}san
    swift build --traits Curl --sanitize="$kind" --scratch-path "$scratch" --product larderPackageTests
    tests=$scratch/debug/larderPackageTests.xctest
    for filter in "${filters[@]}"; do
        echo "== ${kind}: $filter"
        # URLSession leaves libcurl's lists of header fields behind: where it runs, libcurl's leaks say nothing of us.
        cp Tests/Scripts/lsan.supp "$scratch/lsan.supp"
        case $filter in CurlTransport*) ;; *) echo "leak:libcurl" >>"$scratch/lsan.supp" ;; esac
        # What sleeps by a test's clock that nobody turns any more is never released.
        case $filter in *LoadingTests* | *RelayTests*) leaks=0 ;; *) leaks=1 ;; esac
        export ASAN_OPTIONS="detect_leaks=$leaks exitcode=66"
        export LSAN_OPTIONS="suppressions=$PWD/$scratch/lsan.supp print_suppressions=0"
        # Few at once: under ThreadSanitizer a hundred threads that need the same metadata of Swift's runtime, each for
        # the first time, were seen to wait for each other for ever.
        timeout 900 "$tests" --testing-library swift-testing --experimental-maximum-parallelization-width 6 --filter "$filter"
    done
done
