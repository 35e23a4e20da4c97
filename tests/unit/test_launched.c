/* SPDX-License-Identifier: MIT */
/* Names of profiles of commands that start containers. */
#include "lib/recording/meta.h"

#include "lib/base/cleanup.h"
#include "tests/unit/test.h"

static struct profile *p;

static int begin(void **state)
{
	p = profile_new();
	return 0;
}

static int end(void **state)
{
	profile_free(p);
	return 0;
}

static void add(uint32_t pid, uint64_t start, const char *name, const char *label, uint32_t cpu)
{
	thread_id id = threads_add(
		&p->threads,
		&(struct profile_thread){
			.pid = pid,
			.tid = pid + (uint32_t)p->threads.rows.count,
			.name = NO_STRING,
			.process_name = strings_intern(&p->strings, name),
			.process_label = label ? strings_intern(&p->strings, label) : NO_STRING,
			.arguments = NO_STRING,
			.process_start = start,
		});

	samples_add(
		&threads_get(&p->threads, id)->samples,
		&(struct sample){.stack = NO_STACK, .weight = 1, .cpu = NO_CPU, .cpu_delta = cpu});
}

static void expect(const char *command, const char *product)
{
	free(p->meta.product);
	p->meta.product = xstrdup(command);
	launched_name_profile(p);
	assert_string_equal(p->meta.product, product);
}

#define CASE(name) TEST_WITH(name, begin, end)

CASE(the_heaviest_process_names_it)
{
	add(1, 1, "podman", NULL, 30);
	add(2, 2, "conmon", "libpod-conmon.scope", 10);
	add(3, 3, "tini", "pid 1 in 4f9fbb635ac3", 1);
	add(4, 4, "prog", "pid 7 in 4f9fbb635ac3", 40);
	add(4, 4, "prog", "pid 7 in 4f9fbb635ac3", 40);
	expect("podman", "prog");
	expect("bwrap", "prog");
	/* These do more than launch. */
	expect("make", "make");
	expect("script.sh", "script.sh");
}

CASE(without_one_it_is_the_containers_first)
{
	add(1, 1, "podman", NULL, 10);
	add(5, 5, "cc1", "pid 9 in 4f9fbb635ac3", 40);
	add(3, 3, "make", "pid 1 in 4f9fbb635ac3", 1);
	add(4, 4, "cc1", "pid 7 in 4f9fbb635ac3", 40);
	expect("podman", "make");
}

CASE(a_launcher_that_works_names_itself)
{
	add(1, 1, "podman", NULL, 60);
	add(3, 3, "sh", "pid 1 in 4f9fbb635ac3", 50);
	expect("podman", "podman");
}

CASE(without_samples_nothing_changes)
{
	add(1, 1, "podman", NULL, 0);
	add(3, 3, "sh", "pid 1", 0);
	expect("podman", "podman");
}
