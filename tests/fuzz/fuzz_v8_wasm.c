/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the memory of a process in which V8's tables of WebAssembly are searched. The first
 * two words are an address of code, and one of an object; both are in the memory or anywhere.
 */
#include <string.h>

#include "lib/code/runtimes/v8_wasm.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/text_check.h"

struct image {
	const uint8_t *data;
	size_t size;
};

static bool image_read(void *ctx, uint64_t addr, void *to, size_t size)
{
	const struct image *image = ctx;

	if (addr > image->size || size > image->size - addr)
		return false;
	memcpy(to, image->data + addr, size);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image image = {data, size};
	struct wasm_modules modules = {0};
	uint64_t head[2];

	if (size < sizeof(head))
		return 0;
	memcpy(head, data, sizeof(head));
	if (!v8_wasm_engine.find_spaces(&modules, head[1], head[0], image_read, &image))
		modules.spaces = head[1];
	/* Pieces that are known by then are found again. */
	for (uint64_t i = 0; i < 8; i++) {
		struct sampled_code code = {0};
		uint64_t addr = head[0] + i % 4 * 0x400;

		if (v8_wasm_engine.find_code(&modules, addr, image_read, &image, &code)) {
			check_text(&code.name);
			if (addr - code.start >= code.size)
				abort();
		}
		strbuf_release(&code.name);
	}
	wasm_modules_release(&modules);
	return 0;
}
