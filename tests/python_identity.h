/* SPDX-License-Identifier: MIT */
/* The identity of a code object in an image of memory at address 0, as bpf/runtimes computes it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "bpf/runtime_identity.h"
#include "bpf/runtime_layout.h"

struct python_image {
	uint8_t *data;
	size_t size;
};

static inline bool image_read(void *ctx, uint64_t addr, void *to, size_t size)
{
	const struct python_image *image = ctx;

	if (addr > image->size || size > image->size - addr)
		return false;
	memcpy(to, image->data + addr, size);
	return true;
}

static inline uint64_t image_u64(struct python_image *image, uint64_t addr)
{
	uint64_t value = 0;

	image_read(image, addr, &value, sizeof(value));
	return value;
}

static inline uint64_t image_identity(struct python_image *image, const struct python_layout *l,
				      uint64_t code)
{
	uint64_t sum = RUNTIME_IDENTITY_SEED, text[IDENTITY_TEXT_MAX / 8] = {0};
	uint64_t file = image_u64(image, code + l->code_file);
	uint64_t length = image_u64(image, file + l->string_length);
	uint32_t state = l->string_form ? l->string_form
					: (uint32_t)image_u64(image, file + l->string_state) >> 2;
	uint64_t size = length * (state & 7), hash = 0;

	for (unsigned int i = 2; i < PYTHON_CODE_WORDS; i++) {
		uint64_t word = i < l->code_size / 8u ? image_u64(image, code + 8 * i) : 0;

		sum = runtime_identity_add(sum, word & l->code_identity[i]);
	}
	if (!l->has_file_check)
		return sum;
	if (length >= IDENTITY_TEXT_MAX || size > IDENTITY_TEXT_MAX)
		size = IDENTITY_TEXT_MAX;
	if (image_read(image, file + (state & 16 ? l->string_ascii : l->string_other), text,
		       size)) {
		hash = runtime_identity_add(0, length);
		for (size_t n = 0; n < IDENTITY_TEXT_MAX / 8; n++)
			hash = runtime_identity_add(hash, text[n]);
	}
	return runtime_identity_add(sum, hash);
}
