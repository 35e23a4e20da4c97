/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as what the kernel saw of a Python function, and as the memory of its process. The
 * first bytes are struct head; each piece of the record takes what is left, at most its size.
 */
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/code/runtimes/python.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/text_check.h"
#include "tests/python_identity.h"

struct head {
	uint8_t minor, name_width, name_flags, name_size;
	uint8_t file_width, file_flags, file_size, lines_flags;
	uint16_t units, first_line;
	uint32_t code; /* address in the memory */
};

static void check(const struct managed_code *code, uint32_t units)
{
	uint64_t last = UINT64_MAX;

	check_text(&code->name);
	check_text(&code->file);
	vec_for_each(&code->lines, const struct managed_line *, it) {
		if (it->unit >= units || (last != UINT64_MAX && it->unit <= last) ||
		    it->line > INT32_MAX)
			abort();
		last = it->unit;
	}
}

static void check_thread(void *ctx, uint32_t tid, const struct strbuf *name)
{
	if (!tid || !name->size)
		abort();
	check_text(name);
}

static void take(struct function_text *piece, uint8_t width, uint8_t flags, size_t wanted,
		 size_t *left)
{
	piece->width = width;
	piece->flags = flags;
	piece->size = (uint32_t)(wanted < *left ? wanted : *left);
	*left -= piece->size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct runtime_layout layout = {.kind = RUNTIME_PYTHON};
	struct managed_code code = {0};
	struct python_image image;
	struct rec_function *function;
	struct head head;
	uint64_t list;
	size_t left = size - sizeof(head);

	if (size < sizeof(head) || size > 65536)
		return 0;
	memcpy(&head, data, sizeof(head));
	if (!python_layout_of_version(PYTHON_VERSION(head.minor), &layout.python))
		return 0;
	function = xcalloc(1, sizeof(*function) + left);
	memcpy(function->body, data + sizeof(head), left);
	function->units = head.units;
	function->first_line = head.first_line;
	function->code = head.code;
	take(&function->name, head.name_width, head.name_flags, head.name_size, &left);
	take(&function->file, head.file_width, head.file_flags, head.file_size, &left);
	take(&function->lines, 1, head.lines_flags, FUNCTION_LINES_MAX, &left);
	runtime_python.decode(&layout, function, &code);
	check(&code, head.units);

	image = (struct python_image){xmemdup(data, size), size};
	function->identity = image_identity(&image, &layout.python, head.code);
	runtime_python.late(&layout, function, image_read, &image, &code);
	check(&code, head.units);
	list = head.code;
	python_threads(&layout, 0, &list, image_read, &image, check_thread, NULL);
	managed_code_release(&code);
	free(image.data);
	free(function);
	return 0;
}
