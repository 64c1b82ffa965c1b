# SPDX-License-Identifier: GPL-3.0-or-later
#
# Tests and benches. A test is tests/test_<module>.c (cmocka) or tests/<name>.sh (bash, the path of the program is $1);
# each is a process of its own with a time limit. An example is a test, too: by itself, or by
# tests/example_<name>.sh, which gets its path as $2. A bench is bench/bench_<name>.c, one program each.
# bench/speech/*.c and bench/serve/*.c are programs, too: what scripts/bench/speech.sh and scripts/bench/serve.sh need
# besides the program itself.
# All other .c files below the two folders are helpers of the tests or the benches, except fuzz targets (see the end),
# tests/double, which is a shared library: a test double of CUDA, tests/http, which only test_http_* take, and tests/sweep,
# which only test_sweep_* take.

# Tests that start threads or use devices, whose work runs in threads (regular expressions):
# `ctest -L threads` runs them, `make tsan` under ThreadSanitizer. Of the tests of operations, one is enough: all share the
# same workers.
set(MX_THREAD_TESTS
    test_alloc test_error test_log test_pool test_progress test_queue
    test_bits test_budget test_cpu.* test_device.* test_fake.* test_registry.* test_ops_deterministic
    test_tokens test_check test_doctor_ear test_dataset.* test_prepare test_extract test_align test_train test_trainer test_trainer_vocoder test_freeze test_adapter test_job.* test_replica test_share_work test_feed.* test_pipeline.* test_dashboard
    test_voice_api test_service test_service_limits test_http_.* test_wyoming test_wyoming_clients test_doctor_score
    test_cuda_device test_cuda_double test_cuda_graph test_cuda_train test_nccl)

# What `make asan` leaves out, because a sanitizer would find nothing in it, or only what it finds in another test, too:
# texts, scripts that build or compare, NVIDIA's compiler (the machine that executes what it makes is in test_ptx, too);
set(MX_UNSANITIZED_TESTS batch_table catalogue comments docs install layering migration python recipes test_nvrtc test_ptx_mutants)
# kernels that PoCL compiles, in which no sanitizer looks: test_opencl_device, test_opencl_pipeline and
# test_opencl_training run what submits them (test_cuda_ops stays: the double runs the kernels for GPUs as instrumented C);
list(APPEND MX_UNSANITIZED_TESTS test_opencl_ops test_opencl_clblast cli_opencl cli_clblast)
# the cases of test_ops_forward and test_ops_grad once more, to compare bits, and the pipelines of test_pipeline with
# random sizes, which `make tsan` runs;
list(APPEND MX_UNSANITIZED_TESTS test_bits test_ops_deterministic test_ops_packed test_pipeline_random)
# long texts, whose rules test_golden_sentences and fuzz_text run, and the program on descriptions of other machines, which
# test_topology reads;
list(APPEND MX_UNSANITIZED_TESTS test_text_bounds cli_topology)
# trainings whose results are compared, while test_trainer, test_share_devices, test_trainer_memory, test_freeze,
# test_adapter, test_languages, test_cuda_*, test_nccl and the other tests of MPI run the same code.
list(APPEND MX_UNSANITIZED_TESTS test_cuda_pair test_job_memory test_share_work test_two_speakers cli_adapter cli_cuda cli_freeze
     cli_languages cli_share example_train_tiny mpi_nccl mpi_train)

# The longest ones, or those that wait longest: begun first, so that none is left to run alone at the end. test_opencl_ops
# leaves most kernels compiled in opencl-cache, where the other tests of OpenCL find them.
set(MX_LONG_TESTS test_opencl_ops test_nvrtc test_dashboard test_job_memory test_pipeline_random cli_validate cli_corpus
    cli_synth cli_run_faults cli_run_folder docs python mpi_train example_train_tiny cli_topology test_service cli_check)

set(MX_TEST_SECONDS 300) # far more than any needs: two run at a time, and others may use the machine
if(MX_SANITIZE OR MX_COVERAGE OR CMAKE_CROSSCOMPILING) # an emulator is as slow
  math(EXPR MX_TEST_SECONDS "${MX_TEST_SECONDS} * 5")
endif()

# Whether `name` is among the tests that were asked for (MX_TESTS); what nobody will run need not be built.
function(mx_test_wanted name out)
  set(patterns "${MX_TESTS}")
  if(MX_TESTS STREQUAL "threads")
    list(JOIN MX_THREAD_TESTS "|" patterns)
    set(patterns "^(${patterns})$")
  endif()
  if(MX_SANITIZE AND NOT MX_TESTS AND name IN_LIST MX_UNSANITIZED_TESTS)
    set(${out} FALSE PARENT_SCOPE)
  elseif(name MATCHES "${patterns}")
    set(${out} TRUE PARENT_SCOPE)
  else()
    set(${out} FALSE PARENT_SCOPE)
  endif()
endfunction()

# Those that read golden files or start scripts know where the sources are. The others do not, and neither do any but one
# know the folder of the build: a compiler cache then serves them in every clone.
foreach(source tests/test_ssml.c tests/test_golden_words.c tests/test_golden_sentences.c
        tests/test_persian_ezafe.c tests/test_features.c bench/peer.c
        bench/bench_homographs.c)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/${source} PROPERTIES COMPILE_DEFINITIONS
                              MX_SOURCE_FOLDER="${CMAKE_SOURCE_DIR}")
endforeach()

# mx_programs(tests test names [libraries]): one executable per tests/test_*.c; all other sources below tests/ form the
# library test_support, of which each takes what it needs. OpenBLAS is there for all of them if it was found.
function(mx_programs folder prefix out)
  file(GLOB_RECURSE helpers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.c)
  file(GLOB mains CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/${prefix}_*.c)
  if(mains)
    list(REMOVE_ITEM helpers ${mains})
  endif()
  list(FILTER helpers EXCLUDE REGEX "/(tests/fuzz|tests/double|tests/http|tests/sweep|bench/speech|bench/serve)/")

  add_library(${prefix}_common INTERFACE)
  target_include_directories(${prefix}_common INTERFACE ${CMAKE_SOURCE_DIR}/${folder})
  target_link_libraries(${prefix}_common INTERFACE libmyxtts ${ARGN})
  if(MX_OPENBLAS)
    target_include_directories(${prefix}_common SYSTEM INTERFACE ${OPENBLAS_INCLUDE})
    target_link_libraries(${prefix}_common INTERFACE ${OPENBLAS_LIBRARY})
    target_compile_definitions(${prefix}_common INTERFACE MX_HAVE_OPENBLAS)
  endif()
  set(support "")
  if(helpers)
    set(support ${prefix}_support)
    add_library(${support} STATIC ${helpers})
    target_link_libraries(${support} PUBLIC ${prefix}_common)
  endif()

  set(names "")
  foreach(main ${mains})
    get_filename_component(name ${main} NAME_WE)
    mx_test_wanted(${name} wanted)
    if(wanted)
      add_executable(${name} ${main})
      # Tests call what is measured and compute little themselves; only src/device/cpu/isa/vec.h is compiled into its test.
      if(prefix STREQUAL "test" AND NOT name STREQUAL "test_vec")
        target_compile_options(${name} PRIVATE -O1)
      endif()
      if(name MATCHES "^test_job_")
        target_link_libraries(${name} PRIVATE commands)
      elseif(name MATCHES "^test_http_")
        target_link_libraries(${name} PRIVATE http_double)
      elseif(name MATCHES "^test_sweep_")
        target_link_libraries(${name} PRIVATE sweep)
      endif()
      target_link_libraries(${name} PRIVATE ${support} ${prefix}_common)
      list(APPEND names ${name})
    endif()
  endforeach()
  set(${out} "${names}" PARENT_SCOPE)
endfunction()

# The test double of CUDA: libcuda_double.so, and two that lack entry points (plain.map, old.map). Kernels are compiled as
# C; they count on overflow that wraps, and ThreadSanitizer must not see lanes that take turns on one thread.
function(mx_add_double)
  set(kernels ${MX_KERNEL_SOURCES})
  list(FILTER kernels EXCLUDE REGEX "/opencl/")
  set(folder ${CMAKE_SOURCE_DIR}/tests/double)
  set(out ${CMAKE_BINARY_DIR}/generated/double_kernels.c)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} "-DSOURCES=${kernels}" -P ${folder}/kernels.cmake
    DEPENDS ${kernels} ${folder}/kernels.cmake VERBATIM)
  set_source_files_properties(${out} PROPERTIES COMPILE_OPTIONS "-Wno-unknown-pragmas;-fwrapv")
  if(MX_SANITIZE STREQUAL "thread")
    set_source_files_properties(${out} ${folder}/lanes.c PROPERTIES COMPILE_OPTIONS
                                "-O2;-Wno-unknown-pragmas;-fwrapv;-fno-sanitize=thread")
  elseif(MX_SANITIZE)
    set_source_files_properties(${out} PROPERTIES COMPILE_OPTIONS "-O2;-Wno-unknown-pragmas;-fwrapv;-fno-sanitize=shift")
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c)
  # Registers of the PTX machine are seen as numbers of several types.
  set_source_files_properties(${folder}/ptx_math.c ${folder}/ptx_memory.c ${folder}/ptx_run.c PROPERTIES COMPILE_OPTIONS
                              -fno-strict-aliasing)
  list(APPEND sources ${CMAKE_SOURCE_DIR}/tests/support/nvrtc.c)
  add_library(cuda_double_objects OBJECT ${sources} ${out})
  target_include_directories(cuda_double_objects PRIVATE ${folder} ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  set_target_properties(cuda_double_objects PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
  foreach(kind "" _plain _old)
    add_library(cuda_double${kind} SHARED $<TARGET_OBJECTS:cuda_double_objects>)
    target_link_libraries(cuda_double${kind} PRIVATE Threads::Threads m)
    if(kind)
      string(SUBSTRING ${kind} 1 -1 map)
      target_link_options(cuda_double${kind} PRIVATE "-Wl,--version-script=${folder}/${map}.map")
      set_target_properties(cuda_double${kind} PROPERTIES LINK_DEPENDS ${folder}/${map}.map)
    endif()
    add_dependencies(test_support cuda_double${kind})
  endforeach()
  set_source_files_properties(${CMAKE_SOURCE_DIR}/tests/support/cuda.c PROPERTIES COMPILE_DEFINITIONS
                              MX_DOUBLE_FOLDER="${CMAKE_BINARY_DIR}")
endfunction()

# The double of the service for the HTTP server, and a client. These are objects, no archive: a program that links them
# has them in place of the service of the library.
function(mx_add_http_double)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/http/*.c)
  add_library(http_double OBJECT EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(http_double PRIVATE test_common)
endfunction()

# What lets calls fail (tests/sweep): objects that replace these functions of the C library for our own code and, unless a
# sanitizer already replaces them, for libraries.
function(mx_add_sweep)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/sweep/*.c)
  add_library(sweep OBJECT EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(sweep PUBLIC test_common)
  if(NOT MX_SANITIZE)
    target_compile_definitions(sweep PRIVATE MX_SWEEP_LIBRARIES)
  endif()
  foreach(call malloc calloc realloc posix_memalign free pthread_create pthread_join fopen open openat opendir scandir
               pipe2 eventfd socket read pread readdir mmap write pwrite fsync ftruncate rename link mkdir)
    target_link_options(sweep INTERFACE -Wl,--wrap=${call})
  endforeach()
endfunction()

# mx_test_limits(name [VARIABLE=value…])
function(mx_test_limits name)
  set(plugins "")
  if(MX_SANITIZE) # hwloc's plugins keep memory and are unloaded: nothing is left by which it could be excused
    set(plugins "HWLOC_PLUGINS_PATH=${CMAKE_BINARY_DIR}/none;")
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${MX_TEST_SECONDS} SKIP_RETURN_CODE 77
    ENVIRONMENT "UBSAN_OPTIONS=print_stacktrace=1;TSAN_OPTIONS=second_deadlock_stack=1;\
LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0:${MX_LEAKS};${plugins}${ARGN}")
  # PoCL loads and unloads its kernels: with the storage of their threads LeakSanitizer does not know its way. The double
  # of CUDA asks for its own at each access of a lane: checking it takes a third of the time of a training.
  if(MX_SANITIZE AND name MATCHES "opencl|clblast|share_devices|cuda|nccl|topology")
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "ASAN_OPTIONS=intercept_tls_get_addr=0")
  endif()
  foreach(pattern ${MX_THREAD_TESTS})
    if(name MATCHES "^${pattern}$")
      set_tests_properties(${name} PROPERTIES LABELS threads)
    endif()
  endforeach()
  if(name IN_LIST MX_LONG_TESTS)
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
endfunction()

function(mx_add_tests)
  if(CMOCKA_FOUND)
    set(other_isas "")
    foreach(isa ${MX_ISA_NAMES})
      mx_isa_runs(${isa} runs)
      if(runs)
        list(APPEND other_isas ${isa})
      endif()
    endforeach()
    list(POP_BACK other_isas)
    mx_programs(tests test names PkgConfig::CMOCKA)
    if(MX_SANITIZE STREQUAL "thread")
      # Cases and what they should give are made by one thread in memory of its own; device/cases/op_run.c, which
      # hands on copies, is watched.
      file(GLOB alone CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/ops/*.c ${CMAKE_SOURCE_DIR}/src/device/cases/*.c)
      list(FILTER alone EXCLUDE REGEX "/op_run\\.c$")
      set_source_files_properties(${alone} PROPERTIES COMPILE_OPTIONS -fno-sanitize=thread)
    endif()
    mx_add_double()
    mx_add_http_double()
    mx_add_sweep()
    foreach(name ${names})
      add_test(NAME ${name} COMMAND ${name})
      mx_test_limits(${name})
      # It keeps a compiler busy on each core, ten seconds for each generation: the oldest, the first with bf16 and the
      # newest are enough here. `make kernel-table` takes all.
      if(name STREQUAL "test_nvrtc")
        mx_test_limits(${name} "MYXTTS_TEST_ARCHS=70 80 120")
        set_tests_properties(${name} PROPERTIES TIMEOUT 600 PROCESSORS 2 FIXTURES_REQUIRED nvrtc)
        add_test(NAME nvrtc COMMAND ${CMAKE_SOURCE_DIR}/scripts/build/nvrtc.sh ${CMAKE_BINARY_DIR})
        set_tests_properties(nvrtc PROPERTIES TIMEOUT 600 FIXTURES_SETUP nvrtc)
      endif()
      # Once more with what the real NVRTC makes of the kernels, executed by the PTX machine (tests/double/ptx.h). The one
      # that plants faults comes first: it leaves the compiled kernels in the cache. `make test-ptx` runs more.
      if(name STREQUAL "test_ptx_mutants")
        set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED nvrtc FIXTURES_SETUP ptx)
      elseif(name MATCHES "^test_cuda_(ops|train)$" AND NOT MX_SANITIZE)
        add_test(NAME ${name}@ptx COMMAND ${name})
        mx_test_limits(${name}@ptx CUDA_DOUBLE_PTX=1)
        set_tests_properties(${name}@ptx PROPERTIES FIXTURES_REQUIRED ptx)
      endif()
      # A portable build has several kernels for each operation; the test above took the best, these take the others.
      if(name MATCHES "^test_ops_")
        foreach(isa ${other_isas})
          add_test(NAME ${name}@${isa} COMMAND ${name})
          mx_test_limits(${name}@${isa} MYXTTS_ISA=${isa})
        endforeach()
      endif()
    endforeach()
  endif()
  foreach(example ${examples})
    get_filename_component(name ${example} NAME_WE)
    mx_test_wanted(example_${name} wanted)
    # One that needs arguments has a script, which gets its path as $2.
    if(wanted AND NOT EXISTS ${CMAKE_SOURCE_DIR}/tests/example_${name}.sh)
      add_test(NAME example_${name} COMMAND example_${name})
      mx_test_limits(example_${name})
    endif()
  endforeach()
  # Scripts start the program themselves: in a cross build through one that starts the emulator.
  set(program $<TARGET_FILE:myxtts>)
  if(CMAKE_CROSSCOMPILING AND CMAKE_CROSSCOMPILING_EMULATOR)
    set(program ${CMAKE_BINARY_DIR}/emulated/myxtts)
    file(CONFIGURE OUTPUT ${program} CONTENT
         "#!/bin/sh\nexec ${CMAKE_CROSSCOMPILING_EMULATOR} '${CMAKE_BINARY_DIR}/myxtts' \"$@\"\n" @ONLY)
    file(CHMOD ${program} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  endif()
  file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/*.sh)
  # What several of them start from is made by setup tests: those that `tones …` and `fixture NAME …` at the beginning of a
  # line ask for (tests/support/tones.sh).
  set(fixtures "")
  foreach(script ${scripts})
    get_filename_component(name ${script} NAME_WE)
    mx_test_wanted(${name} wanted)
    if(wanted)
      set(example "")
      if(name MATCHES "^example_")
        set(example $<TARGET_FILE:${name}>)
      endif()
      add_test(NAME ${name} COMMAND bash ${script} ${program} ${example})
      mx_test_limits(${name})
      file(STRINGS ${script} calls REGEX "^ *(tones|fixture) ")
      list(TRANSFORM calls REPLACE "^ *(fixture +)?([a-z]+) .*" "\\2")
      list(REMOVE_DUPLICATES calls)
      set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED "${calls}")
      list(APPEND fixtures ${calls})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES fixtures)
  foreach(fixture ${fixtures})
    add_test(NAME fixture_${fixture} COMMAND bash ${CMAKE_SOURCE_DIR}/tests/support/fixture.sh ${program} ${fixture})
    mx_test_limits(fixture_${fixture})
    set_tests_properties(fixture_${fixture} PROPERTIES FIXTURES_SETUP ${fixture})
  endforeach()
endfunction()

function(mx_add_benches)
  set(fftw "")
  if(FFTW_FOUND)
    add_library(bench_fftw INTERFACE)
    target_link_libraries(bench_fftw INTERFACE PkgConfig::FFTW)
    target_compile_definitions(bench_fftw INTERFACE MX_HAVE_FFTW)
    set(fftw bench_fftw)
  endif()
  mx_programs(bench bench names ${fftw})
  # A fair peer: with these its square roots and logarithms are vectorised.
  set_source_files_properties(${CMAKE_SOURCE_DIR}/bench/plain_mel.c PROPERTIES COMPILE_OPTIONS -ffast-math)
  file(GLOB tools CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/speech/*.c ${CMAKE_SOURCE_DIR}/bench/serve/*.c)
  foreach(tool ${tools})
    get_filename_component(name ${tool} NAME_WE)
    add_executable(${name} ${tool})
    target_link_libraries(${name} PRIVATE libmyxtts)
  endforeach()
endfunction()

# A fuzz target is tests/fuzz/fuzz_<name>.c with LLVMFuzzerTestOneInput; `make fuzz` runs each for a while. tests/fuzz/fuzz.c
# begins each of them.
function(mx_add_fuzzers)
  add_library(fuzz OBJECT ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz.c)
  target_link_libraries(fuzz PRIVATE libmyxtts)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE fuzz libmyxtts)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  endforeach()
endfunction()
