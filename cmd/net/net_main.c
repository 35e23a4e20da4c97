/* SPDX-License-Identifier: MIT */
#include "cmd/command.h"
#include "cmd/net/engine_client.h"
#include "lib/base/program.h"
#include "lib/fleet/request_process.h"
#include "lib/recording/workplace/naming.h"
#include "symbolize/debuginfo/debug_fetch.h"

/*
 * prof-view, a companion program of prof, because loading its libraries would delay every
 * recording.
 */

int main(int argc, char **argv)
{
	program_begin(PROGRAM_VIEW, environ);
	if (argc > 1 && strcmp(argv[1], NAMING_FETCH) == 0)
		return debug_fetch_serve();
	if (argc > 1 && strcmp(argv[1], REQUEST_PROCESS) == 0)
		return request_run();
	if (argc > 1 && strcmp(argv[1], PUSH_PROCESS) == 0)
		return push_run(argc - 1, argv + 1);
	if (argc > 3 && strcmp(argv[1], COMMAND_COMPLETE) == 0) {
		command_complete(strcmp(argv[2], "view") == 0 ? view_options : share_options,
				 argc - 3, argv + 3);
		return 0;
	}
	if (argc > 1 && strcmp(argv[1], "view") == 0)
		return view_run(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "share") == 0)
		return share_run(argc - 1, argv + 1);
	fprintf(stderr, "prof-view: this is a part of prof: see 'prof view --help'\n");
	return EXIT_USAGE;
}
