# The two commands are `make demo` and `make test`; both set up what they need.
SWIFT ?= swift
# What an app does not get unless it asks: Docs/Decisions/0010.
TRAITS ?= --traits Network
export SWIFT_BACKTRACE ?= enable=no

.PHONY: demo test lint format strict examples setup clean

demo: setup
	$(SWIFT) run Scorebook

test: setup
	$(SWIFT) build $(TRAITS) --build-tests
	$(SWIFT) test $(TRAITS) --skip-build --disable-xctest

# What `make test` leaves out and the gate adds.
lint:
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests Examples
	bash Scripts/tidy.sh

strict: setup
	TALLY_STRICT=1 $(SWIFT) build $(TRAITS) --build-tests --explicit-target-dependency-import-check error

examples: setup
	bash Scripts/examples.sh

format:
	$(SWIFT) format --in-place --recursive Package.swift Sources Tests Examples

setup:
	@bash Scripts/setup.sh

clean:
	rm -rf .build .build-*
