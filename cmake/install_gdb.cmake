# SPDX-License-Identifier: MIT
# gdb's script, and where gdb looks for one when it loads the shared library: in a folder of that
# library's path (and only below its own data folder, /usr/share/gdb as a rule). The prefix is that of
# `cmake --install`, which may choose another than was configured.
install(FILES ${PROJECT_SOURCE_DIR}/share/gdb/holdfast.py
	DESTINATION ${CMAKE_INSTALL_DATADIR}/holdfast/gdb)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
	set(HF_GDB_LIBDIR ${CMAKE_INSTALL_LIBDIR})
else()
	set(HF_GDB_LIBDIR "\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}")
endif()
install(FILES ${PROJECT_SOURCE_DIR}/share/gdb/autoload.py
	DESTINATION ${CMAKE_INSTALL_DATADIR}/gdb/auto-load/${HF_GDB_LIBDIR}
	RENAME $<TARGET_FILE_NAME:holdfast_shared>-gdb.py)
