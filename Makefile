# The two commands are `make demo` and `make test`; both set up what they need.
SWIFT ?= swift
# TRAITS="--traits Network" adds TCP and TLS, which an app does not get unless it asks: Docs/Decisions/0010.
export TRAITS ?=
export SWIFT_BACKTRACE ?= enable=no

.PHONY: demo test lint format strict examples test-network bench bench-short setup clean

demo: setup
	$(SWIFT) run Scorebook

test: setup
	$(SWIFT) build $(TRAITS) --build-tests
	$(SWIFT) test $(TRAITS) --skip-build --disable-xctest

# With what only the trait Network builds: TCP and TLS. A first build takes some minutes more.
test-network: setup
	$(SWIFT) build --traits Network --scratch-path .build-network --build-tests
	$(SWIFT) test --traits Network --scratch-path .build-network --skip-build --disable-xctest --filter TransportTests
	$(SWIFT) test --traits Network --scratch-path .build-network --skip-build --disable-xctest --filter PeerTests

# What `make test` leaves out and the gate adds.
lint:
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests Examples
	bash Scripts/tidy.sh

strict: setup
	TALLY_STRICT=1 $(SWIFT) build $(TRAITS) --build-tests --explicit-target-dependency-import-check error

examples: setup
	bash Scripts/examples.sh

# Release builds in a folder of their own. FLAGS: --records N, --runs N, --only W1,W3, --growth, --json FILE, --markdown FILE.
BENCH = $(SWIFT) run -c release --scratch-path .build-bench Benchmarks

bench: setup
	$(BENCH) $(FLAGS)

# Fails only on what is more than twice its target.
bench-short: setup
	$(BENCH) --records 20000 --runs 3 --gate $(FLAGS)

format:
	$(SWIFT) format --in-place --recursive Package.swift Sources Tests Examples

setup:
	@bash Scripts/setup.sh

clean:
	rm -rf .build .build-*
