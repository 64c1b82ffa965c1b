# SPDX-License-Identifier: GPL-3.0-or-later
#
# A cross build for aarch64 from Debian's packages (group arm64 of scripts/packages.txt): cmake --toolchain cmake/aarch64.cmake.
# Libraries and headers of both architectures stand side by side in /usr; programs run in qemu.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
# Those of two architectures cannot be installed together.
set(MX_MPI OFF CACHE BOOL "MPI is not for cross builds" FORCE)
