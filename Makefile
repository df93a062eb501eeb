# Three commands test everything (Docs/Testing.md): `make test` in minutes, `.ci/run` before a change lands, `make long` by night. Each
# sets up what it needs.
SWIFT ?= swift
# The traits of a build: TRAITS=Network adds TCP and TLS, which an app gets only on request (Docs/Decisions/0010); TRAITS=all enables all
# of them, in a build folder of its own.
TRAITS ?=
comma := ,
# Where libpq is installed, the relay includes its storage on PostgreSQL.
RELAY = $(shell pkg-config --exists libpq 2>/dev/null && echo Postgres || echo Relay)
# Compiling whole modules makes a clean build a fifth cheaper than compiling single files. An index for editors, which such a build does
# not need, would take a third more. INCREMENTAL=1 is for rebuilding after each change of a file. Both use the same folder, and switching
# between them rebuilds everything.
PROCESSORS := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
WHOLE = $(if $(INCREMENTAL),,--disable-index-store $(addprefix -Xswiftc ,-wmo -num-threads $(PROCESSORS)))
# On Linux Swift's toolchains include lld, which links in half the processor time of their default linker.
LINKER := $(if $(filter Linux,$(shell uname -s)),$(if $(shell command -v ld.lld 2>/dev/null),-Xswiftc -use-ld=lld))
ALL = --traits PlantedFaults,Network,Macros,$(RELAY),Inspector,Spaces --scratch-path .build-all $(WHOLE) $(LINKER)
# Tests are built with the faults that they plant, which no release has (Docs/PlantedFaults.md).
ifeq ($(TRAITS),all)
export TESTING = $(ALL)
export BUILD = .build-all
else
export TESTING = --traits PlantedFaults$(addprefix $(comma),$(filter-out --traits,$(TRAITS))) $(WHOLE) $(LINKER)
export BUILD = .build
endif
# SwiftPM passes several traits to the compiler in the order of a set. The order changes from run to run, and then everything is rebuilt.
STEADY = SWIFT_DETERMINISTIC_HASHING=1
export TALLY_TESTS = 1
# STRICT=1: a warning in our own code is an error, and imported modules must be declared as dependencies.
ifdef STRICT
export TALLY_STRICT = 1
CHECKED = --explicit-target-dependency-import-check error
endif
# BUILT=1: everything that a command needs has already been built, as in the gate.
BUILD_TESTS = $(if $(BUILT),@true,$(STEADY) $(SWIFT) build $(TESTING) --build-tests $(CHECKED))
BUILD_ALL = $(if $(BUILT),@true,$(STEADY) $(SWIFT) build $(ALL))
RELEASE = $(if $(BUILT),@true,$(SWIFT) build -c release --scratch-path .build-bench)
TEST = env SWIFT="$(SWIFT)" BUILD_FLAGS="$(TESTING)" bash Scripts/test.sh
TEST_ALL = env SWIFT="$(SWIFT)" BUILD_FLAGS="$(ALL)" bash Scripts/test.sh
export SWIFT_BACKTRACE ?= enable=no
export BUILT

.PHONY: demo test run-tests build-tests build-release long crash simulate planted planted-check soak models models-gate space-sets
.PHONY: api api-check docs docs-check lint format strict examples release-symbols test-triggers test-macros test-network test-relay
.PHONY: test-inspector relay-tests relay-proxies container demos show show-pictures relay-demo bench-relay relay-load bench bench-short instructions instructions-gate walk floors
.PHONY: install install-built uninstall embedded other-tools old-builds second-opinion fuzz sanitize coverage setup setup-all clean

demo: setup
	$(SWIFT) run $(TESTING) Scorebook

# The tests that a developer waits for. ONLY=RawSQLTests runs only the tests, suites or targets of that name.
test: build-tests run-tests

build-tests: setup
	$(BUILD_TESTS)

# The tests run in several processes, one test at a time in each: sessions and engines have time limits, and this way no test takes the
# threads of another. Long tests, crash tests, and those of the relay's and the inspector's servers have commands of their own.
ELSEWHERE = CrashTests|RelayTests|InspectorTests
SERVERS = TransportTests|PantryTests|ReadmeTests|DocExamples

run-tests:
ifdef ONLY
	$(TEST) only: --no-parallel --filter '$(ONLY)'
else
	$(TEST) store: --no-parallel --filter 'TallyStoreTests.[A-L]' -- store-2: --no-parallel --filter 'TallyStoreTests.[M-Z]' \
	  -- tool: --no-parallel --filter 'TallyCLITests.[A-L]' -- tool-2: --no-parallel --filter 'TallyCLITests.[M-Z]' \
	  -- sync: --no-parallel --filter TallySyncTests -- servers: --no-parallel --filter '$(SERVERS)' \
	  -- others: --no-parallel --skip 'TallyStoreTests|TallyCLITests|TallySyncTests|$(SERVERS)|$(ELSEWHERE)'
endif

# Everything that takes long: Docs/Testing.md. It first prints what it will do and how long that takes, and resumes where it was stopped.
# HOURS=4 gives it more time, STEPS=soak runs a part.
long: setup-all
	bash Scripts/long.sh

# The models of deleting by lives (Docs/Contract.md, section 11) and of spaces: directed scenarios, random histories, and rules left out. They need
# python3 and no Swift. MODELS=5000 runs more histories of each world. `models-gate` takes some thirty seconds, and detects outdated check values.
MODELS ?= 500
PYTHON ?= python3

models:
	cd Tests/Models && $(PYTHON) -B scenarios.py
	cd Tests/Models && for world in harsh ordinary window copies; do $(PYTHON) -B histories.py run $$world 1 $(MODELS) || exit 1; done
	cd Tests/Models && for world in harsh ordinary window copies; do $(PYTHON) -B values.py run $$world 1 $(MODELS) || exit 1; done
	cd Tests/Models && $(PYTHON) -B texts.py run 1 $(MODELS)
	cd Tests/Models && $(PYTHON) -B faults.py $(MODELS)
	cd Tests/Models && $(PYTHON) -B spaces.py sealed --histories $$((6 * $(MODELS)))
	cd Tests/Models && $(PYTHON) -B spaces.py sealed --histories $(MODELS) --start 101000 --steps 200
	cd Tests/Models && $(PYTHON) -B spaces.py faults --histories $$((2 * $(MODELS)))

models-gate:
	cd Tests/Models && $(PYTHON) -B scenarios.py --brief
	cd Tests/Models && $(PYTHON) -B checkvalues.py | cmp - check-values.json
	cd Tests/Models && $(PYTHON) -B valuechecks.py | cmp - value-checks.json
	cd Tests/Models && $(PYTHON) -B textchecks.py | cmp - text-checks.json
	cd Tests/Models && $(PYTHON) -B golden.py | cmp - ../TallyWireTests/Golden/life.hex
	cd Tests/Models && $(PYTHON) -B histories.py gate --seconds 10
	cd Tests/Models && $(PYTHON) -B values.py gate --seconds 5
	cd Tests/Models && $(PYTHON) -B texts.py gate
	cd Tests/Models && $(PYTHON) -B spacesets.py 40 | cmp - space-sets.json
	cd Tests/Models && $(PYTHON) -B spaces.py sealed --histories 250

# Compares what sets of records mean in Swift and in the model of spaces: SETS histories with four sets each, from FIRST.
SETS ?= 2500
FIRST ?= 50000
space-sets: build-tests
	$(PYTHON) -B Tests/Models/spacesets.py $(SETS) --start $(FIRST) >$(BUILD)/space-sets.json
	TALLY_SPACE_SETS=$(BUILD)/space-sets.json $(TEST) sets: --no-parallel --filter MembershipSetTests

# Tests of what only traits build: TCP and TLS, the relay, the inspector and macros. They share one build folder; the first build takes some
# minutes more.
test-network: setup
	$(BUILD_ALL) --build-tests
	$(TEST_ALL) network: --no-parallel --filter TransportTests -- peers: --no-parallel --filter PeerTests
	.build-all/debug/TwoMachines

# Tests of @Entity: its expansions, its refusals, and its declarations in stores; also that other apps do not resolve its dependencies.
test-macros: setup
	bash Scripts/plain-user.sh
	$(BUILD_ALL) --build-tests
	$(TEST_ALL) macros: --no-parallel --filter MacroTests

# Tests of the relay: its server, and the tool as server and client. Where PostgreSQL is installed they also run on that, in a private
# server that the tests create and remove, and behind each proxy that is installed.
test-relay: setup
	@bash Scripts/setup.sh relay
	@bash Scripts/setup.sh proxies
	$(BUILD_ALL) --build-tests
	$(MAKE) relay-tests relay-proxies

# These tests mostly wait, so they run in several processes. Tests of crowds, of a network that goes away, and those that take longest have
# one each.
CROWDS = (SlowPeer|UnreadAnswer)Tests
APART = NetworkDownTests
LONGEST = Relay(World|Tool)Tests

relay-tests:
	PLAIN_MALLOC=1 $(TEST_ALL) relay-crowds: --no-parallel --filter 'RelayTests.$(CROWDS)' \
	  -- relay-network: --no-parallel --filter 'RelayTests.$(APART)' -- relay: --no-parallel --filter 'RelayTests.[A-L]' \
	  -- relay-2: --no-parallel --filter 'RelayTests.[M-Q]' --skip 'RelayTests.$(APART)' \
	  -- relay-3: --no-parallel --filter RelayTests --skip 'RelayTests.([A-Q]|$(CROWDS)|$(LONGEST))' \
	  -- relay-4: --no-parallel --filter 'RelayTests.$(LONGEST)'

relay-proxies:
	bash Scripts/relay-proxies.sh .build-all/debug/tally

# Tests of the inspector: its server, and its pages in a real browser. The browser is installed where that is allowed; elsewhere its tests
# are left out, with a message.
test-inspector: setup
	@bash Scripts/setup.sh browser
	$(BUILD_ALL) --build-tests
	PLAIN_MALLOC=1 $(TEST_ALL) inspector: --no-parallel --filter InspectorTests
	bash Scripts/inspector-pages.sh .build-all/debug/tally

# A phone, a tablet and a relay as live processes, and an inspector over them: Docs/Inspector.md. PORT chooses a port.
show: setup
	@echo "show: building the tool and Scorebook with all traits. The first time that takes some minutes, ten and more on two cores; after"
	@echo "show: that some seconds. Then an address is printed, to be opened in a browser on this machine."
	$(BUILD_ALL) --product tally
	$(BUILD_ALL) --product Scorebook
	.build-all/debug/Scorebook show $(PORT)

# Regenerates the pictures of Docs/Inspector.md.
show-pictures: setup
	@bash Scripts/setup.sh browser
	$(BUILD_ALL) --product tally
	$(BUILD_ALL) --product Scorebook
	bash Scripts/inspector-pages.sh .build-all/debug/tally --pictures Docs/Inspector

# Builds the container file of a relay where docker or podman is installed; otherwise runs its steps in an empty root.
container: setup
	bash Scripts/container.sh

# A relay and three devices, each a process; the relay is killed in between.
relay-demo: setup
	$(BUILD_ALL) --product tally
	$(BUILD_ALL) --product ThreeDevices
	.build-all/debug/ThreeDevices

# Every program that shows something, as the gate runs them.
demos: examples relay-demo

# The cost of a relay, beside the cost of what it cannot do without. FLAGS: --only push,streams, --records N, --markdown FILE.
WITH_RELAY = --traits $(RELAY) --scratch-path .build-relay

bench-relay: setup
	@bash Scripts/setup.sh relay
	$(SWIFT) build -c release $(WITH_RELAY) --product tally
	$(SWIFT) run -c release $(WITH_RELAY) RelayBench $(FLAGS)

# One table of a relay under load, with its floor in the same run: Docs/Benchmarks/relay.md. It takes some minutes and uses loopback only.
# FLAGS: --appends N, --streams N, --returning N, --assets MB (1000 for the size of the target), --only assets, --markdown FILE.
relay-load: setup
	@bash Scripts/setup.sh relay
	$(SWIFT) build -c release $(WITH_RELAY) --product tally
	$(SWIFT) run -c release $(WITH_RELAY) RelayBench --load $(FLAGS)

# All tests of stores once more, with capture by triggers only, as where SQLite lacks the hook.
test-triggers: build-tests
	TALLY_CAPTURE=triggers $(TEST) store: --no-parallel --filter TallyStoreTests -- sync: --no-parallel --filter TallySyncTests \
	  -- tool: --no-parallel --filter TallyCLITests -- histories: --no-parallel --filter 'ConvergenceTests|SimulatorTests'

# The crash tests: Docs/CrashTests.md. FACTOR sets how many times as much runs as in the gate.
FACTOR ?= 40
DISKS = CrashTests.(CopiedDisk|FullDisk|MachineStory|SimulatedDisk|StoreOnDisk)Tests

crash: build-tests
	TALLY_EFFORT=$(FACTOR) nice -n 19 $(TEST) disks: --no-parallel --filter '$(DISKS)' \
	  -- processes: --no-parallel --filter CrashTests --skip '$(DISKS)'

# Regenerates the listing of the public API in Docs/API; api-check compares it with the code.
api: setup
	$(STEADY) $(SWIFT) build $(TESTING)
	bash Scripts/api.sh

# Also checks whether the views that only Apple's systems compile fit SwiftUI's declarations of a view.
api-check:
	bash Scripts/api.sh --check
	bash Scripts/apple-views.sh

# Builds the pages, the documents of Docs and the reference of every module as a site in .build/docs. Any warning is an error, and so is a
# broken link. BASE=NAME is for a site that is not at the root of its host. `docs-check` builds the site from the existing build.
docs: setup
	$(BUILD_ALL)
	BUILD=.build-all bash Scripts/docs.sh

docs-check:
	bash Scripts/docs.sh

# Checks that `make test` leaves out and the gate adds.
lint:
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests Examples
	bash Scripts/tidy.sh

strict:
	$(MAKE) build-tests STRICT=1

# Checks that the tool, built as apps build it, has no trace of the faults that tests plant.
release-symbols: setup
	$(RELEASE) --product tally
	bash Scripts/release-symbols.sh .build-bench/release/tally

# Installs the tool, its manual page and completions for bash, zsh and fish under PREFIX, which DESTDIR precedes for packages.
PREFIX ?= /usr/local
TOOL ?= .build-bench/release/tally
export DESTDIR PREFIX

install: setup
	$(SWIFT) build -c release --scratch-path .build-bench --product tally $(addprefix --traits ,$(filter-out --traits,$(TRAITS)))
	bash Scripts/install.sh install $(TOOL)

# The same with an existing TOOL.
install-built:
	bash Scripts/install.sh install $(TOOL)

uninstall:
	bash Scripts/install.sh uninstall

examples: setup
	bash Scripts/examples.sh

# Benchmarks, from release builds in a folder of their own. FLAGS: --records 10000,100000, --runs N, --only W1,W3, --json FILE,
# --markdown FILE, --external FILE, --write-rows FILE.
BENCH = .build-bench/release/Benchmarks

bench: setup
	$(RELEASE) --product Benchmarks
	$(BENCH) $(FLAGS)

# Counts instructions per row, beside plain SQLite. WORKLOADS: any of those in Scripts/instructions-limits.txt.
instructions: setup
	$(RELEASE) --product Benchmarks
	bash Scripts/instructions.sh $(FLAGS) $(WORKLOADS)

# Counts the files that one update, one synced change, one delete and one opening run through. FLAGS='--files "one update"' names them.
walk: setup
	$(RELEASE) --product Benchmarks
	python3 Scripts/walk.py $(FLAGS)

# Measures the cost of the file formats alone, with a program in C. FLAGS=--time gives times, beside plain SQLite.
floors: setup
	$(RELEASE) --product Benchmarks
	bash Scripts/floors.sh $(FLAGS) $(WORKLOADS)

# Fails if a workload needs more instructions than Scripts/instructions-limits.txt accepts.
instructions-gate: setup
	$(RELEASE) --product Benchmarks
	bash Scripts/instructions.sh --gate

# Fails only if a figure is more than twice its target or, where it is known to miss that, more than twice the accepted value. One round
# that passes is enough; otherwise three rounds decide, since a busy moment can spoil one.
SHORT = --records 50000 --no-memory --gate $(FLAGS)

bench-short: setup
	$(RELEASE) --product Benchmarks
	$(BENCH) --runs 1 $(SHORT) || $(BENCH) --runs 3 $(SHORT)

# The core as Embedded Swift and WebAssembly, compared with an ordinary build.
embedded:
	bash Scripts/embedded.sh

# Changes a store's tables with sqlite-utils, Alembic and peewee themselves; they are installed into a temporary folder.
other-tools: setup
	$(SWIFT) build $(TESTING) --product tally
	bash Scripts/other-tools.sh

# Lets stores of an older build and of this one exchange in every order. SEED=7 plays the same random histories again, HISTORIES=400 plays
# more of them, ONLY='order 0123' a part.
old-builds: setup
	bash Scripts/old-builds.sh

# Compares the tool with a model, in Python, of what a person must see: Docs/Fuzzing.md. SECONDS sets the time; FLAGS: --seed 7.
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

# Runs simulated histories for as long as you like: `make soak SOAK_MINUTES=10`, or SOAK_SECONDS. It prints each failure with its seed;
# `TALLY_SEED=n make soak FLAGS="--tier world"` plays that one again. More FLAGS: --first N, --count N.
SOAK_BUILD = --traits PlantedFaults -c release --scratch-path .build-soak
SOAK = $(SWIFT) run $(SOAK_BUILD) Soak
SOAK_SECONDS ?= $(if $(SOAK_MINUTES),$(shell expr $(SOAK_MINUTES) \* 60),60)

soak: setup
	nice -n 19 $(SOAK) --seconds $(SOAK_SECONDS) $(FLAGS)

# The seeds of each tier that the gate plays, in its release build. They are the same each time.
SEEDS = --count 15 --count core=2000 --count forged=1000 --count store=100 --count copies=100 --count seeds=100 --count world=40 \
  --count relay=40 --count rawsql=50 --count shred=20 --count counters=1000 --count extrema=500 --count order=100 \
  --count cloudkit=40 --count assets=30 --count lens=150

simulate: setup
	$(RELEASE) --product Soak
	.build-bench/release/Soak $(SEEDS) $(FLAGS)

# Checks in the debug build that planted faults are noticed: all of them, or a part, such as PART=3/8.
planted-check: setup
	$(if $(BUILT),@true,$(STEADY) $(SWIFT) build $(TESTING) --product Soak)
	$(BUILD)/debug/Soak planted $(addprefix --part ,$(PART)) $(FLAGS)

# Enables each planted fault, counts the seeds until it is noticed, and writes the table of Docs/PlantedFaults.md.
planted: setup
	$(SWIFT) build $(SOAK_BUILD) --product Soak
	SOAK=".build-soak/release/Soak" bash Scripts/planted.sh

format:
	$(SWIFT) format --in-place --recursive Package.swift Sources Tests Examples

setup:
	@bash Scripts/setup.sh

# Also installs what only the tests of the relay and the inspector need, where that is allowed.
setup-all: setup
	@bash Scripts/setup.sh relay
	@bash Scripts/setup.sh proxies
	@bash Scripts/setup.sh browser

# Builds the release products that the gate needs, without the faults that tests plant.
build-release: setup
	for product in tally Benchmarks Soak; do $(STEADY) $(SWIFT) build -c release --scratch-path .build-bench --product $$product || exit 1; done

clean:
	rm -rf .build .build-*
