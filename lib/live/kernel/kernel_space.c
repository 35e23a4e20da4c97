/* SPDX-License-Identifier: MIT */
#include "lib/live/kernel/kernel_space.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/live/kernel/kernel_modules.h"
#include "lib/live/kernel/kernel_notes.h"
#include "lib/stream/record/record.h"

/* _text is near the beginning, after the per-CPU symbols. Reading the rest takes 30 ms. */
#define KALLSYMS_FIRST (16u << 10)
#define KALLSYMS_MAX (1u << 20)
/* Offset of _stext in the image, aligned by the linker. 6.1 on arm64 does not list _text. */
#define ARM64_IMAGE_HEADER (64u << 10)
/*
 * Upper bound for the image's size. The true end would cost reading half the symbols, and little
 * depends on it: the only other code this close after the image is modules, which are mapped on
 * top.
 */
#define IMAGE_SIZE_MAX (256u << 20)
/* Start of modules and BPF programs on x86-64, independent of KASLR. */
#define X86_64_MODULES 0xffffffffc0000000ull
#define IMAGE_PATH "[kernel.kallsyms]"

struct kernel_space {
	struct module_registry *modules;
	record_sink_fn *sink;
	void *ctx;
	uint64_t time;
};

static void send_map(const struct kernel_space *k, uint32_t module, uint64_t start, uint64_t end,
		     uint64_t offset)
{
	struct rec_map map = {.start = start, .end = end, .file_offset = offset};

	record_init(&map.rec, REC_MAP, sizeof(map), k->time, 0, 0);
	map.rec.flags = MAP_KERNEL_SPACE;
	map.module_id = module;
	k->sink(k->ctx, &map.rec);
}

/* Does the line "ffffffff81000000 T _text" name this symbol? */
static bool line_is(const char *line, const char *end, const char *symbol)
{
	size_t size = strlen(symbol);
	const char *name = end;

	while (name > line && name[-1] != ' ')
		name--;
	return (size_t)(end - name) == size && !memcmp(name, symbol, size);
}

uint64_t kernel_space_find_image(const char *kallsyms)
{
	uint64_t code = 0;

	for (const char *line = kallsyms; *line;) {
		const char *end = strchrnul(line, '\n');
		const char *at = line;
		uint64_t addr = 0;

		text_scan_hex(&at, end, &addr);
		if (line_is(line, end, "_text"))
			return addr;
		if (code && addr > code)
			return code - ARM64_IMAGE_HEADER;
		if (line_is(line, end, "_stext"))
			code = addr;
		line = *end ? end + 1 : end;
	}
	return 0;
}

static uint64_t read_image_start(void)
{
	uint64_t start = 0;

	for (size_t max = KALLSYMS_FIRST; !start && max <= KALLSYMS_MAX; max *= 8) {
		_cleanup_free_ char *kallsyms = text_read_file("/proc/kallsyms", max, NULL);

		if (!kallsyms)
			break;
		start = kernel_space_find_image(kallsyms);
	}
	return start;
}

static uint64_t image_end(uint64_t start)
{
	uint64_t end = start + IMAGE_SIZE_MAX;

	return start < X86_64_MODULES && end > X86_64_MODULES ? X86_64_MODULES : end;
}

/* Finds the image's base and build id. False: addresses are hidden. */
static bool find_image(struct special_module *image)
{
	*image = (struct special_module){.kind = MODULE_KERNEL, .path = IMAGE_PATH, .fd = -1};
	image->base = read_image_start();
	if (image->base)
		kernel_notes_read_build_id("/sys/kernel/notes", image);
	return image->base;
}

static bool send_image(const struct kernel_space *k)
{
	struct special_module image;

	if (!find_image(&image)) {
		log_debug("kernel addresses are hidden: see kernel.kptr_restrict");
		return false;
	}
	image.fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	send_map(k, module_registry_add_special(k->modules, k->time, &image), image.base,
		 image_end(image.base), 0);
	return true;
}

bool kernel_space_find(const char *path, struct special_module *found)
{
	return strcmp(path, IMAGE_PATH) == 0 ? find_image(found) : kernel_modules_find(path, found);
}

bool kernel_space_send(struct module_registry *modules, record_sink_fn *sink, void *ctx,
		       uint64_t time)
{
	struct kernel_space k = {.modules = modules, .sink = sink, .ctx = ctx, .time = time};
	struct special_module dynamic = {
		.kind = MODULE_KERNEL_DYNAMIC, .path = "[kernel.dynamic]", .fd = -1};
	const uint64_t upper_half = 1ull << 63;

	/* Map the whole upper half first; later mappings replace parts of it. */
	dynamic.fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	send_map(&k, module_registry_add_special(modules, time, &dynamic), upper_half, UINT64_MAX,
		 upper_half);
	return send_image(&k);
}
