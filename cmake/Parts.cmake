# SPDX-License-Identifier: GPL-3.0-or-later
#
# The report of the parts of the build: a tick for what was found, a cross with the package that would
# add it for what was not. The text goes to <build>/parts.txt; `make info` prints it. Package names are looked up in
# scripts/packages.txt, so they stand in one place only.

set_property(GLOBAL PROPERTY MX_PARTS "")

# The Debian package that provides `part`, "" when scripts/packages.txt does not name one.
function(mx_part_package part out)
  file(STRINGS ${CMAKE_SOURCE_DIR}/scripts/packages.txt lines REGEX "^[a-z]+ +[a-z]+ +[^ ]+ +${part} ")
  set(package "")
  if(lines MATCHES "^[a-z]+ +[a-z]+ +([^ ]+)")
    set(package ${CMAKE_MATCH_1})
  endif()
  set(${out} ${package} PARENT_SCOPE)
endfunction()

# mx_part(hwloc "topology between devices" ${HWLOC_FOUND} ${HWLOC_VERSION} [why it is missing])
# With no reason given, a missing part is explained by its package.
function(mx_part part purpose found version)
  string(LENGTH ${part} length)
  math(EXPR fill "10 - ${length}")
  string(REPEAT " " ${fill} fill)
  if(found)
    set(line "  ✔ ${part}${fill}${purpose} (${version})")
  elseif(ARGC GREATER 4)
    set(line "  ✘ ${part}${fill}${purpose}: ${ARGV4}")
  else()
    mx_part_package(${part} package)
    set(line "  ✘ ${part}${fill}${purpose}: apt-get install ${package}")
  endif()
  set_property(GLOBAL APPEND_STRING PROPERTY MX_PARTS "${line}\n")
endfunction()

# Prints the report and writes it to <build>/parts.txt.
function(mx_parts_report title)
  get_property(parts GLOBAL PROPERTY MX_PARTS)
  file(WRITE ${CMAKE_BINARY_DIR}/parts.txt "${title}\n${parts}")
  message(STATUS "${title}\n${parts}")
endfunction()
