/* SPDX-License-Identifier: MIT */
#include "cmd/browse/browse_programs.h"
#include "cmd/command.h"
#include "cmd/options/report_options.h"
#include "cmd/options/top_options.h"
#include "lib/base/program.h"
#include "lib/recording/workplace/naming.h"
#include "symbolize/debuginfo/debug_fetch.h"

/* prof-browse, a companion program of prof, so that recordings need no terminal library. */

int main(int argc, char **argv)
{
	program_begin(PROGRAM_BROWSE, environ);
	if (argc > 1 && strcmp(argv[1], NAMING_FETCH) == 0)
		return debug_fetch_serve();
	if (argc > 4 && strcmp(argv[1], COMMAND_TOP) == 0)
		return top_show(argc - 2, argv + 2);
	if (argc > 2 && strcmp(argv[1], COMMAND_BROWSE) == 0)
		return browse_show(argc - 2, argv + 2);
	fprintf(stderr, "prof-browse: this is a part of prof: see 'prof top --help'\n");
	return EXIT_USAGE;
}
