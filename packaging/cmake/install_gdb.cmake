# SPDX-License-Identifier: MIT
# Installs gdb's script, and autoload.py where gdb looks for a script when it loads the shared library: in the folder
# auto-load/<path of the library> of gdb's data folder, which is /usr/share/gdb as a rule. The path has the prefix of
# `cmake --install`, which may be another than was configured.
install(FILES ${PROJECT_SOURCE_DIR}/packaging/share/gdb/holdfast.py
	DESTINATION ${CMAKE_INSTALL_DATADIR}/holdfast/gdb)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
	set(HF_GDB_LIBDIR ${CMAKE_INSTALL_LIBDIR})
else()
	set(HF_GDB_LIBDIR "\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}")
endif()
install(FILES ${PROJECT_SOURCE_DIR}/packaging/share/gdb/autoload.py
	DESTINATION ${CMAKE_INSTALL_DATADIR}/gdb/auto-load/${HF_GDB_LIBDIR}
	RENAME $<TARGET_FILE_NAME:holdfast_shared>-gdb.py)
