/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "lib/code/runtimes/ruby.h"

/*
 * Found in interpreters of Debian by scripts/ruby-offsets, which reads the structures of a process
 * that runs a known program.
 */

static const struct ruby_layout layouts[] = {
	{
		.version = RUBY_VERSION(2, 7),
		.frame_size = 56,
		.body_path = 64,
		.body_label = 80,
		.body_first_line = 88,
		.body_lines = 120,
		.line_size = 8,
		.string_text = 16,
		.class_more = 24,
		.more_variables = 8,
		.singleton = 12,
	},
	{
		.version = RUBY_VERSION(3, 1),
		.frame_size = 64,
		.body_path = 64,
		.body_label = 80,
		.body_first_line = 88,
		.body_lines = 120,
		.line_size = 12,
		.string_text = 16,
		.class_more = 24,
		.more_variables = 8,
		.singleton = 12,
	},
	{
		.version = RUBY_VERSION(3, 3),
		.frame_size = 56,
		.body_path = 64,
		.body_label = 80,
		.body_first_line = 88,
		.has_line_number = true,
		.body_lines = 112,
		.line_size = 12,
		.string_text = 24,
		.string_length = 16,
		.class_name = 152,
		.class_object = 128,
		.singleton = 12,
	},
	{
		.version = RUBY_VERSION(3, 4),
		.frame_size = 56,
		.body_path = 64,
		.body_label = 80,
		.body_first_line = 88,
		.has_line_number = true,
		.body_lines = 112,
		.line_size = 12,
		.string_text = 24,
		.string_length = 16,
		.class_name = 152,
		.class_object = 128,
		.singleton = 13,
	},
	{
		.version = RUBY_VERSION(4, 0),
		.frame_size = 56,
		.body_path = 64,
		.body_label = 80,
		.body_first_line = 88,
		.has_line_number = true,
		.body_lines = 112,
		.line_size = 12,
		.string_text = 24,
		.string_length = 16,
		.class_name = 152,
		.class_object = 136,
		.singleton = 13,
	},
};

bool ruby_layout_of_version(uint16_t version, struct ruby_layout *layout)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layouts[i].version != version)
			continue;
		*layout = layouts[i];
		return true;
	}
	return false;
}
