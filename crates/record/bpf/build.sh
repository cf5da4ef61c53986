#!/bin/sh
# Compiles the kernel programs to the object that is committed and embedded. Needs clang 14 or newer.
# The hash of the sources is kept beside the object, so that a stale object is noticed without clang.
set -eu
cd "$(dirname "$0")"
clang -g -O2 -Wall -Werror -target bpf -mcpu=v3 -fdebug-prefix-map="$PWD"=. \
	-I"/usr/include/$(uname -m)-linux-gnu" -c longpole.bpf.c -o "${1:-longpole.bpf.o}"
if [ $# -eq 0 ]; then
	sha256sum longpole.bpf.c records.h kernel.h > sources.sha256
fi
