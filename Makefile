# SPDX-License-Identifier: GPL-3.0-or-later
#
# The front door. `make` prints the targets; CMake and Ninja do the work beneath.

BUILD      ?= build#      where everything is built
PORTABLE   ?= 0#          1: one binary for all x86-64 machines, kernels picked at run time
MARCH      ?= native#     the processor to build for, as the compiler calls it: x86-64-v3, znver3, …
NO_INSTALL ?= 0#          1: never install packages, print the line to run
WERROR     ?= 0#          1: warnings are errors
ISA        ?= #           only these builds of test-isa (regular expression): aarch64
FUZZ       ?= 20#         seconds for each fuzz target
CHAOS_ROUNDS ?= 30#       rounds of chaos
CHAOS_SEED ?= 1#          the number that they are drawn from
CHAOS_ROUND ?= #          only this one of them
PREFIX     ?= /usr/local# where `make install` puts things; DESTDIR is honoured

.DEFAULT_GOAL := help
.PHONY: help oclgrind kernel-table build test test-browser test-isa test-ranks test-tensorboard chaos demo bench bench-dashboard bench-data bench-ops bench-pipeline bench-ranks bench-sound bench-speech bench-train docs po install uninstall package package-arm64 portable asan tsan fuzz clang fmt fmt-check tidy coverage info clean
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

export NO_INSTALL
override BUILD := $(strip $(BUILD))

SOURCES = $(shell find $(wildcard src include tests bench examples) -name '*.[ch]' | sort)
DEPS    = @scripts/deps.sh
OPTIONS = -DMX_PORTABLE=$(PORTABLE) '-DMX_MARCH=$(strip $(MARCH))' -DMX_WERROR=$(WERROR)
# $(call compile,dir,cmake options): configures and builds in dir; quiet unless it fails.
compile = @scripts/build.sh $(1) $(OPTIONS) $(2)
# $(call check,dir,ctest options): runs the tests of dir, two at a time: many of them wait more than they work.
check   = @cd $(1) && $(AROUND) ctest -j 2 --output-on-failure --no-tests=error --no-label-summary --progress $(2)
# ThreadSanitizer of gcc 12 cannot place its shadow memory where addresses are randomised by more than 28 bits.
tsan: AROUND = $(shell setarch -R true 2>/dev/null && echo setarch -R)
# OpenCL kernels are the driver's, whatever the build of the program: those of `make test` are taken.
asan: AROUND = env MYXTTS_CACHE=$(abspath $(BUILD))/opencl-cache POCL_CACHE_DIR=$(abspath $(BUILD))/opencl-cache
comma  := ,

help: ## this page
	@printf 'MyXTTS: trains a text-to-speech voice. Targets:\n\n'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile
	@printf '\nVariables (make test PORTABLE=1):\n\n'
	@awk -F ' *[?]= *|# +' '/^[A-Z_]+ +[?]=/ { printf "  %-12s %s (now: %s)\n", $$1, $$3, $$2 }' Makefile

build: ## the program, build/myxtts; installs missing packages first
	$(DEPS) build
	$(call compile,--report $(BUILD))

test: ## everything is built and tested
	$(DEPS) build test bench
	$(call compile,--report $(BUILD))
	$(call check,$(BUILD))

test-isa: ## builds for x86-64-v2 to v4, Zen 3 and aarch64 (in qemu), with gcc and clang, each tested, in build/isa
	$(DEPS) build test clang arm64
	@scripts/test_isa.sh $(BUILD)/isa '$(strip $(ISA))' -DMX_WERROR=$(WERROR)

test-ranks: ## kills ranks of a run at thirty random moments: all must end in time, and the run must go on (some minutes)
	$(DEPS) build test
	$(call compile,--report $(BUILD))
	@bash tests/mpi_kill.sh $(BUILD)/myxtts 30

chaos: ## trainings that are killed, robbed of their disk, data or devices at random moments: all must go on to the same bits
	$(DEPS) build test
	$(call compile,--report $(BUILD))
	@scripts/chaos.sh $(BUILD) $(strip $(CHAOS_ROUNDS)) $(strip $(CHAOS_SEED)) $(strip $(CHAOS_ROUND))

test-browser: ## the page of a run in headless Chromium, both languages; screenshots in build/browser
	$(DEPS) build browser
	$(call compile,--report $(BUILD))
	@scripts/test_browser.sh $(BUILD)

test-tensorboard: ## the event files of a run, read by the real TensorBoard (installed in build/venv)
	$(DEPS) build events
	$(call compile,--report $(BUILD))
	@scripts/test_tensorboard.sh $(BUILD)

demo: ## makes a small corpus, trains a voice on the CPU and speaks, in under 10 minutes
	$(DEPS) build demo
	$(call compile,--report $(BUILD))
	@scripts/demo.sh $(BUILD)

bench: ## all benches; tables here, numbers in build/bench/*.json
	$(DEPS) build bench
	$(call compile,--report $(BUILD))
	@set -e; for bench in $(BUILD)/bench_*; do $$bench; done

bench-dashboard: ## only the live page: what 200 clients that watch a run cost its steps, in three minutes
	$(DEPS) build bench
	$(call compile,--report $(BUILD))
	@$(BUILD)/bench_dashboard

bench-data: ## only decoding and features, beside FFTW, DALI and torchaudio (installed in build/venv)
	$(DEPS) build bench
	$(call compile,--report $(BUILD))
	@scripts/peers.sh $(BUILD)/venv data
	@$(BUILD)/bench_data

bench-ops: ## only the operations: speed and share of this machine's peak
	$(DEPS) build bench
	$(call compile,--report $(BUILD))
	@$(BUILD)/bench_ops

bench-pipeline: ## only the two-device pipeline: overlap, utilisation and speed beside one device
	$(DEPS) build bench
	$(call compile,--report $(BUILD))
	@$(BUILD)/bench_pipeline

bench-ranks: ## only several processes: two ranks on one core each beside one, also over TCP at 10 and 1 Gbit/s (as root)
	$(DEPS) build test
	$(call compile,--report $(BUILD))
	@scripts/bench_ranks.sh $(BUILD)

bench-sound: ## what mel and Griffin-Lim leave of recordings, judged by PESQ, STOI and DNSMOS (installed in build/venv)
	$(DEPS) build sound
	$(call compile,--report $(BUILD))
	@scripts/peers.sh $(BUILD)/venv sound
	@scripts/bench_sound.sh $(BUILD)

bench-speech: ## trains an English and a Persian voice and tells how well they speak, in about half an hour
	$(DEPS) build speech
	$(call compile,--report $(BUILD))
	@scripts/bench_speech.sh $(BUILD)

bench-train: ## only training: frames per second beside PyTorch (installed in build/venv), share of the peak, memory
	$(DEPS) build bench
	$(call compile,--report $(BUILD))
	@scripts/peers.sh $(BUILD)/venv train
	@$(BUILD)/bench_train

docs: ## writes the pages that come from the tables of the program: all flags and settings, the manual page
	$(DEPS) build
	$(call compile,--report $(BUILD))
	@$(BUILD)/myxtts reference markdown --output docs/en/options.md
	@$(BUILD)/myxtts reference markdown --language fa --output docs/fa/options.md
	@$(BUILD)/myxtts reference man --output docs/myxtts.1

po: ## brings po/fa.po, the Persian words, up to date with the texts of the program; what is new there is to be translated
	$(DEPS) build
	$(call compile,--report $(BUILD))
	@$(BUILD)/myxtts reference po --output $(BUILD)/myxtts.pot
	@msgmerge --quiet --no-wrap --update --backup=none --previous po/fa.po $(BUILD)/myxtts.pot
	@msgattrib --no-obsolete --no-wrap -o po/fa.po po/fa.po
	@msgfmt --statistics -o /dev/null po/fa.po

install: ## program, library, headers, manual page, completion and documentation below PREFIX
	$(DEPS) build
	$(call compile,--report $(BUILD))
	@scripts/install.sh install $(BUILD) $(PREFIX)

uninstall: ## removes from PREFIX what was installed there, and nothing else
	@scripts/install.sh uninstall $(BUILD) $(PREFIX)

package: ## Debian packages that run on any x86-64 machine and on any arm64 machine, in build/package*
	$(DEPS) build package
	$(call compile,$(BUILD)/package,-DMX_PORTABLE=1 -DMX_PACKAGE=1 -DCMAKE_INSTALL_PREFIX=/usr)
	@scripts/package.sh $(BUILD)/package
	@[ "$$(dpkg --print-architecture)" = arm64 ] || $(MAKE) package-arm64

package-arm64: ## only the one for arm64, cross built, in build/package-arm64
	$(DEPS) build package arm64
	$(call compile,$(BUILD)/package-arm64,--toolchain cmake/aarch64.cmake -DMX_PORTABLE=1 -DMX_PACKAGE=1 -DCMAKE_INSTALL_PREFIX=/usr)
	@scripts/package.sh $(BUILD)/package-arm64 arm64

portable: ## PORTABLE=1 build, its kernels and program tried, in build/portable
	$(DEPS) build test bench
	$(call compile,$(BUILD)/portable,-DMX_PORTABLE=1 '-DMX_TESTS=^(test_(ops|cpu|vec|device)|cli_(train|synth|validate|isa))')
	$(call check,$(BUILD)/portable)

asan: ## tests under AddressSanitizer and UndefinedBehaviorSanitizer, in build/asan
	$(DEPS) build test bench
	$(call compile,$(BUILD)/asan,-DMX_SANITIZE=address$(comma)undefined)
	$(call check,$(BUILD)/asan,-LE unsanitized)

oclgrind: ## the OpenCL kernels of GPUs under Oclgrind's checks of memory and data races, on small sizes (slow)
	$(DEPS) build test oclgrind
	$(call compile,--report $(BUILD))
	@scripts/oclgrind.sh $(BUILD)

kernel-table: ## registers and shared memory of each kernel on each generation of GPUs, in build/kernels.md (needs NVRTC)
	$(DEPS) build test
	$(call compile,--report $(BUILD))
	@cd $(BUILD) && ./test_nvrtc

tsan: ## tests with threads under ThreadSanitizer, in build/tsan
	$(DEPS) build test bench
	$(call compile,$(BUILD)/tsan,-DMX_SANITIZE=thread -DMX_TESTS=threads)
	$(call check,$(BUILD)/tsan)

fuzz: ## feeds random bytes to the parsers for FUZZ seconds each, in build/fuzz
	$(DEPS) build clang
	$(call compile,$(BUILD)/fuzz,-DCMAKE_C_COMPILER=clang -DMX_SANITIZE=address$(comma)undefined -DMX_FUZZ=1)
	@scripts/fuzz.sh $(BUILD)/fuzz $(FUZZ)

clang: ## build with clang, warnings are errors, in build/clang
	$(DEPS) build test bench clang
	$(call compile,$(BUILD)/clang,-DCMAKE_C_COMPILER=clang -DMX_WERROR=1)

fmt: ## formats all sources
	$(DEPS) fmt
	@clang-format -i $(SOURCES)

fmt-check: ## fails if a source is not formatted
	$(DEPS) fmt
	@clang-format --dry-run --Werror $(SOURCES)

tidy: ## clang-tidy over all sources
	$(DEPS) build test bench clang tidy
	$(call compile,$(BUILD)/clang,-DCMAKE_C_COMPILER=clang -DMX_WERROR=1)
	@printf '%s\n' $(filter %.c,$(SOURCES)) | xargs -P "$$(nproc)" -n 1 scripts/tidy.sh $(BUILD)/clang

coverage: ## executed lines per source file after the tests, in build/coverage
	$(DEPS) build test bench
	$(call compile,$(BUILD)/coverage,-DMX_COVERAGE=1)
	@find $(BUILD)/coverage -name '*.gcda' -delete
	$(call check,$(BUILD)/coverage)
	@scripts/coverage.sh $(BUILD)/coverage

info: ## optional parts: what was found, what would add the rest
	$(DEPS) build
	@scripts/build.sh --configure-only $(BUILD) $(OPTIONS)
	@cat $(BUILD)/parts.txt

clean: ## removes the build folder
	@if [ ! -e $(BUILD) ]; then :; \
	elif [ -n "$$(find $(BUILD) -maxdepth 2 -name CMakeCache.txt)" ]; then rm -rf $(BUILD); \
	else echo "$(BUILD) is no build folder; not removed" >&2; exit 1; fi
