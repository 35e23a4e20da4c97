/* SPDX-License-Identifier: MIT */
/*
 * signals: gets signals with known number, sender and place. A child sends it SIGUSR1 5 times and
 * ends; then it gets SIGUSR2 3 times by raise(), SIGSEGV once by reading an unmapped address, and
 * SIGALRM 4 times from a timer. Each arrives before the next is made. Prints its pid and the
 * child's.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/workloads/burn.h"

#define KILLS 5
#define RAISES 3
#define EXPIRIES 4

static volatile sig_atomic_t seen[NSIG];
static sigjmp_buf after_fault;
static int go[2];

static void on_signal(int signal)
{
	seen[signal]++;
}

static void on_fault(int signal)
{
	seen[signal]++;
	siglongjmp(after_fault, 1);
}

/* Sends each signal after the arrival of the previous one. */
static void send(int target)
{
	char one;

	for (int i = 0; i < KILLS; i++) {
		if (read(go[0], &one, 1) != 1 || kill(target, SIGUSR1))
			_exit(1);
	}
	/* Ends only after the last signal has arrived. */
	if (read(go[0], &one, 1) != 1)
		_exit(1);
	_exit(0);
}

static NOINLINE void spin_until(int signal, int count)
{
	while (seen[signal] < count)
		burn_a_little();
}

static NOINLINE void get_killed(void)
{
	for (int i = 1; i <= KILLS; i++) {
		if (write(go[1], "g", 1) != 1)
			_exit(1);
		spin_until(SIGUSR1, i);
	}
}

static NOINLINE void wait_for_child(void)
{
	if (write(go[1], "g", 1) != 1)
		_exit(1);
	spin_until(SIGCHLD, 1);
}

static NOINLINE void raise_them(void)
{
	for (int i = 0; i < RAISES; i++)
		raise(SIGUSR2);
}

static NOINLINE int touch_nothing(const volatile int *nothing)
{
	return *nothing;
}

static NOINLINE void await_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	const struct itimerspec soon = {.it_value.tv_nsec = 5000000};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		_exit(1);
	for (int i = 1; i <= EXPIRIES; i++) {
		timer_settime(timer, 0, &soon, NULL);
		spin_until(SIGALRM, i);
	}
}

int main(void)
{
	static const int handled[] = {SIGUSR1, SIGUSR2, SIGCHLD, SIGALRM};
	struct sigaction action = {.sa_handler = on_signal};
	const volatile int *volatile nothing = NULL;
	int child, main_pid = getpid();

	for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		sigaction(handled[i], &action, NULL);
	action.sa_handler = on_fault;
	sigaction(SIGSEGV, &action, NULL);
	/* A recorder knows the program by then. */
	burn_ms(100);
	if (pipe(go))
		return 1;
	child = fork();
	if (child < 0)
		return 1;
	if (!child)
		send(main_pid);
	get_killed();
	wait_for_child();
	if (wait(NULL) != child)
		return 1;
	raise_them();
	if (!sigsetjmp(after_fault, 1))
		touch_nothing(nothing);
	await_timer();
	printf("%d %d\n", main_pid, child);
	return 0;
}
