/* SPDX-License-Identifier: MIT */
/*
 * Services, containers and pods, by control groups as drivers of both versions name them, and by
 * what processes say of themselves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/model/facts/facts.h"
#include "lib/fleet/resources.h"
#include "tests/unit/test.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD_UID "3f1c0c5e-7b0a-4d5e-9c3b-0a1b2c3d4e5f"

static void expect(const char *path, const char *service, const char *pod)
{
	_cleanup_(strbuf_release) struct strbuf a = {0}, b = {0};

	cgroup_service(path, &a);
	cgroup_pod(path, &b);
	assert_string_equal(strbuf_text(&a), service);
	assert_string_equal(strbuf_text(&b), pod);
}

TEST(control_groups)
{
	expect("/system.slice/nginx.service", "nginx", "");
	expect("/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1", "");
	expect("/user.slice/user-1000.slice/user@1000.service/app.slice/emacs.service/", "emacs",
	       "");
	expect("/system.slice/cron.service/job", "cron", "");
	expect("/system.slice/docker-" ID ".scope", "", "");
	expect("/.service", "", "");
	expect("", "", "");
	expect("/", "", "");
	expect("/kubepods/burstable/pod" POD_UID "/" ID, "", POD_UID);
	expect("/kubepods.slice/kubepods-burstable.slice/"
	       "kubepods-burstable-pod3f1c0c5e_7b0a_4d5e_9c3b_0a1b2c3d4e5f.slice/cri-containerd-" ID
	       ".scope",
	       "", POD_UID);
	expect("/kubepods/besteffort/pod3f1c0c5e7b0a4d5e9c3b0a1b2c3d4e5f/x", "",
	       "3f1c0c5e7b0a4d5e9c3b0a1b2c3d4e5f");
	expect("/podman/pod3f1c", "", "");
	expect("/pod3f1c0c5e-7b0a-4d5e-9c3b-0a1b2c3d4e5", "", "");
}

static void add_marker(struct profile *p, thread_id thread, const char *name, const char *key,
		       const char *value)
{
	struct schema schema = {.name = strings_intern(&p->strings, name),
				.chart_label = NO_STRING,
				.table_label = NO_STRING,
				.tooltip_label = NO_STRING,
				.field_count = 1};
	const struct schema_field field = {strings_intern(&p->strings, key), NO_STRING,
					   FIELD_STRING, 0};
	struct marker marker = markers_make(
		&p->markers, schemas_intern(&p->markers.schemas, &schema, &field), 0, 0);

	*marker_value(&p->markers, &marker, 0) = marker_string(strings_intern(&p->strings, value));
	vec_push(&threads_get(&p->threads, thread)->markers, marker);
}

/* Adds a process with a thread that has samples of that weight. Returns the thread. */
static thread_id add_process(struct profile *p, uint32_t pid, const char *name, const char *cgroup,
			     uint32_t weight)
{
	struct profile_thread thread = {
		.pid = pid,
		.tid = pid,
		.name = strings_intern(&p->strings, name),
		.process_name = strings_intern(&p->strings, name),
		.process_label = NO_STRING,
		.arguments = NO_STRING,
		.is_main = true,
	};
	const struct sample sample = {.stack = NO_STACK, .weight = weight, .cpu = NO_CPU};
	thread_id id = threads_add(&p->threads, &thread);

	samples_add(&threads_get(&p->threads, id)->samples, &sample);
	if (cgroup)
		add_marker(p, id, "cgroup", "path", cgroup);
	return id;
}

TEST(processes_that_share_all_are_one)
{
	struct profile *p = profile_new();
	struct fleet_resources r;

	add_process(p, 1, "nginx (nginx.service)", "/system.slice/nginx.service", 1);
	add_process(p, 2, "nginx (nginx.service)", "/system.slice/nginx.service", 2);
	add_process(p, 3, "api (0123456789ab)", "/kubepods/pod" POD_UID "/" ID, 4);
	add_process(p, 4, "sh", NULL, 8);
	add_process(p, 5, "sh (pid 7)", NULL, 16);
	add_process(p, 6, "odd (name)", NULL, 32);
	fleet_resources_init(&r, p, NULL, NULL, 0);
	assert_int_equal(r.rows.count, 4);
	assert_int_equal(r.of_threads[0], r.of_threads[1]);
	assert_string_equal(r.rows.items[0].service, "nginx");
	assert_string_equal(r.rows.items[0].executable, "nginx");
	assert_string_equal(r.rows.items[0].container, "");
	assert_int_equal(r.rows.items[0].value, 3);
	assert_string_equal(r.rows.items[1].service, "unknown_service:api");
	assert_string_equal(r.rows.items[1].executable, "api");
	assert_string_equal(r.rows.items[1].container, ID);
	assert_string_equal(r.rows.items[1].pod, POD_UID);
	assert_int_equal(r.of_threads[3], r.of_threads[4]);
	assert_string_equal(r.rows.items[3].executable, "odd (name)");
	fleet_resources_release(&r);
	fleet_resources_init(&r, p, "all", NULL, 0);
	assert_string_equal(r.rows.items[r.of_threads[3]].service, "all");
	fleet_resources_release(&r);
	profile_free(p);
}

TEST(the_smallest_become_other)
{
	struct profile *p = profile_new();
	struct fleet_resources r;
	uint64_t sum = 0;

	for (uint32_t i = 1; i <= 20; i++) {
		char name[16];

		snprintf(name, sizeof(name), "p%u", i);
		add_process(p, i, name, NULL, i * 7 % 20 + 1);
	}
	fleet_resources_init(&r, p, NULL, NULL, 5);
	assert_int_equal(r.rows.count, 5);
	assert_int_equal(r.merged, 16);
	assert_string_equal(r.rows.items[4].service, RESOURCE_OTHER);
	vec_for_each(&r.rows, const struct fleet_resource *, row)
		sum += row->value;
	assert_int_equal(sum, 210);
	for (size_t i = 0; i < 20; i++)
		assert_true((r.of_threads[i] == 4) == ((i + 1) * 7 % 20 + 1 <= 16));
	fleet_resources_release(&r);
	profile_free(p);
}

TEST(what_a_process_says_of_itself_comes_first)
{
	struct profile *p = profile_new();
	struct fleet_resources r;

	add_marker(p, add_process(p, 1, "java", "/system.slice/tomcat.service", 1), "resource",
		   "attributes", "service.name=shop,service.version=1");
	add_marker(p, add_process(p, 2, "java", "/system.slice/tomcat.service", 2), "resource",
		   "attributes", "service.name=shop,service.version=2");
	add_marker(p, add_process(p, 3, "java", "/system.slice/tomcat.service", 4), "resource",
		   "attributes", "service.version=1,secret=s3cret");
	add_marker(p, add_process(p, 4, "java", "/system.slice/tomcat.service", 8), "resource",
		   "attributes", "not what it should be");
	fleet_resources_init(&r, p, NULL, NULL, 0);
	assert_int_equal(r.rows.count, 4);
	assert_string_equal(r.rows.items[0].service, "shop");
	assert_string_equal(r.rows.items[0].attributes, "service.version=1");
	assert_string_equal(r.rows.items[1].attributes, "service.version=2");
	assert_string_equal(r.rows.items[2].service, "tomcat");
	assert_string_equal(r.rows.items[2].attributes, "service.version=1");
	assert_string_equal(r.rows.items[3].service, "tomcat");
	assert_string_equal(r.rows.items[3].attributes, "");
	fleet_resources_release(&r);
	fleet_resources_init(&r, p, "all", NULL, 0);
	assert_string_equal(r.rows.items[0].service, "all");
	assert_string_equal(r.rows.items[0].attributes, "service.version=1");
	fleet_resources_release(&r);
	fleet_resources_init(&r, p, NULL, "some", 0);
	assert_string_equal(r.rows.items[0].service, "shop");
	assert_string_equal(r.rows.items[2].service, "some");
	fleet_resources_release(&r);
	profile_free(p);
}

TEST(engines_get_sampled_threads_and_what_tells_whose_they_are)
{
	struct profile *p = profile_new();
	struct profile_thread second;
	struct fleet_resources r;

	add_process(p, 1, "ended", "/system.slice/ended.service", 0);
	add_process(p, 2, "idle", "/system.slice/api.service", 0);
	second = *threads_get(&p->threads, 1);
	second.tid = 3;
	second.is_main = false;
	second.arguments = second.name;
	second.samples = (struct samples){0};
	memset(&second.markers, 0, sizeof(second.markers));
	samples_add(&second.samples,
		    &(struct sample){.stack = NO_STACK, .weight = 5, .cpu = NO_CPU});
	add_marker(p, threads_add(&p->threads, &second), "Exec", "program", "idle");
	fleet_resources_keep(p);
	assert_int_equal(p->threads.rows.count, 2);
	assert_int_equal(threads_get(&p->threads, 0)->markers.count, 1);
	assert_int_equal(threads_get(&p->threads, 1)->markers.count, 0);
	assert_int_equal(threads_get(&p->threads, 1)->arguments, NO_STRING);
	fleet_resources_init(&r, p, NULL, NULL, 0);
	assert_int_equal(r.rows.count, 1);
	assert_string_equal(r.rows.items[0].service, "api");
	assert_int_equal(r.rows.items[0].value, 5);
	fleet_resources_release(&r);
	profile_free(p);
}
