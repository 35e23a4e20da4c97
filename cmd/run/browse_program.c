/* SPDX-License-Identifier: MIT */
#include "cmd/run/browse_program.h"

#include <errno.h>
#include <unistd.h>

#include "cmd/command.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/neighbour.h"

static const char program[] = "prof-browse";

bool browse_program_is_installed(void)
{
	_cleanup_free_ char *path = neighbour_path(program);

	return path && access(path, X_OK) == 0;
}

int browse_program_run(const char *command, int argc, char **argv)
{
	_cleanup_free_ char *path = neighbour_path(program);
	_cleanup_free_ char **args = xcalloc((size_t)argc + 2, sizeof(*args));
	struct error err = {0};

	args[0] = (char *)program;
	for (int i = 0; i < argc; i++)
		args[i + 1] = argv[i];
	if (path)
		execv(path, args);
	error_set(&err, path ? -errno : -ENOENT, "start %s", path ? path : program);
	error_hint(&err, "it is built where ncurses is: scripts/deps, make");
	return command_fail(command, EXIT_REFUSED, &err);
}
