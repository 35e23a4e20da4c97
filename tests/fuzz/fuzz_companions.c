/* SPDX-License-Identifier: MIT */
/*
 * A program, and another file with debug information of it: its part moved out by dwz, its split
 * units, or a package of those. The first four bytes are the program's size. The other file has all
 * names under which the seeds look for one, in a folder that is the root of both.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "symbolize/module_files.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/name_all.h"

static const char *const names[] = {"main.dwp", "companion.dwo", "scopes-dwz-shared"};
static char folder[] = "/tmp/fuzz_companions.XXXXXX";
static int root = -1;

static void remove_folder(void)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlinkat(root, names[i], 0);
	rmdir(folder);
}

static void make_folder(void)
{
	int fd;

	if (!mkdtemp(folder) || chmod(folder, 0755))
		abort();
	root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = openat(root, names[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (root < 0 || fd < 0)
		abort();
	close(fd);
	for (size_t i = 1; i < sizeof(names) / sizeof(*names); i++) {
		if (linkat(root, names[0], root, names[i], 0))
			abort();
	}
	atexit(remove_folder);
}

static void write_companion(const uint8_t *data, size_t size)
{
	int fd = openat(root, names[0], O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	struct symbolizer_input input = {.module = &module, .path = "/main"};
	uint32_t main_size;

	if (size < sizeof(main_size))
		return 0;
	memcpy(&main_size, data, sizeof(main_size));
	data += sizeof(main_size);
	size -= sizeof(main_size);
	if (main_size > size)
		return 0;
	if (root < 0)
		make_folder();
	write_companion(data + main_size, size - main_size);
	input.fd = input_open(data, main_size);
	input.root = root;
	input.files = module_files_new(&input);
	name_all(&symbolizer_elf, &input);
	name_all(&symbolizer_dwarf, &input);
	module_files_unref(input.files);
	close(input.fd);
	return 0;
}
