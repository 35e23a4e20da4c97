/* SPDX-License-Identifier: MIT */
#include "lib/recording/workplace/code_fetch.h"

#include <unistd.h>

#include "lib/recording/workplace/naming.h"
#include "lib/base/cleanup.h"
#include "lib/code/binary/binary.h"

bool code_fetch_is_possible(const struct module *module)
{
	return module->build_id_size && naming_downloads() &&
	       (module->kind == PROFILE_MODULE_FILE || module->kind == PROFILE_MODULE_KERNEL);
}

/* Tells a whole file from what was stripped off, which has only addresses of code. */
static bool has_code(int fd)
{
	struct binary *binary;
	bool found;

	if (binary_open(&binary, fd, NULL))
		return false;
	found = binary_has_section(binary, ".text");
	binary_free(binary);
	return found;
}

int code_fetch(const struct module *module, const struct identity *owner)
{
	char id[2 * sizeof(module->build_id) + 1];
	struct debug_request request = {.kind = DEBUG_FETCH_EXECUTABLE, .build_id = id};
	_cleanup_close_ int fd = -1;

	if (!code_fetch_is_possible(module))
		return -1;
	build_id_to_text(module->build_id, module->build_id_size, id);
	fd = naming_fetch(&request, owner);
	if (fd >= 0 || module->kind != PROFILE_MODULE_KERNEL)
		return steal_fd(&fd);
	/* To some servers a vmlinux is nothing but debug information. */
	request.kind = DEBUG_FETCH_INFO;
	fd = naming_fetch(&request, owner);
	return fd >= 0 && has_code(fd) ? steal_fd(&fd) : -1;
}
