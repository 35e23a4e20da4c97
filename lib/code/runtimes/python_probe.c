/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "lib/base/bytes.h"
#include "lib/code/binary/objects.h"
#include "lib/code/runtimes/python.h"

enum {
	RUNTIME,
	CODE_TYPE,
	VERSION, /* from 3.11 on */
	ITER_SEND, /* from 3.10 on */
	GET_CODE, /* from 3.9 on */
	POS_ONLY, /* from 3.8 on */
	EXPORTED_COUNT,
	EVAL = EXPORTED_COUNT,
	EVAL_COLD,
	OBJECT_COUNT,
};

static const struct binary_object wanted[OBJECT_COUNT] = {
	[RUNTIME] = {.name = "_PyRuntime"},
	[CODE_TYPE] = {.name = "PyCode_Type"},
	[VERSION] = {.name = "Py_Version"},
	[ITER_SEND] = {.name = "PyIter_Send"},
	[GET_CODE] = {.name = "PyFrame_GetCode"},
	[POS_ONLY] = {.name = "PyCode_NewWithPosOnlyArgs"},
	[EVAL] = {.name = "_PyEval_EvalFrameDefault"},
	[EVAL_COLD] = {.name = "_PyEval_EvalFrameDefault.cold"},
};

struct python_file {
	const struct binary *binary;
	struct binary_object objects[OBJECT_COUNT];
	uint64_t runtime; /* vaddr of _PyRuntime */
	bool has_section;
};

#define RUNTIME_SECTION ".PyRuntime"

static bool find_runtime(struct python_file *f)
{
	uint64_t size;

	memcpy(f->objects, wanted, sizeof(wanted));
	if (binary_section_extent(f->binary, RUNTIME_SECTION, &f->runtime, &size)) {
		/* Functions without a name are not wanted, and the other symbols are many. */
		binary_find_objects(f->binary, f->objects, EXPORTED_COUNT);
		f->has_section = true;
		return true;
	}
	/* Only this one at first: most files have it not. */
	binary_find_mark(f->binary, &f->objects[RUNTIME]);
	if (!f->objects[RUNTIME].is_there)
		return false;
	f->runtime = f->objects[RUNTIME].vaddr;
	binary_find_objects(f->binary, f->objects, OBJECT_COUNT);
	return true;
}

/* 0: unknown. Old versions are told apart by what they export. */
static uint16_t find_version(const struct python_file *f)
{
	uint8_t word[4];
	struct bytes b;

	if (f->objects[VERSION].is_there) {
		if (!binary_read_text(f->binary, f->objects[VERSION].vaddr, word, sizeof(word)))
			return 0;
		bytes_init(&b, word, sizeof(word));
		return (uint16_t)(bytes_u32(&b) >> 16);
	}
	if (f->objects[ITER_SEND].is_there)
		return PYTHON_VERSION(10);
	if (f->objects[GET_CODE].is_there)
		return PYTHON_VERSION(9);
	return f->objects[POS_ONLY].is_there ? PYTHON_VERSION(8) : 0;
}

/* Places in PyTypeObject and PyMemberDef. */
#define TYPE_MEMBERS_AT 240
#define MEMBER_SIZE 40
#define MEMBER_OFFSET_AT 16
#define MEMBER_COUNT 32 /* of PyCode_Type; it has some 20 */
#define MEMBER_NAME_MAX 32

/* Returns the offset of a member of code objects that the type itself knows; 0: unknown. */
static uint64_t member_offset(const struct python_file *f, const uint8_t *members, size_t size,
			      const char *wanted_name)
{
	for (size_t at = 0; at + MEMBER_SIZE <= size; at += MEMBER_SIZE) {
		char name[MEMBER_NAME_MAX] = "";
		size_t length = strlen(wanted_name) + 1;
		struct bytes b;
		uint64_t name_at;

		bytes_init(&b, members + at, MEMBER_SIZE);
		name_at = bytes_u64(&b);
		if (!name_at)
			break;
		bytes_seek(&b, MEMBER_OFFSET_AT);
		if (length <= sizeof(name) && binary_read_text(f->binary, name_at, name, length) &&
		    memcmp(name, wanted_name, length) == 0)
			return bytes_u64(&b);
	}
	return 0;
}

/* Compares the layout with the offsets that the type of code objects gives to its attributes. */
static bool members_agree(const struct python_file *f, const struct python_layout *l)
{
	const struct {
		const char *name;
		uint16_t offset;
	} checks[] = {
		{"co_filename", l->code_file},
		{l->version >= PYTHON_VERSION(11) ? "co_qualname" : "co_name", l->code_name},
		{l->version >= PYTHON_VERSION(10) ? "co_linetable" : "co_lnotab", l->code_lines},
		{"co_firstlineno", l->code_first_line},
	};
	uint8_t members[MEMBER_COUNT * MEMBER_SIZE], word[8];
	size_t size = sizeof(members);
	struct bytes b;
	uint64_t at;

	if (!binary_read_loaded(f->binary, f->objects[CODE_TYPE].vaddr + TYPE_MEMBERS_AT, word,
				sizeof(word)))
		return false;
	bytes_init(&b, word, sizeof(word));
	at = bytes_u64(&b);
	/* The array may stand at the end of what is in the file. */
	while (size && !binary_read_loaded(f->binary, at, members, size))
		size -= MEMBER_SIZE;
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		if (member_offset(f, members, size, checks[i].name) != checks[i].offset)
			return false;
	}
	return true;
}

static int layout_from_table(const struct python_file *f, struct python_layout *layout,
			     struct error *err)
{
	uint16_t version = find_version(f);

	/* The section came with 3.10, debug offsets with 3.13. */
	if (!version)
		return error_text(err, -ENOTSUP,
				  f->has_section ? "Python 3.10, 3.11 or 3.12 without symbols"
						 : "Python is older than 3.8");
	if (version >= PYTHON_VERSION(13) || !python_layout_of_version(version, layout))
		return error_text(err, -ENOTSUP, "Python %u.%u is not supported", version >> 8,
				  version & 255u);
	return 0;
}

static int find_layout(const struct python_file *f, struct python_layout *layout, struct error *err)
{
	uint8_t head[PYTHON_DEBUG_OFFSETS_SIZE];

	if (binary_read_text(f->binary, f->runtime, head, sizeof(head)) &&
	    python_debug_version(head, sizeof(head)))
		return python_layout_of_debug_offsets(head, sizeof(head), layout, err);
	return layout_from_table(f, layout, err);
}

static void set_addresses(const struct python_file *f, struct python_layout *layout)
{
	layout->runtime = f->runtime;
	layout->code_type = f->objects[CODE_TYPE].vaddr;
	if (layout->place != PYTHON_PLACE_COUNT)
		return;
	for (int i = 0; i < 2; i++) {
		const struct binary_object *code = &f->objects[EVAL + i];

		if (!code->is_there ||
		    __builtin_add_overflow(code->vaddr, code->size, &layout->eval_end[i]))
			continue;
		layout->eval_start[i] = code->vaddr;
	}
}

int python_probe(const struct binary *b, struct runtime_layout *layout, struct error *err)
{
	struct python_file f = {.binary = b};
	struct python_layout *l = &layout->python;
	int result;

	if (!find_runtime(&f))
		return 0;
	result = find_layout(&f, l, err);
	if (result != 0)
		return result;
	/* Debug offsets need no other witness, tables do: of another build, of a patched one. */
	if (!f.objects[CODE_TYPE].is_there && l->version < PYTHON_VERSION(13))
		return error_text(err, -ENOTSUP, "Python 3.%u without symbols", l->version & 255u);
	if (f.objects[CODE_TYPE].is_there && !members_agree(&f, l))
		return error_text(err, -EINVAL, "Python 3.%u has code objects of an unknown form",
				  l->version & 255u);
	set_addresses(&f, l);
	if (l->place == PYTHON_PLACE_COUNT && l->eval_end[0] <= l->eval_start[0])
		return error_text(err, -ENOTSUP,
				  "Python 3.%u without the symbol of its interpreter",
				  l->version & 255u);
	layout->kind = RUNTIME_PYTHON;
	return 0;
}
