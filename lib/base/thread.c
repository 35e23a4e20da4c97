/* SPDX-License-Identifier: MIT */
#include "lib/base/thread.h"

#include <signal.h>

int thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *ctx)
{
	sigset_t all, before;
	int code;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(thread, NULL, run, ctx);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	/* Without a name it works as well. */
	if (!code)
		pthread_setname_np(*thread, name);
	return code;
}
