/* SPDX-License-Identifier: MIT */
/*
 * Passes probes that it declares (USDT), as <sys/sdt.h> would write them.
 *
 *	usdt STEPS          passes each probe so often, and prints what a tracer has to see
 *	usdt fork STEPS     forks once there is a file "fork"; the child waits for "go", and passes
 *	usdt exec STEPS     executes itself, in a second thread, and passes
 *	usdt wait SECONDS   prints its pid and the address of its semaphore, and passes nothing
 *	usdt query COUNT    passes probes before and after so many queries, with another one in each
 *	usdt rate PASSES    prints the time that it takes to pass a probe so often, in ns each
 *
 * "step" has a semaphore: it is passed only while somebody traces it. "plain" is always passed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROVIDER "workload"

/* Counts tracers; the kernel writes to it. */
__attribute__((section(".probes"), used)) volatile unsigned short step_semaphore;

/* The note of a probe: owner, its place, that of the base, of the semaphore, names, arguments. */
#define NOTE(name, semaphore, arguments) NOTE_OF(PROVIDER, name, semaphore, arguments)
#define NOTE_OF(provider, name, semaphore, arguments) \
	"990: nop\n" \
	".pushsection .note.stapsdt,\"\",\"note\"\n" \
	".balign 4\n" \
	".4byte 992f-991f, 994f-993f, 3\n" \
	"991: .asciz \"stapsdt\"\n" \
	"992: .balign 4\n" \
	"993: .8byte 990b, 0, " semaphore "\n" \
	".asciz \"" provider "\"\n" \
	".asciz \"" name "\"\n" \
	".asciz \"" arguments "\"\n" \
	"994: .balign 4\n" \
	".popsection\n"

/* Has what is to be recorded. */
struct step {
	int number;
	long total;
	signed char low;
	char text[32];
};

__attribute__((noinline)) static void pass_step(const struct step *s)
{
	if (!step_semaphore)
		return;
#if defined(__x86_64__)
	__asm__ volatile(
		NOTE("step", "step_semaphore",
		     "-4@%k[number] -8@%[total] -1@%b[low] 8@%[text] 4@%[constant] 8f@%%xmm0")
		:
		: [number] "r"(s->number), [total] "m"(s->total), [low] "q"(s->low),
		  [text] "r"(s->text), [constant] "n"(7));
#else
	__asm__ volatile(NOTE("step", "step_semaphore",
			      "-4@%w[number] -8@%[total] -1@%w[low] 8@%[text] 4@%[constant] 8f@d0")
			 :
			 : [number] "r"(s->number), [total] "m"(s->total), [low] "r"(s->low),
			   [text] "r"(s->text), [constant] "n"(7));
#endif
}

__attribute__((noinline)) static void pass_plain(void)
{
	__asm__ volatile(NOTE("plain", "0", ""));
}

/* Passes probes before and after a query that another one is part of. */
__attribute__((noinline)) static void pass_query(int number)
{
#if defined(__x86_64__)
	__asm__ volatile(NOTE_OF("shop", "query__start", "0", "-4@%k[number]")
			 :
			 : [number] "r"(number));
#else
	__asm__ volatile(NOTE_OF("shop", "query__start", "0", "-4@%w[number]")
			 :
			 : [number] "r"(number));
#endif
	usleep(5000);
	if (number % 10 == 0)
		pass_query(number + 1);
	__asm__ volatile(NOTE_OF("shop", "query__done", "0", ""));
}

static void pass(int steps)
{
	struct step s = {0};

	for (int i = 0; i < steps; i++) {
		s.number = i - 1;
		s.total += 3000000000 * i;
		s.low = (signed char)-i;
		snprintf(s.text, sizeof(s.text), "step %d of %d", i, steps);
		pass_step(&s);
		pass_plain();
		printf("%d %d %ld %d %s\n", getpid(), s.number, s.total, s.low, s.text);
	}
	fflush(stdout);
}

static void wait_for_tracer(void)
{
	for (int i = 0; i < 6000 && !step_semaphore; i++)
		usleep(10000);
}

static void wait_for_file(const char *path)
{
	for (int i = 0; i < 6000 && access(path, F_OK); i++)
		usleep(10000);
}

static void pass_in_child(int steps)
{
	wait_for_file("fork");
	if (fork() == 0) {
		wait_for_file("go");
		pass(steps);
		_exit(0);
	}
	wait(NULL);
}

static void *execute(void *steps)
{
	execl("/proc/self/exe", "usdt", "late", (char *)steps, (char *)NULL);
	_exit(127);
}

static void execute_in_thread(char *steps)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, execute, steps))
		exit(1);
	pause();
}

static void measure(long passes)
{
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (long i = 0; i < passes; i++)
		pass_plain();
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%.0f\n",
	       ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
		       (double)passes);
}

int main(int argc, char **argv)
{
	if (argc == 2) {
		pass(atoi(argv[1]));
	} else if (argc == 3 && strcmp(argv[1], "fork") == 0) {
		pass_in_child(atoi(argv[2]));
	} else if (argc == 3 && strcmp(argv[1], "exec") == 0) {
		execute_in_thread(argv[2]);
	} else if (argc == 3 && strcmp(argv[1], "late") == 0) {
		wait_for_tracer();
		pass(atoi(argv[2]));
	} else if (argc == 3 && strcmp(argv[1], "wait") == 0) {
		printf("%d %lu\n", getpid(), (unsigned long)&step_semaphore);
		fflush(stdout);
		sleep((unsigned int)atoi(argv[2]));
	} else if (argc == 3 && strcmp(argv[1], "query") == 0) {
		for (int i = 1; i <= atoi(argv[2]); i++)
			pass_query(10 * i);
	} else if (argc == 3 && strcmp(argv[1], "rate") == 0) {
		measure(atol(argv[2]));
	} else {
		return 1;
	}
	return 0;
}
