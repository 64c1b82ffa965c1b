# SPDX-License-Identifier: GPL-3.0-or-later
#
# `make` lists the targets; CMake and Ninja do the work.

BUILD      ?= build#      where everything is built
PORTABLE   ?= 0#          1: build one program for all x86-64 machines, with kernels chosen at run time
MARCH      ?= native#     the processor to build for, as the compiler names it: x86-64-v3, znver3, …
NO_INSTALL ?= 0#          1: print the install command instead of installing packages
WERROR     ?= 0#          1: treat warnings as errors
ISA        ?= #           run only these builds of test-isa (regular expression): aarch64
FUZZ       ?= 20#         seconds per fuzz target
CHAOS_ROUNDS ?= 30#       number of chaos rounds
CHAOS_SEED ?= 1#          the seed that they are drawn from
CHAOS_ROUND ?= #          run only this round
CHECK      ?= #           run only these steps of check-all (regular expression): clean-say|fuzz
TEXT       ?= Good morning.# what `make say` speaks
TEXT_DATA  ?= ../shared/data# the folder with the cases of `make bench-text`
TEXT_WRONG ?= 0#          1: `make bench-text` lists the cases that are wrong
VOICE      ?= #           who says it: an installed voice or speaker; the base voice if empty
INSTALL_VOICES ?= voices# the folder whose voices `make install` and `make package` install
PREFIX     ?= /usr/local# where `make install` installs; DESTDIR is honoured

.DEFAULT_GOAL := help
.PHONY: help oclgrind kernel-table build test test-ptx test-rusticl test-browser test-isa test-onnx test-ranks test-serve test-tensorboard chaos check-all say demo homographs bench bench-cut bench-dashboard bench-data bench-ops bench-pipeline bench-ranks bench-serve bench-sound bench-speech bench-text bench-train bench-voices docs po samples voices install uninstall package package-arm64 portable soak asan tsan fuzz clang fmt fmt-check tidy coverage info clean
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

export NO_INSTALL
override BUILD := $(strip $(BUILD))

SOURCES = $(shell find $(wildcard src include tests bench examples) -name '*.[ch]' | sort)
DEPS    = @scripts/deps.sh
OPTIONS = -DMX_PORTABLE=$(PORTABLE) '-DMX_MARCH=$(strip $(MARCH))' -DMX_WERROR=$(WERROR)
# $(call compile,dir,cmake options): configures and builds in dir; prints nothing unless it fails.
compile = @scripts/build.sh $(1) $(OPTIONS) $(2)
# `make say` has a program of its own, in a folder of BUILD, that is built in half the time; but not if BUILD has one already.
QUICK   = $(if $(wildcard $(BUILD)/build.ninja),,/say)
# $(call check,dir,ctest options): runs the tests of dir, one more at a time than there are cores, because many mostly wait.
check   = @cd $(1) && $(AROUND) ctest -j "$$(($$(nproc) + 1))" --output-on-failure --no-tests=error --no-label-summary --progress $(2)
# The ThreadSanitizer of gcc 12 cannot place its shadow memory if addresses are randomised by more than 28 bits.
tsan: AROUND = $(shell setarch -R true 2>/dev/null && echo setarch -R)
# OpenCL kernels do not depend on the build of the program, so the kernels cached by `make test` are reused.
asan portable: AROUND = env MYXTTS_CACHE=$(abspath $(BUILD))/opencl-cache POCL_CACHE_DIR=$(abspath $(BUILD))/opencl-cache
comma  := ,

help: ## show this page
	@printf 'MyXTTS: trains a text-to-speech voice. Targets:\n\n'
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile
	@printf '\nVariables (make test PORTABLE=1):\n\n'
	@awk -F ' *[?]= *|# +' '/^[A-Z_]+ +[?]=/ { printf "  %-14s %s (now: %s)\n", $$1, $$3, $$2 }' Makefile

build: ## build the program, build/myxtts; installs missing packages first
	$(DEPS) build
	$(call compile,--report $(BUILD))

say: ## build a program and speak TEXT with the base voice, in about a minute; nothing is trained
	@scripts/voices/say.sh check
	$(DEPS) speak
	@scripts/build.sh --program $(BUILD)$(QUICK) $(OPTIONS) $(if $(QUICK),-DMX_QUICK=ON)
	@scripts/voices/say.sh speak $(BUILD)$(QUICK)

test: ## build everything and run every test
	$(DEPS) build test bench
	$(call compile,--report $(BUILD))
	$(call check,$(BUILD))

test-isa: ## build for x86-64-v2 to v4, Zen 3 and aarch64 (in qemu), with gcc and clang, test each build and compare the bits, in build/isa
	$(DEPS) build test bench clang arm64
	@scripts/test/isa.sh $(BUILD)/isa '$(strip $(ISA))' -DMX_WERROR=$(WERROR)

test-ranks: ## kill ranks of a run at thirty random moments: all must end in time, and the run must continue (some minutes)
	$(DEPS) build test
	$(call compile,--report $(BUILD))
	@bash tests/mpi_kill.sh $(BUILD)/myxtts 30

chaos: ## kill trainings or take away their disk, data or devices at random moments: all must continue to the same bits
	$(DEPS) build test
	$(call compile,--report $(BUILD))
	@scripts/test/chaos.sh $(BUILD) $(strip $(CHAOS_ROUNDS)) $(strip $(CHAOS_SEED)) $(strip $(CHAOS_ROUND))

check-all: ## run everything that is too slow for .ci/run, in a day or so; continues if stopped; writes docs/*/tested.md
	@scripts/test/check_all.sh $(BUILD) '$(strip $(CHECK))'

soak: ## 10,000 requests of many clients, some of them rude, to one server: all answers right, memory and descriptors flat
	$(DEPS) build test
	$(call compile,--report $(BUILD))
	@bash tests/serve_soak.sh $(BUILD)/myxtts 10000

test-browser: ## test the pages of a run, of a server and of the doctor in headless Chromium, in both languages; screenshots in build/browser
	$(DEPS) build browser
	$(call compile,--report $(BUILD))
	@scripts/test/browser.sh $(BUILD)

test-tensorboard: ## read the event files of a run with the real TensorBoard (installed in build/venv)
	$(DEPS) build events
	$(call compile,--report $(BUILD))
	@scripts/test/tensorboard.sh $(BUILD)

test-onnx: ## speak with exported voices in onnxruntime, Piper and sherpa-onnx (installed in build/venv); ONNX_MINUTES=10 trains two for that
	$(DEPS) build test events $(if $(filter 0,$(ONNX_MINUTES)),,speech)
	$(call compile,--report $(BUILD))
	@scripts/test/onnx.sh $(BUILD)

test-serve: ## talk to 'myxtts serve' with the clients of others (installed in build/venv)
	$(DEPS) build test events
	$(call compile,--report $(BUILD))
	@scripts/test/serve.sh $(BUILD)

samples: ## speak the samples of README.md with the base voice, into docs/samples
	$(DEPS) build
	$(call compile,--report $(BUILD))
	@scripts/voices/samples.sh $(BUILD)

voices: ## train the base voice from human recordings that are Debian packages, and synthetic ones, in hours, into voices/; continues if stopped
	$(DEPS) build voices
	$(call compile,--report $(BUILD))
	@scripts/voices/voices.sh $(BUILD)

demo: ## make a small corpus, teach the base voice its speaker (without a base: train from nothing) and speak, in under 10 minutes
	$(DEPS) build demo
	$(call compile,--report $(BUILD))
	@scripts/voices/demo.sh $(BUILD)

bench: ## run all benchmarks; prints tables, writes the numbers to build/bench/*.json
	$(DEPS) build bench
	$(call compile,--report $(BUILD))
	@set -e; for bench in $(BUILD)/bench_*; do $$bench; done

bench-dashboard: ## measure what 200 clients of the live page cost a training step, in three minutes
	$(DEPS) build bench
	$(call compile,--report $(BUILD))
	@$(BUILD)/bench_dashboard

bench-data: ## compare decoding and features with FFTW, DALI and torchaudio (installed in build/venv)
	$(DEPS) build bench
	$(call compile,--report $(BUILD))
	@scripts/build/peers.sh $(BUILD)/venv data
	@$(BUILD)/bench_data

bench-ops: ## measure the operations: speed and share of this machine's peak
	$(DEPS) build bench
	$(call compile,--report $(BUILD))
	@$(BUILD)/bench_ops

bench-pipeline: ## compare the two-device pipeline with one device: overlap, utilisation and speed; measure how auto-tuning copes with a slow disk
	$(DEPS) build bench
	$(call compile,--report $(BUILD))
	@status=0; $(BUILD)/bench_pipeline || status=1; scripts/bench/disk.sh $(BUILD) || status=1; exit $$status

bench-cut: ## cut recordings with ground truth with the base voice of 'make voices', and compare
	$(DEPS) build
	$(call compile,--report $(BUILD))
	@scripts/bench/cut.sh $(BUILD)

bench-ranks: ## compare two ranks on one core each with one rank, also over TCP at 10 and 1 Gbit/s (as root)
	$(DEPS) build test
	$(call compile,--report $(BUILD))
	@scripts/bench/ranks.sh $(BUILD)

bench-serve: ## compare 'myxtts serve' with Piper's servers and the same voice (installed in build/venv): first sound, 32 clients
	$(DEPS) build demo bench events
	$(call compile,--report $(BUILD))
	@scripts/build/peers.sh $(BUILD)/venv serving
	@scripts/bench/serve.sh $(BUILD)

bench-sound: ## train vocoders and measure their sound by PESQ, STOI and DNSMOS (installed in build/venv), in about 100 minutes
	$(DEPS) build sound
	$(call compile,--report $(BUILD))
	@scripts/build/peers.sh $(BUILD)/venv sound
	@scripts/bench/sound.sh $(BUILD)

bench-speech: ## train an English and a Persian voice and measure how well they speak, in about half an hour
	$(DEPS) build speech
	$(call compile,--report $(BUILD))
	@scripts/build/peers.sh $(BUILD)/venv sound
	@scripts/bench/speech.sh $(BUILD)

bench-text: ## measure how well written text is read, with cases of others in TEXT_DATA; TEXT_WRONG=1 lists what is wrong
	$(DEPS) build bench
	$(call compile,--report $(BUILD))
	@$(BUILD)/bench_text --data $(TEXT_DATA) $(if $(filter 1,$(TEXT_WRONG)),--wrong)

homographs: ## learn which reading of an English homograph a sentence means, from the sentences in TEXT_DATA
	$(DEPS) build bench
	$(call compile,--report $(BUILD))
	@$(BUILD)/bench_homographs --data $(TEXT_DATA)
	@$(BUILD)/bench_homographs --data $(TEXT_DATA) --write src/text/english/homographs.model

bench-train: ## compare the training of both networks with PyTorch (installed in build/venv): frames per second, share of the peak, memory
	$(DEPS) build bench
	$(call compile,--report $(BUILD))
	@scripts/build/peers.sh $(BUILD)/venv train
	@$(BUILD)/bench_train
	@$(BUILD)/bench_vocoder

bench-voices: ## judge the base voice and its clones by recogniser, DNSMOS and resemblyzer (installed in build/venv); PARTS chooses what
	$(DEPS) build voices speech
	$(call compile,--report $(BUILD))
	@scripts/build/peers.sh $(BUILD)/venv voices
	@scripts/bench/voices.sh $(BUILD)

docs: ## write the pages that come from the tables of the program: all flags and settings, the manual page
	$(DEPS) build
	$(call compile,--report $(BUILD))
	@$(BUILD)/myxtts reference markdown --output docs/en/options.md
	@$(BUILD)/myxtts reference markdown --language fa --output docs/fa/options.md
	@$(BUILD)/myxtts reference man --output docs/myxtts.1

po: ## update po/fa.po, the Persian translation, from the texts of the program; translate what is new there
	$(DEPS) build
	$(call compile,--report $(BUILD))
	@$(BUILD)/myxtts reference po --output $(BUILD)/myxtts.pot
	@msgmerge --quiet --no-wrap --update --backup=none --previous po/fa.po $(BUILD)/myxtts.pot
	@msgattrib --no-obsolete --no-wrap -o po/fa.po po/fa.po
	@msgfmt --statistics -o /dev/null po/fa.po

install: ## install program, library, headers, voices, manual page, completion and documentation under PREFIX
	$(DEPS) build
	$(call compile,--report $(BUILD))
	@scripts/build/install.sh install $(BUILD) $(PREFIX)

uninstall: ## remove what was installed under PREFIX, and nothing else
	@scripts/build/install.sh uninstall $(BUILD) $(PREFIX)

package: ## make Debian packages that run on any x86-64 machine and on any arm64 machine, in build/package*
	$(DEPS) build package
	$(call compile,$(BUILD)/package,-DMX_PORTABLE=1 -DMX_PACKAGE=1 -DCMAKE_INSTALL_PREFIX=/usr)
	@scripts/build/package.sh $(BUILD)/package
	@[ "$$(dpkg --print-architecture)" = arm64 ] || $(MAKE) package-arm64

package-arm64: ## make only the arm64 package, cross-compiled, in build/package-arm64
	$(DEPS) build package arm64
	$(call compile,$(BUILD)/package-arm64,--toolchain cmake/aarch64.cmake -DMX_PORTABLE=1 -DMX_PACKAGE=1 -DCMAKE_INSTALL_PREFIX=/usr)
	@scripts/build/package.sh $(BUILD)/package-arm64 arm64

portable: ## make a PORTABLE=1 build and test its kernels and program, in build/portable
	$(DEPS) build test bench
	$(call compile,$(BUILD)/portable,-DMX_PORTABLE=1 '-DMX_TESTS=^(test_(ops_(forward|grad|packed|winograd|bf16)|cpu_.*|vec|device)|cli_(isa|resume))$$')
	$(call check,$(BUILD)/portable)

asan: ## run the tests, except those that repeat others (cmake/Checks.cmake), under ASan and UBSan, in build/asan
	$(DEPS) build test bench
	$(call compile,$(BUILD)/asan,-DMX_SANITIZE=address$(comma)undefined -DMX_LEAKS=$$(scripts/test/leaks.sh))
	$(call check,$(BUILD)/asan)

oclgrind: ## check the OpenCL kernels for GPUs with Oclgrind, for memory errors and data races, on small sizes (slow)
	$(DEPS) build test oclgrind
	$(call compile,--report $(BUILD))
	@scripts/test/oclgrind.sh $(BUILD)

test-rusticl: ## run every operation on Mesa's rusticl, an OpenCL implementation without double precision
	$(DEPS) build test rusticl
	$(call compile,--report $(BUILD))
	@scripts/test/rusticl.sh $(BUILD)

test-ptx: ## execute what NVRTC makes of the CUDA kernels, for every GPU generation that it knows (needs NVRTC; takes it from PyPI)
	$(DEPS) build test
	$(call compile,--report $(BUILD))
	@scripts/build/nvrtc.sh $(BUILD)
	@scripts/test/ptx.sh $(BUILD)

kernel-table: ## list registers and shared memory of each kernel for each GPU generation, in build/kernels.md (needs CUDA's NVRTC and ptxas)
	$(DEPS) build test
	$(call compile,--report $(BUILD))
	@cd $(BUILD) && ./test_nvrtc

tsan: ## run the threaded tests under ThreadSanitizer, in build/tsan
	$(DEPS) build test bench
	$(call compile,$(BUILD)/tsan,-DMX_SANITIZE=thread -DMX_TESTS=threads)
	$(call check,$(BUILD)/tsan)

fuzz: ## feed random bytes to the parsers for FUZZ seconds each, in build/fuzz
	$(DEPS) build clang
	$(call compile,$(BUILD)/fuzz,-DCMAKE_C_COMPILER=clang -DMX_SANITIZE=address$(comma)undefined -DMX_FUZZ=1)
	@scripts/test/fuzz.sh $(BUILD)/fuzz $(FUZZ)

clang: ## build with clang and treat warnings as errors, in build/clang
	$(DEPS) build test bench clang
	$(call compile,$(BUILD)/clang,-DCMAKE_C_COMPILER=clang -DMX_WERROR=1)

fmt: ## format all sources
	$(DEPS) fmt
	@clang-format -i $(SOURCES)

fmt-check: ## fail if a source is not formatted
	$(DEPS) fmt
	@clang-format --dry-run --Werror $(SOURCES)

tidy: ## run clang-tidy on all sources
	$(DEPS) build test bench clang tidy
	$(call compile,$(BUILD)/clang,-DCMAKE_C_COMPILER=clang -DMX_WERROR=1)
	@printf '%s\n' $(filter %.c,$(SOURCES)) | xargs -P "$$(nproc)" -n 1 scripts/build/tidy.sh $(BUILD)/clang

coverage: ## count the executed lines of each room and of the worst files after the tests, in build/coverage
	$(DEPS) build test bench
	$(call compile,$(BUILD)/coverage,-DMX_COVERAGE=1)
	@find $(BUILD)/coverage -name '*.gcda' -delete
	$(call check,$(BUILD)/coverage)
	@scripts/test/coverage.sh $(BUILD)/coverage

info: ## list the optional parts that were found, and the packages for the missing ones
	$(DEPS) build
	@scripts/build.sh --configure-only $(BUILD) $(OPTIONS)
	@cat $(BUILD)/parts.txt

clean: ## remove the build folder
	@if [ ! -e $(BUILD) ]; then :; \
	elif [ -n "$$(find $(BUILD) -maxdepth 2 -name CMakeCache.txt)" ]; then rm -rf $(BUILD); \
	else echo "$(BUILD) is not a build folder; not removed" >&2; exit 1; fi
