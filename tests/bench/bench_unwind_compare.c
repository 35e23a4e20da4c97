/* SPDX-License-Identifier: MIT */
/*
 * Checks frames: samples programs with registers and stacks, walks each sample by our walker
 * and by libdw, and compares the two frame by frame.
 *
 *	bench_unwind_compare [-F HZ] [-d SECONDS] [-n CLASSES] [COMMAND [ARG…]]
 *
 * Without a command, some programs that most machines have. Prints "metric value unit" lines, then
 * as comments the classes of what is not equal, the most frequent ones first, each with where the
 * two part: function, rule, what either says next. Frames are those that libdw gives; frames
 * beyond the copied stack (64 KB) do not exist for either.
 */
#include <inttypes.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "bpf/config.h"
#include "lib/base/cleanup.h"
#include "tests/bench/perf_samples.h"
#include "tests/bench/walk_classes.h"
#include "tests/bench/walk_spaces.h"

struct counts {
	uint64_t samples, lost, not_compared;
	uint64_t verdicts[VERDICT_COUNT];
	uint64_t frames, equal_frames; /* libdw's frames, and those that we find, too */
	uint64_t guesses; /* of our frames that equal libdw's */
	uint64_t whole, libdw_whole, both_whole;
};

struct compare {
	struct walk_spaces spaces;
	struct walk_classes classes;
	struct counts counts;
	const struct walk_space *space; /* of the current sample */
	uint64_t ours[USER_DEPTH_MAX], theirs[USER_DEPTH_MAX];
	uint8_t kinds[USER_DEPTH_MAX];
	bool is_pc[USER_DEPTH_MAX];
};

static bool read_code(void *ctx, uint64_t addr, void *to, size_t size)
{
	const struct compare *c = ctx;

	return walk_spaces_read_code(&c->spaces, c->space, addr, to, size);
}

static void walk_ours(struct compare *c, const struct perf_item *item, struct walk_path *path)
{
	struct walk_target target = {
#if defined(__aarch64__)
		.is_arm64 = true,
#endif
		.methods = UNWIND_BY_CFI | UNWIND_BY_FRAME_POINTER | UNWIND_BY_SCAN,
		.stack_start = item->regs.sp,
		.stack = item->stack,
		.stack_size = item->stack_size,
		.read_code = read_code,
		.ctx = c,
	};

	walk_tables_target(&c->spaces.tables, &target);
	*path = (struct walk_path){.addrs = c->ours, .kinds = c->kinds, .capacity = USER_DEPTH_MAX};
	walk_stack(&target, &item->regs, path);
}

/* libdw does not count the return from the handler as a return address; we do. */
static bool is_pc(const struct walk_path *path, uint32_t i)
{
	return path->kinds[i] == FRAME_SIGNAL ||
	       (i + 1 < path->depth && path->kinds[i + 1] == FRAME_SIGNAL);
}

static enum walk_verdict judge(const struct walk_path *ours, const struct libdw_path *theirs,
			       uint32_t *common)
{
	uint32_t i = 0, both = ours->depth < theirs->depth ? ours->depth : theirs->depth;

	while (i < both && ours->addrs[i] == theirs->addrs[i])
		i++;
	*common = i;
	if (i < both)
		return VERDICT_DIFFERENT;
	for (uint32_t k = 0; k + 1 < both; k++) {
		if (is_pc(ours, k) != theirs->is_pc[k])
			return VERDICT_OTHER_KIND;
	}
	if (ours->depth != theirs->depth)
		return ours->depth > theirs->depth ? VERDICT_LONGER : VERDICT_SHORTER;
	return VERDICT_EQUAL;
}

static void count_sample(struct counts *n, const struct walk_path *ours,
			 const struct libdw_path *theirs, uint32_t common)
{
	bool whole = ours->flags & STACK_WHOLE;

	n->frames += theirs->depth;
	n->equal_frames += common;
	n->whole += whole;
	n->libdw_whole += theirs->is_end;
	n->both_whole += whole && theirs->is_end;
	for (uint32_t i = 0; i < common; i++)
		n->guesses += ours->kinds[i] == FRAME_GUESS;
}

static void compare_sample(struct compare *c, const struct perf_item *item)
{
	struct walk_space *space = walk_spaces_prepare(&c->spaces, item->pid);
	struct libdw_path theirs = {
		.addrs = c->theirs, .is_pc = c->is_pc, .capacity = USER_DEPTH_MAX};
	struct walk_difference difference = {
		.ours = NULL, .theirs = &theirs, .item = item, .space = space};
	struct walk_path ours;

	if (!space || !mapping_table_find(space->mappings, item->regs.pc)) {
		c->counts.not_compared++;
		return;
	}
	c->space = space;
	walk_ours(c, item, &ours);
	libdw_walk(space->libdw, &item->regs, item->stack, item->stack_size, &theirs);
	difference.ours = &ours;
	difference.verdict = judge(&ours, &theirs, &difference.common);
	c->counts.samples++;
	c->counts.verdicts[difference.verdict]++;
	count_sample(&c->counts, &ours, &theirs, difference.common);
	if (difference.verdict != VERDICT_EQUAL || !(ours.flags & STACK_WHOLE) || !theirs.is_end)
		walk_classes_add(&c->classes, &c->spaces, &difference);
}

static void take(void *ctx, const struct perf_item *item)
{
	struct compare *c = ctx;

	if (item->kind == PERF_ITEM_SAMPLE)
		compare_sample(c, item);
	else if (item->kind == PERF_ITEM_LOST)
		c->counts.lost += item->lost;
	else
		walk_spaces_apply(&c->spaces, item);
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void report(const struct compare *c, const char *name, size_t max_classes)
{
	const struct counts *n = &c->counts;

	printf("unwind_compare_samples_%s %" PRIu64 " samples\n", name, n->samples);
	for (int i = 0; i < VERDICT_COUNT; i++)
		printf("unwind_compare_%s_%s %" PRIu64 " samples\n", walk_verdict_names[i], name,
		       n->verdicts[i]);
	printf("unwind_compare_frames_%s %" PRIu64 " frames\n", name, n->frames);
	printf("unwind_compare_equal_frames_%s %.3f %%\n", name, share(n->equal_frames, n->frames));
	printf("unwind_compare_guessed_frames_%s %.3f %%\n", name, share(n->guesses, n->frames));
	printf("unwind_compare_whole_%s %.3f %%\n", name, share(n->whole, n->samples));
	printf("unwind_compare_libdw_whole_%s %.3f %%\n", name, share(n->libdw_whole, n->samples));
	printf("unwind_compare_both_whole_%s %.3f %%\n", name, share(n->both_whole, n->samples));
	printf("unwind_compare_not_compared_%s %" PRIu64 " samples\n", name, n->not_compared);
	printf("unwind_compare_lost_%s %" PRIu64 " samples\n", name, n->lost);
	walk_classes_print(&c->classes, max_classes);
	fflush(stdout);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct settings {
	uint32_t hz;
	double seconds;
	size_t classes;
};

static void drain(struct compare *c, struct perf_samples *samples, double seconds)
{
	double end = now() + seconds;
	pid_t pid = perf_samples_pid(samples);
	bool running = true;

	while (running) {
		running = waitpid(pid, NULL, WNOHANG) == 0;
		if (running && now() > end)
			kill(-pid, SIGKILL);
		perf_samples_drain(samples, take, c);
	}
}

static int compare_command(char *const argv[], const struct settings *settings)
{
	_cleanup_free_ char *copy = xstrdup(argv[0]);
	struct compare *c = xcalloc(1, sizeof(*c));
	struct perf_samples *samples;
	struct error err;
	int ret = perf_samples_start(&samples, argv, settings->hz, &err);

	if (ret) {
		fprintf(stderr, "%s\n", err.text);
	} else {
		walk_spaces_init(&c->spaces);
		drain(c, samples, settings->seconds);
		perf_samples_free(samples);
		report(c, basename(copy), settings->classes);
		ret = c->counts.samples ? 0 : -1;
		walk_classes_release(&c->classes);
		walk_spaces_release(&c->spaces);
	}
	free(c);
	return ret;
}

static int compare_defaults(const struct settings *settings)
{
	static char *const commands[][4] = {
		{"/usr/bin/python3", "-c",
		 "import json\nwhile 1: json.loads(json.dumps([{'a': 1}]))"},
		{"/usr/bin/perl", "-e", "while (1) { join ',', sort map { $_ * 7 % 13 } 1 .. 99 }"},
		{"/usr/bin/openssl", "speed", "rsa2048"},
	};
	int ret = 0;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (access(commands[i][0], X_OK) == 0)
			ret |= compare_command(commands[i], settings);
	}
	return ret;
}

int main(int argc, char **argv)
{
	struct settings settings = {.hz = 499, .seconds = 5, .classes = 20};

	for (int option; (option = getopt(argc, argv, "+F:d:n:")) != -1;) {
		if (option == 'F')
			settings.hz = (uint32_t)atoi(optarg);
		else if (option == 'd')
			settings.seconds = atof(optarg);
		else if (option == 'n')
			settings.classes = (size_t)atoi(optarg);
		else
			return 2;
	}
	if (optind == argc)
		return compare_defaults(&settings) ? 1 : 0;
	return compare_command(argv + optind, &settings) ? 1 : 0;
}
