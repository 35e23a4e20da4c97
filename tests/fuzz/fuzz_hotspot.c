/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the memory of a process with a JVM, whose tables are read, its code found, and then
 * a function of it. First struct head.
 */
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/code/runtimes/hotspot_names.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/text_check.h"

struct head {
	uint16_t offsets[52]; /* of struct hotspot_layout */
	struct hotspot_function_head function;
	uint16_t units;
	uint8_t flags, name_size, file_size, padding[3];
};

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

static void check(const struct managed_code *code, uint32_t units)
{
	uint32_t last = 0;

	check_text(&code->name);
	check_text(&code->file);
	vec_for_each(&code->inlined, const struct managed_function *, it) {
		check_text(&it->name);
		check_text(&it->file);
	}
	vec_for_each(&code->lines, const struct managed_line *, line) {
		if (line->unit < last || line->function > code->inlined.count ||
		    (code->inlined.count && line->unit >= units))
			abort();
		last = line->unit;
	}
}

static void read_function(const struct head *head, struct image *image)
{
	struct runtime_layout layout = {.kind = RUNTIME_HOTSPOT};
	size_t names = (size_t)head->name_size + head->file_size;
	struct rec_function *f = xcalloc(1, sizeof(*f) + names + sizeof(head->function));
	struct managed_code code = {0};

	memcpy((char *)&layout.hotspot + offsetof(struct hotspot_layout, version), head->offsets,
	       sizeof(head->offsets));
	layout.hotspot.flags |= HOTSPOT_IS_COMPLETE;
	if (hotspot_layout_is_sane(&layout.hotspot)) {
		f->units = head->units + 1u;
		f->name.size = head->name_size;
		f->file.size = head->file_size;
		f->lines.size = sizeof(head->function);
		if (image->size >= names)
			memcpy(f->body, image->data, names);
		memcpy(f->body + names, &head->function, sizeof(head->function));
		runtime_hotspot.decode(&layout, f, &code);
		hotspot_late(&layout, f, image_read, image, &code);
		check(&code, f->units);
	}
	managed_code_release(&code);
	free(f);
}

static void check_thread(void *ctx, uint32_t tid, const struct strbuf *name)
{
	check_text(name);
}

static void read_threads(const struct head *head, struct image *image)
{
	const struct runtime_layout layout = {
		.kind = RUNTIME_HOTSPOT,
		.hotspot =
			{
				.threads = head->offsets[5],
				.narrow_base = head->offsets[6],
				.narrow_shift = head->offsets[7],
				.version = head->offsets[8],
				.flags = HOTSPOT_IS_COMPLETE | HOTSPOT_THREAD_LIST,
				.list_length = head->offsets[9],
				.list_rows = head->offsets[10],
				.thread_object = head->offsets[11],
				.os_thread = head->offsets[12],
				.thread_id = head->offsets[13],
			},
	};
	uint64_t kept = 0;

	hotspot_threads(&layout, 0, &kept, image_read, image, check_thread, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct runtime_layout layout = {.kind = RUNTIME_HOTSPOT};
	struct hotspot_process process;
	struct runtime_memory lasting;
	struct image image;
	struct head head;

	if (size < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	image = (struct image){data + sizeof(head), size - sizeof(head)};
	layout.hotspot = (struct hotspot_layout){
		.structs = head.offsets[0],
		.types = head.offsets[1],
		.struct_stride = head.offsets[2],
		.type_stride = head.offsets[3],
	};
	if (runtime_hotspot.start(&layout, head.offsets[4], image_read, &image, &process, &lasting,
				  NULL) > 0 &&
	    (!hotspot_layout_is_sane(&layout.hotspot) || process.low >= process.high))
		abort();
	read_function(&head, &image);
	read_threads(&head, &image);
	return 0;
}
