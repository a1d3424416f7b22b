# SPDX-License-Identifier: MIT
# hf_lab_rust(<library> <version>): builds the Rust peers offline from Debian's crates, with the first
# cargo that can: the first one on the path, then the system's, which may be older or newer. Sets
# <library> to the static library and <version> to the compiler's version, or both to "". It runs at
# each configuration, since cargo rebuilds only what changed.
function(hf_lab_rust library version)
	set(${library} "" PARENT_SCOPE)
	set(${version} "" PARENT_SCOPE)
	set(source ${CMAKE_CURRENT_SOURCE_DIR}/peers/rust)
	set(crate ${CMAKE_CURRENT_BINARY_DIR}/rust)
	set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
		${source}/Cargo.toml ${source}/lib.rs ${source}/config.toml)
	find_program(HF_CARGO cargo)
	find_program(HF_CARGO_OF_SYSTEM cargo PATHS /usr/bin NO_DEFAULT_PATH)
	mark_as_advanced(HF_CARGO HF_CARGO_OF_SYSTEM)
	set(cargos ${HF_CARGO} ${HF_CARGO_OF_SYSTEM})
	list(REMOVE_DUPLICATES cargos)
	foreach(cargo ${cargos})
		if(NOT EXISTS ${cargo})
			continue()
		endif()
		cmake_path(GET cargo PARENT_PATH folder)
		string(MD5 name ${cargo})
		set(home ${crate}/${name})
		# Each cargo has its own copy of the crate, since formats of the lock file differ.
		foreach(file Cargo.toml lib.rs config.toml)
			configure_file(${source}/${file} ${home}/${file} COPYONLY)
		endforeach()
		set(with ${CMAKE_COMMAND} -E env --unset=RUSTFLAGS --unset=CARGO_BUILD_TARGET
			CARGO_HOME=${home} RUSTC=${folder}/rustc)
		execute_process(COMMAND ${with} ${cargo} build --quiet --release --offline
			--target-dir ${home}/target
			WORKING_DIRECTORY ${home} RESULT_VARIABLE failed
			OUTPUT_QUIET ERROR_FILE ${home}/errors.txt)
		if(NOT failed AND EXISTS ${home}/target/release/libhf_lab_peers.a)
			execute_process(COMMAND ${with} ${folder}/rustc --version
				OUTPUT_VARIABLE compiler OUTPUT_STRIP_TRAILING_WHITESPACE)
			string(REGEX REPLACE " \\(.*" "" compiler "${compiler}")
			set(${library} ${home}/target/release/libhf_lab_peers.a PARENT_SCOPE)
			set(${version} "${compiler}" PARENT_SCOPE)
			return()
		endif()
		message(STATUS "${cargo} can't build the lab's Rust peers: see ${home}/errors.txt")
	endforeach()
endfunction()
