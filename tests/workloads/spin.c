/* SPDX-License-Identifier: MIT */
/*
 * spin [MODE [SECONDS [MS]]]: burns in spinning(), SECONDS (60) of CPU time, and prints "ready"
 * after 200 ms of it. MODE is one of
 *	die	a SIGINT or SIGTERM kills it
 *	ignore	SIGINT does nothing
 *	finish	SIGINT or SIGTERM lets it burn MS (300) more, in finishing(), and
 *		exit with status 3
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/workloads/burn.h"

static volatile sig_atomic_t is_signalled;

static void on_signal(int signal)
{
	is_signalled = 1;
}

/* Burns until the total, including earlier CPU time, is reached. */
static NOINLINE void spinning(double seconds)
{
	uint64_t end = (uint64_t)(seconds * 1e9);

	while (!is_signalled && thread_cpu_ns() < end)
		burn_a_little();
}

static NOINLINE void finishing(double ms)
{
	burn_ms(ms);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "die";
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 60;

	if (strcmp(mode, "ignore") == 0) {
		signal(SIGINT, SIG_IGN);
	} else if (strcmp(mode, "finish") == 0) {
		signal(SIGINT, on_signal);
		signal(SIGTERM, on_signal);
	}
	spinning(0.2);
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	spinning(seconds);
	if (!is_signalled)
		return 0;
	finishing(argc > 3 ? strtod(argv[3], NULL) : 300);
	return 3;
}
