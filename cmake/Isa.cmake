# SPDX-License-Identifier: GPL-3.0-or-later
#
# Which instruction sets the code is built for.
#
# Default: everything for the machine that builds (MX_MARCH=native), or for another processor that the compiler knows
# (MX_MARCH=x86-64-v3, znver3, armv8.2-a). MX_PORTABLE=ON: everything for x86-64-v2, and the kernels in
# src/device/cpu/isa/*.c once per variant of the table below; the program picks one at run time. Elsewhere than on x86-64 it
# means the baseline of the architecture.
# Each variant compiles the same sources with -DMX_ISA=<name>; the sources must put that name into every external
# symbol. <build>/generated/mx_isa_list.h lists the variants that were built, best last:
#
#     #define MX_ISA_LIST(X) X(base) X(avx2) X(avx512)
#
# A build for one processor has one variant, called after what src/device/cpu/isa/vec.h makes of it: base, avx2, avx512
# or neon.
# Sets MX_ISA_LABEL (for people), MX_ISA_NAMES (the list) and MX_ISA_OPTIONS_<name>; adds the global options.

include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckCSourceRuns)

option(MX_PORTABLE "one binary for all x86-64 machines; CPU kernels are picked at run time" OFF)
set(MX_MARCH "native" CACHE STRING "the processor to build for, as the compiler calls it; native: this machine's")

# Ends the configuration with one message, which scripts/build.sh shows instead of all that went before.
function(mx_refuse text)
  file(WRITE ${CMAKE_BINARY_DIR}/refused.txt "${text}\n")
  message(FATAL_ERROR "${text}")
endfunction()

# The option by which the compiler builds for MX_MARCH. An AArch64 compiler has one for architectures, one for processors.
function(mx_isa_option out)
  if(NOT MX_MARCH MATCHES "^[A-Za-z0-9][A-Za-z0-9._+-]*$")
    mx_refuse("MARCH=${MX_MARCH} is no name of a processor; write one as in MARCH=native or MARCH=x86-64-v3")
  endif()
  if(CMAKE_CROSSCOMPILING AND MX_MARCH STREQUAL "native")
    set(${out} "" PARENT_SCOPE) # the machine that builds is another one: the compiler's baseline
    return()
  endif()
  string(MAKE_C_IDENTIFIER ${MX_MARCH} id)
  check_c_compiler_flag(-march=${MX_MARCH} MX_KNOWS_MARCH_${id})
  if(MX_KNOWS_MARCH_${id})
    set(${out} -march=${MX_MARCH} PARENT_SCOPE)
    return()
  endif()
  if(NOT is_x86)
    check_c_compiler_flag(-mcpu=${MX_MARCH} MX_KNOWS_MCPU_${id})
    if(MX_KNOWS_MCPU_${id})
      set(${out} -mcpu=${MX_MARCH} PARENT_SCOPE)
      return()
    endif()
  endif()
  if(MX_MARCH STREQUAL "native")
    set(${out} "" PARENT_SCOPE) # nobody asked for it: the compiler's baseline
    return()
  endif()
  mx_refuse("the compiler (${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}) knows no processor MARCH=${MX_MARCH} for \
${CMAKE_SYSTEM_PROCESSOR}
  hint: this prints the names it knows: ${CMAKE_C_COMPILER} -march=unknown -E -x c /dev/null")
endfunction()

# Which kernels src/device/cpu/isa/vec.h makes with `option`: the same conditions as there.
function(mx_isa_level option out)
  string(MAKE_C_IDENTIFIER "${option}" id)
  set(CMAKE_REQUIRED_FLAGS "${option}")
  check_c_source_compiles("
    #if !defined(__AVX512F__) || !defined(__AVX512DQ__) || !defined(__AVX512BW__) || !defined(__AVX512VL__)
    #error no AVX-512
    #endif
    int main(void) { return 0; }" MX_AVX512_${id})
  check_c_source_compiles("
    #if !defined(__AVX2__) || !defined(__FMA__)
    #error no AVX2
    #endif
    int main(void) { return 0; }" MX_AVX2_${id})
  check_c_source_compiles("
    #if !defined(__aarch64__) || !defined(__ARM_NEON)
    #error no NEON
    #endif
    int main(void) { return 0; }" MX_NEON_${id})
  if(MX_AVX512_${id})
    set(${out} avx512 PARENT_SCOPE)
  elseif(MX_AVX2_${id})
    set(${out} avx2 PARENT_SCOPE)
  elseif(MX_NEON_${id})
    set(${out} neon PARENT_SCOPE)
  else()
    set(${out} base PARENT_SCOPE)
  endif()
endfunction()

set(wide -mprefer-vector-width=512)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(is_x86 TRUE)
  set(oldest -march=x86-64)
else()
  set(is_x86 FALSE)
  set(oldest "")
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    set(oldest -march=armv8-a)
  endif()
endif()

if(MX_PORTABLE AND NOT MX_MARCH STREQUAL "native")
  mx_refuse("MARCH=${MX_MARCH} and a portable build exclude each other
  hint: leave out MARCH to make one program for all machines, or PORTABLE=1 (make package, make portable) to build for one processor")
elseif(MX_PORTABLE AND is_x86)
  set(MX_BUILD_TARGET x86-64-v2)
  set(option -march=x86-64-v2)
  add_compile_options(${option})
  set(MX_ISA_NAMES base avx2 avx512)
  set(MX_ISA_OPTIONS_base "")
  set(MX_ISA_OPTIONS_avx2 -march=x86-64-v3)
  set(MX_ISA_OPTIONS_avx512 -march=x86-64-v4 ${wide})
  set(MX_ISA_LABEL "portable x86-64: base, AVX2 and AVX-512 kernels, picked at run time")
else()
  set(option "")
  set(MX_BUILD_TARGET ${CMAKE_SYSTEM_PROCESSOR})
  if(NOT MX_PORTABLE)
    mx_isa_option(option)
  endif()
  mx_isa_level("${option}" MX_ISA_NAMES)
  set(MX_ISA_OPTIONS_${MX_ISA_NAMES} "")
  set(MX_ISA_LABEL "${CMAKE_SYSTEM_PROCESSOR} (the compiler's baseline, ${MX_ISA_NAMES} kernels)")
  if(option)
    set(MX_BUILD_TARGET ${MX_MARCH})
    set(MX_ISA_LABEL "${MX_MARCH} (${MX_ISA_NAMES} kernels)")
    add_compile_options(${option})
  endif()
  if(MX_BUILD_TARGET STREQUAL "native")
    set(MX_ISA_LABEL "this machine (${CMAKE_SYSTEM_PROCESSOR}, ${MX_ISA_NAMES} kernels)")
  endif()
  if(MX_ISA_NAMES STREQUAL "avx512")
    add_compile_options(${wide})
  endif()
endif()

# The check at the start of programs must run on any processor (src/base/processor.c).
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/base/processor.c PROPERTIES COMPILE_OPTIONS "${oldest}")
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/base/processor_needs.c PROPERTIES COMPILE_DEFINITIONS
                            "MX_BUILD_TARGET=\"${MX_BUILD_TARGET}\"")

# Whether this machine, or the emulator of a cross build, runs what is built: the check itself tells.
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  set(MX_RUNS_HERE FALSE)
else()
  string(MAKE_C_IDENTIFIER "${option}${MX_PORTABLE}" id)
  set(CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE -DMX_BUILD_TARGET="" -I${CMAKE_SOURCE_DIR}/src)
  set(CMAKE_REQUIRED_FLAGS "${option}")
  check_c_source_runs("
    #include \"base/processor_needs.c\"
    #include \"base/processor.c\"
    int main(void) { return 0; }" MX_RUNS_BUILD_${id})
  unset(CMAKE_REQUIRED_DEFINITIONS)
  unset(CMAKE_REQUIRED_FLAGS)
  set(MX_RUNS_HERE ${MX_RUNS_BUILD_${id}})
endif()
if(NOT MX_RUNS_HERE)
  string(APPEND MX_ISA_LABEL ", which this machine cannot run")
endif()

# Sets `out` to whether this machine can run the kernels of variant `name`.
function(mx_isa_runs name out)
  set(runs ${MX_RUNS_HERE})
  if(runs AND MX_PORTABLE AND (name STREQUAL "avx2" OR name STREQUAL "avx512"))
    string(REPLACE "avx512" "avx512vl" feature ${name})
    check_c_source_runs("int main(void) { return !__builtin_cpu_supports(\"${feature}\"); }" MX_RUNS_${name})
    set(runs ${MX_RUNS_${name}})
  endif()
  set(${out} ${runs} PARENT_SCOPE)
endfunction()

# Adds the kernels of src/device/cpu/isa to `target`, once per variant, and writes the list header.
function(mx_isa_kernels target)
  set(uses "")
  foreach(name ${MX_ISA_NAMES})
    string(APPEND uses " X(${name})")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/mx_isa_list.h CONTENT
       "/* Generated by cmake/Isa.cmake: the variants of src/device/cpu/isa in this build, best last. */\n#define MX_ISA_LIST(X)${uses}\n")
  # No program may be linked without the check at its start.
  target_link_options(${target} INTERFACE LINKER:-u,mx_processor_check)
  target_include_directories(${target} PUBLIC ${CMAKE_BINARY_DIR}/generated)

  file(GLOB_RECURSE kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/device/cpu/isa/*.c)
  if(NOT kernels)
    return()
  endif()
  foreach(name ${MX_ISA_NAMES})
    add_library(isa_${name} OBJECT ${kernels})
    target_include_directories(isa_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src
                               ${CMAKE_BINARY_DIR}/generated)
    target_compile_definitions(isa_${name} PRIVATE MX_ISA=${name})
    # errno and floating-point traps are never looked at; without them square roots and selects vectorise.
    target_compile_options(isa_${name} PRIVATE ${MX_ISA_OPTIONS_${name}} -fno-math-errno -fno-trapping-math)
    if(MX_SANITIZE)
      target_compile_options(isa_${name} PRIVATE -O2)
    elseif(NOT MX_COVERAGE)
      target_compile_options(isa_${name} PRIVATE -O3)
    endif()
    mx_shared_objects(isa_${name})
    # Workers may lose counts to each other, but not the fact that a line was executed; atomic counters in these loops would
    # take most of the time of all tests.
    mx_counted(isa_${name} -fprofile-update=single)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:isa_${name}>)
  endforeach()
endfunction()
