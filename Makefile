# make run     install what is missing, build, and do the main job on sample images
#              make run MANIFEST=urls.txt does it on your own
# make test    install what is missing, build, and run every test
# make help    the rest

SWIFT     ?= swift
MANIFEST  ?=
PREFIX    ?= /usr/local
DESTDIR   ?=
TRAITS    := --traits Curl
RELEASE   := .build/release/larder
# Swift's libraries within the program, where the toolchain has them and libstdc++ can be linked beside them
# (Documentation/decisions/static-runtime.md).
STATIC     = $(shell $(SWIFT) -print-target-info 2>/dev/null | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p' | \
             { read -r path; [ ! -d "$${path}_static/linux" ] || ! ls /usr/lib/gcc/*/*/libstdc++.so >/dev/null 2>&1 || \
               echo --static-swift-stdlib; })
export SWIFT_BACKTRACE ?= enable=no

# Debian package and the pkg-config module that shows it is there.
PACKAGES  := libpng-dev:libpng libjpeg62-turbo-dev:libjpeg libsqlite3-dev:sqlite3 libssl-dev:libcrypto \
             libxxhash-dev:libxxhash zlib1g-dev:zlib libmicrohttpd-dev:libmicrohttpd \
             libcurl4-openssl-dev:libcurl

.PHONY: help run test samples examples docs browse-test sanitize build debug install uninstall command-line storm \
        deps fuzz lint format clean

help:
	@sed -n 's/^# make /make /p; s/^#  /     /p' Makefile
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' Makefile | while IFS='|' read -r a b; do printf '%-15s %s\n' "$$a" "$$b"; done

run: build
	@if [ -n "$(MANIFEST)" ]; then \
	    $(RELEASE) prefetch --cache cache --size 256 -- "$(MANIFEST)"; \
	else \
	    $(RELEASE) demo --cache cache; \
	fi

# A process for each room: one that ends, or leaves work behind, disturbs no other.
ROOMS     := Concurrency Errors Image HTTP Tiers Loading Workers Prefetch Server Command

test: deps
	$(SWIFT) build $(TRAITS) --build-tests
	@for room in $(ROOMS); do \
	    echo "== $${room}Tests"; \
	    $(SWIFT) test $(TRAITS) --skip-build --disable-xctest --filter "^$${room}Tests\." || { \
	        echo "make: once more, because servers of tests starve on a busy machine" >&2; \
	        $(SWIFT) test $(TRAITS) --skip-build --disable-xctest --filter "^$${room}Tests\."; } || exit 1; \
	done
	Tests/Scripts/samples.sh

samples: deps ## compile every code sample of README, articles and doc comments
	$(SWIFT) build $(TRAITS) --target Larder
	Tests/Scripts/samples.sh

examples: deps ## build the programs in Examples as packages of their own
	@for package in Examples/*/Package.swift; do \
	    $(SWIFT) build --package-path "$$(dirname "$$package")" || exit 1; \
	done

docs: deps ## build the library's documentation into .build/docs; a warning fails
	$(SWIFT) build $(TRAITS) --target Larder
	Tests/Scripts/docs.sh .build/docs

browse-test: build ## drive larder browse in tmux and compare its screens
	Tests/Scripts/browse.sh $(RELEASE)

sanitize: deps ## run the engine's tests under ThreadSanitizer and AddressSanitizer
	Tests/Scripts/sanitize.sh

build: deps ## build for release
	$(SWIFT) build $(TRAITS) -c release $(STATIC) --product larder

debug: deps
	$(SWIFT) build $(TRAITS) --build-tests

install: build ## install larder, its man page and completions below PREFIX (/usr/local)
	install -D -s -m 755 $(RELEASE) $(DESTDIR)$(PREFIX)/bin/larder
	install -d $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	    $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(RELEASE) documentation --format man >$(DESTDIR)$(PREFIX)/share/man/man1/larder.1
	$(RELEASE) completions bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/larder
	$(RELEASE) completions zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_larder
	$(RELEASE) completions fish >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/larder.fish

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/larder $(DESTDIR)$(PREFIX)/share/man/man1/larder.1 \
	    $(DESTDIR)$(PREFIX)/share/bash-completion/completions/larder \
	    $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_larder \
	    $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/larder.fish

command-line: ## write Documentation/command-line.md anew, after a change of options
	$(SWIFT) run $(TRAITS) larder documentation >Documentation/command-line.md

SECONDS   ?= 300

fuzz: deps ## fuzz codecs, header parsers and what the server reads (SECONDS=300 each)
	Tests/Fuzz/run.sh $(SECONDS)
	Tests/Fuzz/server.sh $(SECONDS)

storm: deps ## kill 2,000 writers of one cache directory at random moments, and check what is left
	Benchmarks/disk-tier.sh storm

lint: ## check the formatting
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests Benchmarks Examples

format: ## mend the formatting
	$(SWIFT) format --in-place --recursive Package.swift Sources Tests Benchmarks Examples

clean: ## remove what was built
	rm -rf .build

# Installs the C libraries that are missing; where that fails, names those that it cannot have and the command. What
# libstdc++ is linked by is only wanted: without it the program is linked to the shared libraries of Swift.
deps:
	@command -v $(SWIFT) >/dev/null 2>&1 || { \
	    echo "make: the Swift toolchain (6.2 or later) is missing: see https://swift.org/install" >&2; exit 1; }; \
	missing=; command -v pkg-config >/dev/null 2>&1 || missing=pkg-config; \
	for pair in $(PACKAGES); do \
	    pkg-config --exists "$${pair#*:}" 2>/dev/null || missing="$${missing:+$$missing }$${pair%%:*}"; \
	done; \
	wanted=; ls /usr/lib/gcc/*/*/libstdc++.so >/dev/null 2>&1 || \
	    { grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release && wanted=libstdc++-12-dev; }; \
	[ -n "$$missing$$wanted" ] || exit 0; \
	if ! command -v apt-get >/dev/null 2>&1; then \
	    [ -n "$$missing" ] || exit 0; \
	    echo "make: missing packages (Debian's names): $$missing" >&2; exit 1; \
	fi; \
	install="apt-get install -y --no-install-recommends"; \
	if [ "$$(id -u)" = 0 ]; then sudo=; \
	elif command -v sudo >/dev/null 2>&1; then sudo="sudo "; \
	else \
	    [ -n "$$missing" ] || exit 0; \
	    echo "make: missing packages: $$missing" >&2; \
	    echo "make: as root, run: $$install $$missing" >&2; exit 1; \
	fi; \
	echo "make: installing $$missing $$wanted"; \
	export DEBIAN_FRONTEND=noninteractive; \
	$$sudo$$install $$missing $$wanted >/dev/null 2>&1 && exit 0; \
	$${sudo}apt-get update >/dev/null; \
	$$sudo$$install $$missing $$wanted >/dev/null 2>&1 && exit 0; \
	$$sudo$$install $$missing >/dev/null && exit 0; \
	left=; for package in $$missing; do \
	    $$sudo$$install $$package >/dev/null 2>&1 || left="$${left:+$$left }$$package"; \
	done; \
	[ -n "$$left" ] || exit 0; \
	echo "make: could not be installed: $$left" >&2; \
	echo "make: try: $$sudo$$install $$left" >&2; exit 1
