/* SPDX-License-Identifier: MIT */
/*
 * call_me thread|title MS [ARGUMENT...]: burns MS of CPU time in named_work(). Before, it calls its
 * first thread "MainThread", as runtimes do, or gives the process the title "job of many words", in
 * place of its arguments as well.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "tests/workloads/burn.h"

static const char title[] = "job of many words";

static NOINLINE void named_work(unsigned int ms)
{
	burn_ms(ms);
}

int main(int argc, char **argv)
{
	char *end;
	unsigned int ms;

	if (argc < 3)
		return 2;
	ms = (unsigned int)atoi(argv[2]);
	if (strcmp(argv[1], "thread") == 0) {
		prctl(PR_SET_NAME, "MainThread");
	} else {
		end = argv[argc - 1] + strlen(argv[argc - 1]);
		if ((size_t)(end - argv[0]) < sizeof(title))
			return 1;
		memset(argv[0], 0, (size_t)(end - argv[0]));
		memcpy(argv[0], title, sizeof(title));
		prctl(PR_SET_NAME, title);
	}
	named_work(ms);
	return 0;
}
