/* SPDX-License-Identifier: MIT */
#include "lib/stream/process/process_name.h"

#include "bpf/record.h"

/*
 * Arguments of an interpreter that may precede the script: its own name, and one from the script's
 * first line.
 */
#define SCRIPT_AFTER 2

/*
 * True if the name is the program's, or a title that begins with it. "python3" is a link to
 * "python3.11".
 */
static bool is_of_program(const char *name, const char *program)
{
	return text_starts_with(program, name) ||
	       (text_starts_with(name, program) && name[strlen(program)] == ':');
}

/* True if the name is the first argument, as a title, a path, or "-bash" of a login shell. */
static bool is_first_argument(const char *name, const char *argument)
{
	return text_starts_with(argument, name) ||
	       text_starts_with(basename(argument + (*argument == '-')), name);
}

/* An exec of a script names the process after it, not after the interpreter. */
static bool is_script(const char *name, const char *argument)
{
	return strncmp(basename(argument), name, REC_NAME_SIZE - 1) == 0;
}

bool process_name_fits(const char *name, const char *program, const char *arguments, size_t size)
{
	const char *end = arguments + size;

	if (!*program || is_of_program(name, program))
		return true;
	for (unsigned int i = 0; i <= SCRIPT_AFTER && arguments < end; i++) {
		if (i ? is_script(name, arguments) : is_first_argument(name, arguments))
			return true;
		arguments += strlen(arguments) + 1;
	}
	return false;
}
