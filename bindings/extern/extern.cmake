# SPDX-License-Identifier: MIT
# libholdfast-extern: every inline function as a symbol, for languages that can't include C headers.
# src/extern.h explains how the headers become symbols.
set(HF_EXTERN_DIR ${CMAKE_CURRENT_LIST_DIR})
set(HF_EXTERN_SOURCES
	${HF_EXTERN_DIR}/src/cond.c
	${HF_EXTERN_DIR}/src/constants.c
	${HF_EXTERN_DIR}/src/lockref.c
	${HF_EXTERN_DIR}/src/mutex.c
	${HF_EXTERN_DIR}/src/mutex_recursive.c
	${HF_EXTERN_DIR}/src/nofault.c
	${HF_EXTERN_DIR}/src/rcuref.c
	${HF_EXTERN_DIR}/src/refcount.c
	${HF_EXTERN_DIR}/src/refcount_lock.c
	${HF_EXTERN_DIR}/src/rwlock.c
	${HF_EXTERN_DIR}/src/spinlock.c)

add_library(holdfast_extern STATIC ${HF_EXTERN_SOURCES})
add_library(holdfast_extern_shared SHARED ${HF_EXTERN_SOURCES})
target_link_libraries(holdfast_extern PUBLIC holdfast)
target_link_libraries(holdfast_extern_shared PUBLIC holdfast_shared)
foreach(target holdfast_extern holdfast_extern_shared)
	add_library(holdfast::${target} ALIAS ${target})
	hf_own_code(${target})
	set_target_properties(${target} PROPERTIES
		OUTPUT_NAME holdfast-extern
		C_VISIBILITY_PRESET hidden
		POSITION_INDEPENDENT_CODE ON)
endforeach()
target_link_options(holdfast_extern_shared PRIVATE
	-Wl,--version-script=${HF_EXTERN_DIR}/extern.map)
set_target_properties(holdfast_extern_shared PROPERTIES
	VERSION ${PROJECT_VERSION}
	SOVERSION 1
	LINK_DEPENDS ${HF_EXTERN_DIR}/extern.map)
