# Wireloom: everything that is done to the repository as a whole. `make help` lists it.
#
# `make demo` and `make test` set up whatever they need. Everything is kept in .cache, target and out,
# so a second run downloads nothing, and nothing is written elsewhere. docs/installing.md says what
# each part needs.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CACHE := .cache
DATA := $(CACHE)/data
RELEASE := target/release/wireloom

# Where the command keeps what it built: here, not in the user's cache folder.
export WIRELOOM_CACHE := $(CURDIR)/$(CACHE)

# How long `make soak` fuzzes.
HOURS ?= 4
# What `make soak` forwards before that.
PACKETS ?= 1000000000
# Tests of a program that run at once. scripts/test.py runs twice as many, since tests of live forwarding and of builds wait.
export RUST_TEST_THREADS ?= $(shell nproc)
# What `make figures` measures: those that take some minutes at most.
FIGURES ?= cheap

.PHONY: help demo test test-programs test-all test-aarch64 data build bench figures soak bless fmt lint deny deny-changed tools tools-hardware tools-icarus \
  tools-cross tools-isa tools-network formal page pages man dist dist-try

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## the router on real captures and generated traffic: in software, as hardware, on a multiprocessor, on microengines, on tiles, live
	+@scripts/demo.sh $(RELEASE)

test: ## what CI runs: formatting, lints, licences, tests, the comparison with the Linux kernel
	@scripts/page.sh
	cargo fmt --all --check
	@$(MAKE) --no-print-directory --jobs=2 tools data deny-changed test-programs # while one downloads, another compiles
	scripts/test.py

test-programs: # compiled with all lints
	@scripts/need.sh build
	scripts/test.py --no-run

test-all: deny test tools-icarus ## licences of the dependencies, what CI runs, then what takes long and seldom fails: slow proofs, benches in a four-state simulator, every packet test and 100 random programs in hardware, native engines on 64-bit ARM
	WIRELOOM_TEST_PATIENCE=$${WIRELOOM_TEST_PATIENCE:-60} scripts/test.py --ignored # an hour a test: proofs take long
	@$(MAKE) --no-print-directory test-aarch64

test-aarch64: ## native engines on 64-bit ARM, in QEMU
	@scripts/aarch64.sh

data: $(DATA)/pyasn/.complete $(DATA)/pathspider/.complete ## routing tables and captures, into .cache/data

build: ## the optimised command, target/release/wireloom
	@scripts/need.sh build
	@scripts/page.sh || echo "note: the monitor in the browser is left out (make page says why)." >&2
	cargo build --release --locked --package wireloom-cli

page: ## the page of `wireloom monitor`, which the next build of the command has in it; needs npm
	@scripts/page.sh

bench: tools data build ## speed and memory of the software machines, the paper's figures: tables, JSON and plots in out/bench
	@scripts/need.sh bench
	$(RELEASE) bench all --out out/bench

figures: tools data build ## measure FIGURES=cheap (names of `wireloom bench list`) and write docs/figures, pages and images from them
	$(RELEASE) bench $(FIGURES) --write-docs

soak: tools data ## live forwarding of PACKETS=1000000000 packets in flat memory, then differential fuzzing for HOURS=4 hours, from a new seed; failures are shrunk and kept as tests
	WIRELOOM_SOAK_PACKETS=$(PACKETS) cargo test --workspace --locked --test soak -- --ignored --nocapture
	cargo run --release --locked --package wireloom-fuzz -- --minutes $$(( $(HOURS) * 60 )) \
	  --seed $$(( $$(date +%s) * 1000000 )) --keep crates/fuzz/tests/regressions

formal: tools-hardware ## every proof of the hardware templates, and that each fails when its module is broken
	cargo test --locked --package wireloom-np --test suite formal:: -- --include-ignored

pages: ## write the pages that are made from sources: hardware templates, instructions of microengines and tiles, what each machine executes
	WIRELOOM_WRITE_PAGES=1 cargo test --locked --package wireloom-np --test suite pages::
	WIRELOOM_WRITE_PAGES=1 cargo test --locked --package wireloom-isa --test suite microengine::
	WIRELOOM_WRITE_PAGES=1 cargo test --locked --package wireloom-isa --test suite raw::page
	WIRELOOM_WRITE_PAGES=1 cargo test --locked --package wireloom-machines --test suite page_of_features

bless: ## write the texts that compilers and back ends produce into the files that have them as expectation, for review with git diff
	WIRELOOM_BLESS=1 scripts/test.py filetests::

fmt: ## format all source
	cargo fmt --all

lint: ## formatting and clippy, warnings are errors
	@scripts/need.sh build
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

deny: ## licences, sources and duplicates of the dependencies; advisories where the database is at hand
	@scripts/need.sh build
	@scripts/deny.sh

# What `make deny` checks, if that has changed since it passed: it takes two minutes to build the tool. Commit deny.sum.
deny-changed:
	@scripts/need.sh build
	@scripts/deny.sh --changed

tools: tools-hardware tools-cross tools-isa tools-network ## all tools that the others need, into .cache/tools or as Debian packages
	@scripts/need.sh build test tiles browser

tools-hardware: ## Verilator, Yosys, nextpnr, z3: for machines in SystemVerilog
	@scripts/hardware-tools.sh

tools-icarus: tools-hardware ## Icarus Verilog, which make test-all runs the test benches in as well
	@scripts/icarus.sh

tools-cross: ## compilers for ARM and RISC-V: for the machines mpsoc
	@scripts/cross-tools.sh

tools-isa: ## the reference that tests compare processors with
	@scripts/isa-tools.sh

tools-network: ## BIRD, iperf3, nft, traceroute: for the tests of live forwarding
	@scripts/network-tools.sh

man: build ## manual pages and completions, into out/man and out/completions
	$(RELEASE) manual out/man
	@mkdir -p out/completions
	$(RELEASE) completions bash > out/completions/wireloom.bash
	$(RELEASE) completions zsh > out/completions/_wireloom
	$(RELEASE) completions fish > out/completions/wireloom.fish

dist: man ## packages for 64-bit x86 Linux, into out/dist: Debian package, wheel, archive, checksums, list of components
	@scripts/dist/pack.sh $(RELEASE) out/man out/completions out/dist

dist-try: dist ## install each of them in a bare Debian 12 and forward packets from there; needs root
	@scripts/dist/try.sh out/dist

$(DATA)/%/.complete: scripts/fetch-deb.sh
	@scripts/fetch-deb.sh $* $(@D)
