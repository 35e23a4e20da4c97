/* SPDX-License-Identifier: MIT */
/* The fuzzer's bytes as a file, for readers that take a descriptor. */
#ifndef PROF_TESTS_FUZZ_INPUT_H
#define PROF_TESTS_FUZZ_INPUT_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns a descriptor; close it. */
static inline int input_open(const uint8_t *data, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	return fd;
}

#endif
