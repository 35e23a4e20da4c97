/* SPDX-License-Identifier: MIT */
/* Checks of targets, and the bytes of the fuzzer as a file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require_at(bool condition, const char *text, int line)
{
	if (condition)
		return;
	fprintf(stderr, "line %d: %s\n", line, text);
	abort();
}

#define require(condition) require_at(condition, #condition, __LINE__)

/* Returns a descriptor; close it. */
static inline int input_open(const uint8_t *data, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	return fd;
}
