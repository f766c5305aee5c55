# The short way to everything; `make` lists it. Each target is one idea, the work is in CMake and tools/.

WERROR ?= OFF
.DEFAULT_GOAL := help
.PHONY: help setup build package data-archive test test-slurm-24 soak run bench lint format fuzz asan tsan clean
# Steps share the machine: one after the other, each parallel inside.
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

help:  ## list what can be made
	@grep -hE '^[a-z0-9-]+:.*##' Makefile | sed -E 's/^([a-z0-9-]+):[^#]*## ?/make \1\t/' | expand -t 20

setup:  ## install missing packages (Debian 12)
	@tools/setup

# Whoever runs it needs no Slurm, Kubernetes or browser on the machine.
build:  ## build build/release/sharewell and sharewell-lab
	@tools/setup build
	@echo "build: compiling build/release"
	@tools/compile release $(WERROR) sharewell sharewell-lab sharewell-supervise sharewell-pause

package: build  ## a .deb, a tarball and the Python client's wheel in build/package/out
	@tools/package

test: setup  ## build release, asan and tsan, run every test and every check
	@echo "test: layers, format, asan, release, tsan, clang-tidy; what a step prints comes when it ends"
	@WERROR=$(WERROR) tools/test

test-slurm-24:  ## the scenarios of tests/slurm with Slurm 24.11, in a chroot of Debian 13 (root)
	@test "$$(id -u)" = 0 || { echo "test-slurm-24: a chroot needs root" >&2; exit 2; }
	@$(MAKE) build
	@tools/slurm24

data-archive:  ## data/h200 as one archive, build/sharewell-h200.tar.gz; `sharewell.measurements` reads it
	@mkdir -p build && tar -C data --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -czf build/sharewell-h200.tar.gz h200
	@echo "data-archive: $$(du -h build/sharewell-h200.tar.gz | cut -f1) in build/sharewell-h200.tar.gz"

soak: setup  ## run what takes two hours: every figure, kills, fuzzing, a build for aarch64
	@tools/soak

# Where there is no GPU, two that are simulated: jobs are real processes all the same.
run: build  ## start the server; `sharewell submit` from another terminal
	@echo "run: build/release/sharewell serve (Ctrl-C ends it, jobs run on)"
	@build/release/sharewell serve $(if $(wildcard /dev/nvidiactl),,--gpus 2xH200)

bench: build  ## run the benchmarks; tools/bench.py --keep keeps a run to compare with
	@echo "bench: running every benchmark in build/release"
	@tools/compile release $(WERROR)
	@python3 tools/bench.py build/release

lint: setup  ## layers, format and clang-tidy over every source
	@echo "lint: layers, format, clang-tidy"
	@python3 tools/check_layers.py
	@tools/format --check
	@python3 tools/tidy.py

format: setup  ## rewrite the sources with clang-format
	@echo "format: rewriting sources with clang-format 14"
	@tools/format

fuzz: setup  ## fuzz every parser for FUZZ_SECONDS (60)
	@echo "fuzz: building and running every fuzzer"
	@tools/fuzz $(FUZZ_SECONDS)

asan: setup  ## build and test with AddressSanitizer and UBSan
	@echo "asan: compiling and testing build/asan"
	@tools/compile asan $(WERROR)
	@tools/run_ctest asan

tsan: setup  ## build and test what has threads with ThreadSanitizer
	@echo "tsan: compiling and testing build/tsan"
	@tools/compile tsan $(WERROR)
	@tools/run_ctest tsan

clean:  ## remove build/
	@echo "clean: removing build/"
	@rm -rf build
