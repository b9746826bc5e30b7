# Wireloom: everything that is done to the repository as a whole. `make help` lists it.
#
# `make demo` and `make test` set up whatever they need; what is set up is remembered in .cache, so a second run
# downloads nothing.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CACHE := .cache
DATA := $(CACHE)/data
RELEASE := target/release/wireloom

# How long `make soak` fuzzes.
HOURS ?= 4

.PHONY: help demo test data build bench soak fmt lint deny tools formal pages

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: tools data build ## the router on real captures and generated traffic, natively and on golden, compared
	@scripts/demo.sh $(RELEASE)

test: ## formatting, lints, licences, all tests, the comparison with the Linux kernel
	@$(MAKE) --no-print-directory --jobs=2 tools data deny lint # while one downloads or waits for a last crate, another compiles
	cargo test --workspace --locked

data: $(DATA)/pyasn/.complete $(DATA)/pathspider/.complete ## routing tables and captures, into .cache/data

build: ## the optimised command, target/release/wireloom
	@scripts/need.sh build
	cargo build --release --locked --package wireloom-cli

bench: tools data build ## speed and memory of the software machines, the paper's figures: tables, JSON and plots in out/bench
	@scripts/need.sh bench
	$(RELEASE) bench all --out out/bench

soak: tools ## differential fuzzing for HOURS=4 hours, from a new seed; failures are shrunk and kept as tests
	cargo run --release --locked --package wireloom-fuzz -- --minutes $$(( $(HOURS) * 60 )) \
	  --seed $$(( $$(date +%s) * 1000000 )) --keep crates/fuzz/tests/regressions

formal: tools ## every proof of the hardware templates, and that each fails when its module is broken
	cargo test --locked --package wireloom-rtl --test formal -- --include-ignored

pages: ## write the pages of the hardware templates (docs/hardware/modules) anew from their sources
	WIRELOOM_WRITE_PAGES=1 cargo test --locked --package wireloom-rtl --test pages

fmt: ## format all source
	cargo fmt --all

lint: ## formatting and clippy, warnings are errors
	@scripts/need.sh build
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

deny: ## licences, sources and duplicates of the dependencies; advisories where the database is at hand
	@scripts/need.sh build
	@scripts/deny.sh

tools: ## what the others need: Debian packages, and in .cache/tools the hardware tools and the reference of the processors
	@scripts/need.sh build test cross
	@scripts/hardware-tools.sh
	@scripts/isa-tools.sh

$(DATA)/%/.complete: scripts/fetch-deb.sh
	@scripts/fetch-deb.sh $* $(@D)
