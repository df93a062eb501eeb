# The two commands are `make demo` and `make test`; both set up what they need.
SWIFT ?= swift
export SWIFT_BACKTRACE ?= enable=no

.PHONY: demo test lint format strict examples setup clean

demo: setup
	$(SWIFT) run Scorebook

test: setup
	$(SWIFT) build --build-tests
	$(SWIFT) test --skip-build --disable-xctest

# What `make test` leaves out and the gate adds.
lint:
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests Examples
	bash Scripts/tidy.sh

strict: setup
	TALLY_STRICT=1 $(SWIFT) build --build-tests --explicit-target-dependency-import-check error

examples: setup
	bash Scripts/examples.sh

format:
	$(SWIFT) format --in-place --recursive Package.swift Sources Tests Examples

setup:
	@bash Scripts/setup.sh

clean:
	rm -rf .build .build-*
