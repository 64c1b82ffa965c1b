# SPDX-License-Identifier: GPL-3.0-or-later
#
# What is installed besides program, library and headers: manual page, completion of shells, documentation with examples and
# settings (in the folders in which it stands here, so that its links hold), and the Debian package.

# Debian has a folder of its own for packages.
if(MX_PACKAGE)
  set(zsh_folder ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
else()
  set(zsh_folder ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()

# The program writes its completions itself, where it can run. Instrumented programs may not run everywhere, and nobody
# installs them.
if(MX_RUNS_HERE AND NOT MX_SANITIZE AND NOT MX_FUZZ AND NOT MX_COVERAGE)
  set(bash_script ${CMAKE_BINARY_DIR}/completion/myxtts)
  set(zsh_script ${CMAKE_BINARY_DIR}/completion/_myxtts)
  add_custom_command(OUTPUT ${bash_script} ${zsh_script}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/completion
    COMMAND myxtts completion bash --output ${bash_script}
    COMMAND myxtts completion zsh --output ${zsh_script}
    DEPENDS myxtts VERBATIM)
  add_custom_target(completion ALL DEPENDS ${bash_script} ${zsh_script})
  install(FILES ${bash_script} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${zsh_script} DESTINATION ${zsh_folder})
endif()

if(MX_PACKAGE) # as Debian wants it
  set(manual ${CMAKE_BINARY_DIR}/myxtts.1.gz)
  add_custom_command(OUTPUT ${manual} COMMAND gzip -9n < ${CMAKE_SOURCE_DIR}/docs/myxtts.1 > ${manual}
                     DEPENDS ${CMAKE_SOURCE_DIR}/docs/myxtts.1)
  add_custom_target(manual ALL DEPENDS ${manual})
  install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/copyright CONTENT "MyXTTS ${PROJECT_VERSION}

Copyright: the MyXTTS contributors
License: GPL-3.0-or-later
 On Debian systems the text of the GNU General Public License, version 3, is in /usr/share/common-licenses/GPL-3.
")
  install(FILES ${CMAKE_BINARY_DIR}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
else()
  install(FILES docs/myxtts.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
install(FILES README.md README.fa.md MODEL.md SPEED.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN "*.1" EXCLUDE)
install(DIRECTORY python DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN __pycache__ EXCLUDE PATTERN "*.egg-info" EXCLUDE
        PATTERN build EXCLUDE)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} USE_SOURCE_PERMISSIONS)

# --- voices ------------------------------------------------------------------------------------------------------------

# Those of voices/, or of the folder that INSTALL_VOICES names (a relative one in the source tree): what is there when it is
# installed, so that a voice that is trained later needs no new build.
install(CODE "
  set(folder voices)
  if(NOT \"\$ENV{INSTALL_VOICES}\" STREQUAL \"\")
    set(folder \"\$ENV{INSTALL_VOICES}\")
  endif()
  get_filename_component(folder \"\${folder}\" ABSOLUTE BASE_DIR \"${CMAKE_SOURCE_DIR}\")
  file(GLOB voices \"\${folder}/*.safetensors\" \"\${folder}/README.md\")
  if(voices)
    file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/myxtts/voices\" TYPE FILE FILES \${voices})
  endif()")

# --- the service of systemd -------------------------------------------------------------------------------------------

# The unit names the program by its whole path, which is known only when it is installed.
install(CODE "
  set(MX_PROGRAM \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/myxtts\")
  set(MX_DEFAULTS /etc/default/myxtts)
  configure_file(\"${CMAKE_SOURCE_DIR}/packaging/myxtts.service.in\" \"${CMAKE_BINARY_DIR}/myxtts.service\" @ONLY)")
install(FILES ${CMAKE_BINARY_DIR}/myxtts.service DESTINATION lib/systemd/system)
if(MX_PACKAGE) # outside the prefix: only a package may do that
  install(FILES packaging/myxtts.default DESTINATION /etc/default RENAME myxtts)
  install(DIRECTORY DESTINATION /var/lib/myxtts/voices)
  file(WRITE ${CMAKE_BINARY_DIR}/conffiles "/etc/default/myxtts\n")
  set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/conffiles)
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
else()
  install(FILES packaging/myxtts.default DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples RENAME myxtts.default)
endif()

# --- the package ----------------------------------------------------------------------------------------------------

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME myxtts)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
# Who builds a package for others says so in Debian's usual variables; the address here is one that cannot exist.
if(DEFINED ENV{DEBEMAIL} AND DEFINED ENV{DEBFULLNAME})
  set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
else()
  set(CPACK_PACKAGE_CONTACT "MyXTTS contributors <myxtts@localhost.invalid>")
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "trains text-to-speech voices from recordings, and speaks with them")
set(CPACK_PACKAGE_DESCRIPTION
    "A folder of recordings with their texts, English or Persian, becomes a
voice. Two devices share the work: one prepares batches while the other
trains, each under its own memory limit. 'myxtts devices' tells which
devices can be used and what would add others. The library and headers
for your own programs are included.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION sound)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON) # libmyxtts.so, and that ldconfig must see it
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "espeak-ng, flite, libclblast1, ocl-icd-libopencl1")
include(CPack)
