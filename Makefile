# The two commands are `make demo` and `make test`; both set up what they need.
SWIFT ?= swift
TEST = SWIFT="$(SWIFT)" bash Scripts/test.sh
# Traits that a build is to have: TRAITS=Network adds TCP and TLS, which an app does not get unless it asks (Docs/Decisions/0010).
TRAITS ?=
# What tests are built with beside: the faults that they plant, which no release has (Docs/Testing.md).
comma := ,
export TESTING = --traits PlantedFaults$(addprefix $(comma),$(filter-out --traits,$(TRAITS)))
export SWIFT_BACKTRACE ?= enable=no

.PHONY: demo test models models-gate crash api api-check docs docs-check lint format strict examples release-symbols test-triggers test-triggers-library test-macros test-network test-relay test-inspector show show-pictures relay-demo bench-relay bench bench-short instructions instructions-gate floors soak planted
.PHONY: install install-built uninstall embedded second-opinion fuzz sanitize coverage setup clean

demo: setup
	$(SWIFT) run $(TESTING) Scorebook

# Tests run with glibc overwriting what is freed and keeping none of it back: a use after free ends the run, also one inside SQLite,
# which no sanitizer sees. Sessions and engines have limits of time, which run also while other tests block all threads of the pool for
# minutes, so whatever syncs through one runs apart from those, and so do tests of the tool, which wait for processes.
CHECKED = GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=165
ENGINES = PantryTests|ReadmeTests|DocExamples
TIMED = TransportTests|TallySyncTests|TallyCLITests|$(ENGINES)

test: setup
	$(SWIFT) build $(TESTING) --build-tests
	$(CHECKED) $(TEST) $(TESTING) --skip-build --disable-xctest --skip '$(TIMED)'
	$(CHECKED) $(TEST) $(TESTING) --skip-build --disable-xctest --filter TransportTests
	$(CHECKED) $(TEST) $(TESTING) --skip-build --disable-xctest --filter TallySyncTests
	$(CHECKED) $(TEST) $(TESTING) --skip-build --disable-xctest --filter '$(ENGINES)'
	$(CHECKED) $(TEST) $(TESTING) --skip-build --disable-xctest --filter TallyCLITests

# The model of deleting by lives (Docs/Decisions/0024): directed scenarios, random histories, and rules left out. It needs python3 and no
# Swift. MODELS=5000 for more histories of each world. `models-gate` takes less than a minute, and notices check values that are old.
MODELS ?= 500
PYTHON ?= python3

models:
	cd Tests/Models && $(PYTHON) -B scenarios.py
	cd Tests/Models && for world in harsh ordinary window copies; do $(PYTHON) -B histories.py run $$world 1 $(MODELS) || exit 1; done
	cd Tests/Models && $(PYTHON) -B faults.py $(MODELS)

models-gate:
	cd Tests/Models && $(PYTHON) -B scenarios.py --brief
	cd Tests/Models && $(PYTHON) -B checkvalues.py | cmp - check-values.json
	cd Tests/Models && $(PYTHON) -B golden.py | cmp - ../TallyWireTests/Golden/life.hex
	cd Tests/Models && $(PYTHON) -B histories.py gate --seconds 40

# What only traits build: TCP and TLS, the relay, and macros. One build folder for all; a first build takes some minutes more. It is also the
# build of all tests without the faults that tests plant. Where libpq is, the relay has its storage on PostgreSQL.
RELAY = $(shell pkg-config --exists libpq 2>/dev/null && echo Postgres || echo Relay)
WITH_TRAITS = --traits Network,Macros,$(RELAY),Inspector --scratch-path .build-network
# SwiftPM hands several traits to the compiler in the order of a set, which changes from run to run, and then builds everything anew.
STEADY = SWIFT_DETERMINISTIC_HASHING=1
WITH_RELAY = --traits $(RELAY) --scratch-path .build-relay

test-network: setup
	$(STEADY) $(SWIFT) build $(WITH_TRAITS) --build-tests
	$(TEST) $(WITH_TRAITS) --skip-build --disable-xctest --filter NetworkTests
	$(TEST) $(WITH_TRAITS) --skip-build --disable-xctest --filter TransportTests --skip NetworkTests
	$(TEST) $(WITH_TRAITS) --skip-build --disable-xctest --filter PeerTests
	$(SWIFT) run $(WITH_TRAITS) --skip-build TwoMachines

# @Entity: what it expands to and refuses, and what it declares, in stores; and that nobody else resolves what it is made of.
test-macros: setup
	bash Scripts/plain-user.sh
	$(STEADY) $(SWIFT) build $(WITH_TRAITS) --build-tests
	$(TEST) $(WITH_TRAITS) --skip-build --disable-xctest --filter MacroTests

# The relay: its server, and the tool as server and client; where PostgreSQL is, on that too, in a private server that the tests make and
# remove.
test-relay: setup
	@bash Scripts/setup.sh relay
	$(STEADY) $(SWIFT) build $(WITH_TRAITS) --build-tests
	$(TEST) $(WITH_TRAITS) --skip-build --disable-xctest --no-parallel --filter RelayTests

# The inspector: its server, and its pages in a real browser, which is installed where that may be done and left out, with a word, elsewhere.
test-inspector: setup
	@bash Scripts/setup.sh browser
	$(STEADY) $(SWIFT) build $(WITH_TRAITS) --build-tests
	$(TEST) $(WITH_TRAITS) --skip-build --disable-xctest --filter InspectorTests
	bash Scripts/inspector-pages.sh .build-network/debug/tally

# A phone, a tablet and a relay as live processes, and an inspector over them: Docs/Inspector.md. PORT to choose one.
show: setup
	$(STEADY) $(SWIFT) build $(WITH_TRAITS) --product tally
	$(STEADY) $(SWIFT) run $(WITH_TRAITS) Scorebook show $(PORT)

# The pictures of Docs/Inspector.md, made anew.
show-pictures: setup
	@bash Scripts/setup.sh browser
	$(STEADY) $(SWIFT) build $(WITH_TRAITS) --product tally
	$(STEADY) $(SWIFT) build $(WITH_TRAITS) --product Scorebook
	bash Scripts/inspector-pages.sh .build-network/debug/tally --pictures Docs/Inspector

# A relay and three devices, each a process; the relay is killed in between.
relay-demo: setup
	$(STEADY) $(SWIFT) build $(WITH_TRAITS) --product tally
	$(STEADY) $(SWIFT) run $(WITH_TRAITS) ThreeDevices

# What a relay costs, beside what it cannot do without: FLAGS as --only push,streams, --records N, --markdown FILE.
bench-relay: setup
	@bash Scripts/setup.sh relay
	$(SWIFT) build -c release $(WITH_RELAY) --product tally
	$(SWIFT) run -c release $(WITH_RELAY) RelayBench $(FLAGS)

# What has to do with stores once more, captured by triggers as where SQLite lacks the hook. After `make test` there is nothing to build.
# Planted faults say what the histories notice, whichever way writes are captured.
TRIGGERED = TallyStoreTests|ConvergenceTests|SimulatorTests

test-triggers: test-triggers-library
	TALLY_CAPTURE=triggers $(TEST) $(TESTING) --skip-build --disable-xctest --filter RawSQLTests
	TALLY_CAPTURE=triggers $(TEST) $(TESTING) --skip-build --disable-xctest --filter TallyCLITests

# The same without the tool, which waits for processes for minutes, and without histories of raw SQL, in each of which one store uses
# triggers anyway: what the gate has time for.
test-triggers-library: setup
	$(SWIFT) build $(TESTING) --build-tests
	TALLY_CAPTURE=triggers $(TEST) $(TESTING) --skip-build --disable-xctest --filter '$(TRIGGERED)' --skip 'KnownBadVariants|DamageTests|RawSQLTests'
	TALLY_CAPTURE=triggers $(TEST) $(TESTING) --skip-build --disable-xctest --filter TallySyncTests

# The crash tests at length: Docs/CrashTests.md. FACTOR says how much more than `make test` does.
FACTOR ?= 40
crash: setup
	$(SWIFT) build $(TESTING) --build-tests
	TALLY_CRASH=$(FACTOR) nice -n 19 $(TEST) $(TESTING) --skip-build --disable-xctest --filter CrashTests

# The listing of the public API in Docs/API, made anew, and compared with what the code says.
api:
	$(SWIFT) build
	bash Scripts/api.sh

api-check:
	bash Scripts/api.sh --check

# The pages and the documentation of `import Tally` as a site in .build/docs; any warning is an error.
docs: setup
	$(SWIFT) build $(TESTING) --product Tally
	$(SWIFT) build $(TESTING) --product TallyImport
	bash Scripts/docs.sh

docs-check:
	bash Scripts/docs.sh

# What `make test` leaves out and the gate adds.
lint:
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests Examples
	bash Scripts/tidy.sh

strict: setup
	TALLY_STRICT=1 $(SWIFT) build $(TESTING) --build-tests --explicit-target-dependency-import-check error

# That the tool, built as apps build it, has no trace of the faults that tests plant.
release-symbols: setup
	$(SWIFT) build -c release --scratch-path .build-bench --product tally
	bash Scripts/release-symbols.sh .build-bench/release/tally

# The tool, its manual page and completions for bash, zsh and fish, under PREFIX; DESTDIR goes before it, for packages.
PREFIX ?= /usr/local
TOOL ?= .build-bench/release/tally
export DESTDIR PREFIX

install: setup
	$(SWIFT) build -c release --scratch-path .build-bench --product tally $(addprefix --traits ,$(filter-out --traits,$(TRAITS)))
	bash Scripts/install.sh install $(TOOL)

# The same with a TOOL that is there.
install-built:
	bash Scripts/install.sh install $(TOOL)

uninstall:
	bash Scripts/install.sh uninstall

examples: setup
	bash Scripts/examples.sh

# Release builds in a folder of their own. FLAGS: --records 10000,100000, --runs N, --only W1,W3, --json FILE, --markdown FILE,
# --external FILE, --write-rows FILE.
BENCH = $(SWIFT) run -c release --scratch-path .build-bench Benchmarks

bench: setup
	$(BENCH) $(FLAGS)

# Instructions for each row beside plain SQLite: WORKLOADS is any of insert update commit change delta again apply delete.
instructions: setup
	$(SWIFT) build -c release --scratch-path .build-bench --product Benchmarks
	bash Scripts/instructions.sh $(FLAGS) $(WORKLOADS)

# What the file formats alone cost, by a program in C: FLAGS=--time for times, beside plain SQLite.
floors: setup
	$(SWIFT) build -c release --scratch-path .build-bench --product Benchmarks
	bash Scripts/floors.sh $(FLAGS) $(WORKLOADS)

# Fails on what needs more than Scripts/instructions-limits.txt accepts.
instructions-gate: setup
	$(SWIFT) build -c release --scratch-path .build-bench --product Benchmarks
	bash Scripts/instructions.sh --gate

# Fails only on what is more than twice its target, or than what is accepted. One round says that all is well; where it does not, three
# decide, since a busy moment can spoil one.
SHORT = --records 50000 --no-memory --gate $(FLAGS)

bench-short: setup
	$(BENCH) --runs 1 $(SHORT) || $(BENCH) --runs 3 $(SHORT)

# The core as Embedded Swift and WebAssembly, compared with an ordinary build.
embedded:
	bash Scripts/embedded.sh

# A model of what a person must see, in Python, against the tool: Docs/Fuzzing.md. SECONDS, and FLAGS as --seed 7.
second-opinion: setup
	bash Scripts/second-opinion.sh $(or $(SECONDS),60) $(FLAGS)

# Coverage-guided fuzzing of every decoder, for SECONDS in all; TARGETS limits it.
fuzz: setup
	bash Scripts/fuzz.sh $(or $(SECONDS),60) $(TARGETS)

sanitize: setup
	bash Scripts/sanitize.sh thread
	bash Scripts/sanitize.sh address

coverage: setup
	bash Scripts/coverage.sh

# Simulated histories for as long as you give it: `make soak SOAK_MINUTES=10`, or SOAK_SECONDS. It prints what fails with a seed;
# `TALLY_SEED=n make soak FLAGS="--tier world"` plays that one again. More FLAGS: --first N, --count N.
SOAK = $(SWIFT) run $(TESTING) -c release --scratch-path .build-soak Soak
SOAK_SECONDS ?= $(if $(SOAK_MINUTES),$(shell expr $(SOAK_MINUTES) \* 60),60)

soak: setup
	nice -n 19 $(SOAK) --seconds $(SOAK_SECONDS) $(FLAGS)

# Puts in each planted fault, counts the seeds until it is noticed, and writes the table of Docs/Testing.md.
planted: setup
	SOAK="$(SOAK)" bash Scripts/planted.sh

format:
	$(SWIFT) format --in-place --recursive Package.swift Sources Tests Examples

setup:
	@bash Scripts/setup.sh

clean:
	rm -rf .build .build-*
