#!/bin/bash -eu
# SPDX-License-Identifier: MIT
#
# Build the fuzzers as OSS-Fuzz asks for it: with $CC, $CXX, $CFLAGS, $CXXFLAGS and $LIB_FUZZING_ENGINE, from the source
# in the current folder, into $OUT. tests/fuzz/run.py builds with this file too.
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT

number=0
while read -r source; do
	number=$((number + 1))
	$CC $CFLAGS -std=gnu11 -DHF_STATIC_LIBRARY -Iinclude -c "$source" -o "$objects/$number.o"
done < <(cat src/sources.txt; echo lab/variants/nofault/implementations.c)

for fuzzer in tests/fuzz/*.c; do
	name=$(basename "$fuzzer" .c)
	$CC $CFLAGS -std=gnu11 -Iinclude -c "$fuzzer" -o "$objects/$name.fuzzer.o"
	$CXX $CXXFLAGS "$objects/$name.fuzzer.o" "$objects"/[0-9]*.o $LIB_FUZZING_ENGINE -pthread -o "$OUT/$name"
	printf '[libfuzzer]\nmax_len = 16\n' > "$OUT/$name.options"
done
