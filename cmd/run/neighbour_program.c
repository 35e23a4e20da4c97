/* SPDX-License-Identifier: MIT */
#include "cmd/run/neighbour_program.h"

#include <errno.h>
#include <unistd.h>

#include "cmd/command.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/neighbour.h"

const struct neighbour_program program_browse = {"prof-browse", "ncurses is"};
const struct neighbour_program program_view = {"prof-view", "libmicrohttpd and libcurl are"};

bool neighbour_program_is_installed(const struct neighbour_program *p)
{
	_cleanup_free_ char *path = neighbour_path(p->name);

	return path && access(path, X_OK) == 0;
}

int neighbour_program_run(const struct neighbour_program *p, const char *command, int argc,
			  char **argv)
{
	_cleanup_free_ char *path = neighbour_path(p->name);
	_cleanup_free_ char **args = xcalloc((size_t)argc + 2, sizeof(*args));
	struct error err = {0};

	args[0] = (char *)p->name;
	for (int i = 0; i < argc; i++)
		args[i + 1] = argv[i];
	if (path)
		execv(path, args);
	error_set(&err, path ? -errno : -ENOENT, "start %s", path ? path : p->name);
	error_hint(&err, "it is built where %s: scripts/deps, make", p->needs);
	return command_fail(command, EXIT_REFUSED, &err);
}
