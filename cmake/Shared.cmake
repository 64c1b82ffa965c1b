# SPDX-License-Identifier: GPL-3.0-or-later
#
# libmyxtts.so beside libmyxtts.a, made of the same objects: they are compiled once, position-independent. Calls inside the
# library go straight to their target (-fno-semantic-interposition, -Bsymbolic-functions), so the objects are as fast in the
# program, which is linked with libmyxtts.a. cmake/libmyxtts.map lists the symbols that the library shows; tests/install.sh
# compares them with the public headers.
#
# Instrumented builds have no shared library: nobody installs them.

if(MX_SANITIZE OR MX_FUZZ OR MX_COVERAGE)
  set(MX_SHARED FALSE)
else()
  set(MX_SHARED TRUE)
endif()

# Makes the objects of `target` usable in a shared library.
function(mx_shared_objects target)
  if(MX_SHARED)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  endif()
endfunction()

# The shared library of everything that is in the static one. MX_TESTS leaves it out unless a test that was asked for uses it.
function(mx_shared_library)
  if(NOT MX_SHARED)
    return()
  endif()
  set(map ${CMAKE_SOURCE_DIR}/cmake/libmyxtts.map)
  set(all "")
  if(MX_TESTS AND NOT "install" MATCHES "${MX_TESTS}" AND NOT "python" MATCHES "${MX_TESTS}")
    set(all EXCLUDE_FROM_ALL)
  endif()
  add_library(libmyxtts_shared SHARED ${all} ${map})
  set_target_properties(libmyxtts_shared PROPERTIES OUTPUT_NAME myxtts LINKER_LANGUAGE C VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${map})
  target_link_libraries(libmyxtts_shared PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,libmyxtts>)
  target_link_options(libmyxtts_shared PRIVATE LINKER:--version-script=${map} LINKER:--no-undefined
                      LINKER:-Bsymbolic-functions)
  install(TARGETS libmyxtts_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()
