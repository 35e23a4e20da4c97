/* SPDX-License-Identifier: MIT */
/*
 * handler [alt]: a signal interrupts interrupted(), and on_signal() uses 300 ms in in_handler();
 * with "alt" on a stack of its own.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "tests/workloads/burn.h"

#define STACK_BYTES 65536

static volatile sig_atomic_t is_done;

static NOINLINE void in_handler(void)
{
	burn_ms(300);
}

static void on_signal(int signal)
{
	in_handler();
	is_done = 1;
}

/* Makes no call: the signal comes at an instruction that is not behind one. */
static NOINLINE void interrupted(void)
{
	while (!is_done)
		burn_a_little();
}

int main(int argc, char **argv)
{
	/* After 50 ms of CPU time in user code, when a recorder knows the program. */
	const struct itimerval soon = {.it_value.tv_usec = 50000};
	struct sigaction action = {.sa_handler = on_signal};
	stack_t stack = {.ss_size = STACK_BYTES};

	if (argc > 1 && strcmp(argv[1], "alt") == 0) {
		action.sa_flags = SA_ONSTACK;
		stack.ss_sp = malloc(STACK_BYTES);
		if (!stack.ss_sp || sigaltstack(&stack, NULL))
			return 1;
	}
	if (sigaction(SIGVTALRM, &action, NULL) || setitimer(ITIMER_VIRTUAL, &soon, NULL))
		return 1;
	interrupted();
	return 0;
}
