/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>

#include "lib/base/bytes.h"
#include "lib/code/runtimes/python.h"

/* Words of a code object that never change, for code_identity. */
#define WHOLE UINT64_MAX
#define LOW_HALF UINT32_MAX /* the upper half is mutable, or padding */

/* Argument counts, flags, first line, then pointers up to the line table. */
#define CODE_3_8 [2 ... 4] = WHOLE, [5] = LOW_HALF, [6 ... 15] = WHOLE
/* 3.11 counts calls beside the flags. */
#define CODE_3_11 [2 ... 5] = WHOLE, [6] = LOW_HALF, [7 ... 17] = WHOLE
#define CODE_3_12 [2 ... 17] = WHOLE

/* Common to 3.8, 3.9 and 3.10. */
#define BEFORE_3_11 \
	.code_identity = {CODE_3_8}, .instruction = PYTHON_INDEX, .has_file_check = true, \
	.interpreters = 32, .threads = 8, .thread_next = 8, .thread_interpreter = 16, \
	.thread_id = 176, .thread_frame = 24, .thread_size = 184, .frame_code = 32, \
	.frame_previous = 24, .code_first_line = 40, .code_file = 104, .code_name = 112, \
	.code_lines = 120, .code_size = 128, .code_bytes = 48, .has_code_object = true

/* Strings and bytes; from 3.12 on str has no wchar_t any more. */
#define STRINGS(ascii, other) \
	.string_kind_shift = 2, .string_length = 16, .string_state = 32, .string_ascii = (ascii), \
	.string_other = (other), .bytes_size = 16, .bytes_text = 32

static const struct python_layout layouts[] = {
	{
		.version = PYTHON_VERSION(8),
		.place = PYTHON_PLACE_COUNT,
		.gil_holder = 1368,
		BEFORE_3_11,
		.index_scale = 1,
		.frame_instruction = 104,
		.frame_size = 112,
		STRINGS(48, 72),
	},
	{
		.version = PYTHON_VERSION(9),
		.place = PYTHON_PLACE_COUNT,
		.gil_holder = 568,
		BEFORE_3_11,
		.index_scale = 1,
		.frame_instruction = 104,
		.frame_size = 112,
		STRINGS(48, 72),
	},
	{
		.version = PYTHON_VERSION(10),
		.place = PYTHON_PLACE_CFRAME,
		.gil_holder = 568,
		BEFORE_3_11,
		.index_scale = 2,
		.thread_cframe = 48,
		.cframe_current = UINT16_MAX,
		.cframe_previous = 8,
		.frame_instruction = 96,
		.frame_size = 104,
		STRINGS(48, 72),
	},
	{
		.version = PYTHON_VERSION(11),
		.place = PYTHON_PLACE_CFRAME,
		.gil_holder = 576,
		.code_identity = {CODE_3_11},
		.instruction = PYTHON_POINTER,
		.owner_max = 2,
		.has_file_check = true,
		.interpreters = 40,
		.threads = 16,
		.thread_next = 8,
		.thread_interpreter = 16,
		.thread_id = 152,
		.thread_native = 160,
		.thread_cframe = 56,
		.thread_size = 168,
		.cframe_current = 8,
		.cframe_previous = 16,
		.frame_code = 32,
		.frame_previous = 48,
		.frame_instruction = 56,
		.frame_entry = 68,
		.frame_owner = 69,
		.frame_size = 72,
		.code_first_line = 72,
		.code_file = 112,
		.code_name = 128,
		.code_lines = 136,
		.code_size = 144,
		.code_bytes = 184,
		STRINGS(48, 72),
	},
	{
		.version = PYTHON_VERSION(12),
		.place = PYTHON_PLACE_ENTRY,
		.gil = 384,
		.gil_holder = 8,
		.gil_locked = 16,
		.code_identity = {CODE_3_12},
		.instruction = PYTHON_POINTER,
		.entry_owner = 3,
		.owner_max = 3,
		.interpreters = 40,
		.threads = 72,
		.thread_next = 8,
		.thread_interpreter = 16,
		.thread_id = 136,
		.thread_native = 144,
		.thread_cframe = 56,
		.thread_size = 152,
		.cframe_current = 0,
		.cframe_previous = 8,
		.frame_code = 0,
		.frame_previous = 8,
		.frame_instruction = 56,
		.frame_owner = 70,
		.frame_size = 72,
		.code_first_line = 68,
		.code_file = 112,
		.code_name = 128,
		.code_lines = 136,
		.code_size = 144,
		.code_bytes = 192,
		STRINGS(40, 56),
	},
	/* The rest of these is in their debug offsets. */
	{
		.version = PYTHON_VERSION(13),
		.place = PYTHON_PLACE_ENTRY,
		.code_identity = {CODE_3_12},
		.instruction = PYTHON_POINTER,
		.entry_owner = 3,
		.owner_max = 3,
		.string_kind_shift = 2,
	},
	{
		.version = PYTHON_VERSION(14),
		.place = PYTHON_PLACE_ENTRY,
		.code_identity = {CODE_3_12},
		.instruction = PYTHON_POINTER,
		.pointer_mask = 3,
		.entry_owner = 3,
		.owner_max = 4,
		.string_kind_shift = 2,
	},
	{
		.version = PYTHON_VERSION(15),
		.place = PYTHON_PLACE_ENTRY,
		.code_identity = {CODE_3_12},
		.instruction = PYTHON_POINTER,
		.pointer_mask = 3,
		.entry_owner = 3,
		.owner_max = 4,
		.string_kind_shift = 2,
	},
};

bool python_layout_of_version(uint16_t version, struct python_layout *layout)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layouts[i].version != version)
			continue;
		*layout = layouts[i];
		return true;
	}
	return false;
}

/* Are this many bytes at an offset within the size? */
static bool lies_within(uint32_t offset, uint32_t bytes, uint32_t size)
{
	return offset <= size && bytes <= size - offset;
}

static bool reads_are_sane(const struct python_layout *l)
{
	return l->thread_size <= PYTHON_THREAD_MAX && l->frame_size <= PYTHON_FRAME_MAX &&
	       l->code_size % 8 == 0 && l->code_size <= PYTHON_CODE_WORDS * 8;
}

static bool thread_is_sane(const struct python_layout *l)
{
	return lies_within(l->thread_next, 8, l->thread_size) &&
	       lies_within(l->thread_interpreter, 8, l->thread_size) &&
	       lies_within(l->thread_id, 8, l->thread_size) &&
	       lies_within(l->thread_native, 8, l->thread_size) &&
	       lies_within(l->thread_frame, 8, l->thread_size) &&
	       lies_within(l->thread_cframe, 8, l->thread_size);
}

static bool frame_is_sane(const struct python_layout *l)
{
	return lies_within(l->frame_code, 8, l->frame_size) &&
	       lies_within(l->frame_previous, 8, l->frame_size) &&
	       lies_within(l->frame_instruction, 8, l->frame_size) &&
	       lies_within(l->frame_owner, 1, l->frame_size) &&
	       lies_within(l->frame_entry, 1, l->frame_size) && l->frame_code != l->frame_previous;
}

static bool code_is_sane(const struct python_layout *l)
{
	return lies_within(l->code_first_line, 4, l->code_size) &&
	       lies_within(l->code_file, 8, l->code_size) &&
	       lies_within(l->code_name, 8, l->code_size) &&
	       lies_within(l->code_lines, 8, l->code_size) && l->code_file != l->code_name &&
	       l->code_bytes;
}

bool python_layout_is_sane(const struct python_layout *layout)
{
	return reads_are_sane(layout) && thread_is_sane(layout) && frame_is_sane(layout) &&
	       code_is_sane(layout);
}
