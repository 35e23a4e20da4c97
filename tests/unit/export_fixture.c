/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/export_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"

int export_setup(void **state)
{
	struct exported *f = calloc(1, sizeof(*f));
	struct profile_meta *meta;

	f->p = profile_new();
	meta = &f->p->meta;
	meta->product = xstrdup("make");
	meta->command_line = xstrdup("make -j2");
	meta->os = xstrdup("Linux 6.1.0 x86_64");
	meta->start_ns = EXPORT_START_NS;
	meta->start_realtime_ns = 1700000000123456000ull;
	meta->end_ns = EXPORT_START_NS + 2500000;
	meta->interval_ns = 1001001;
	meta->buffer_bytes = 8192;
	meta->memory_bytes = 1ull << 34;
	meta->symbolicated = true;
	vec_push(&meta->features, xstrdup("cpu-clock"));
	vec_push(&meta->filters, xstrdup("make"));
	*state = f;
	return 0;
}

int export_teardown(void **state)
{
	struct exported *f = *state;

	profile_free(f->p);
	json_decref(f->root);
	free(f);
	return 0;
}

string_id export_intern(struct exported *f, const char *text)
{
	return strings_intern(&f->p->strings, text);
}

func_id export_add_func(struct exported *f, module_id module, const char *name, const char *file)
{
	struct func func = {
		.name = export_intern(f, name),
		.module = module,
		.file = NO_SOURCE_FILE,
		.is_named = true,
	};

	if (file)
		func.file = source_files_intern(&f->p->source_files, export_intern(f, file));
	return funcs_intern(&f->p->funcs, &func);
}

frame_id export_add_frame(struct exported *f, module_id module, func_id func, uint64_t offset)
{
	struct frame frame = {
		.module = module, .func = func, .offset = offset, .symbol = NO_SYMBOL};

	return frames_intern(&f->p->frames, &frame);
}

struct profile_thread *export_add_thread(struct exported *f, uint32_t pid, uint32_t tid,
					 const char *name)
{
	struct profile_thread row = {
		.pid = pid,
		.tid = tid,
		.name = export_intern(f, name),
		.process_name = export_intern(f, name),
		.arguments = NO_STRING,
		.process_label = NO_STRING,
		.start = EXPORT_START_NS,
		.process_start = EXPORT_START_NS,
		.is_main = pid == tid,
	};

	return threads_get(&f->p->threads, threads_add(&f->p->threads, &row));
}

void export_add_sample(struct profile_thread *row, uint64_t time, stack_id stack, uint32_t cpu)
{
	vec_push(&row->samples.open, (struct sample){.time = EXPORT_START_NS + time,
						     .stack = stack,
						     .weight = 1,
						     .cpu_delta = cpu});
}

json_t *export_run(struct exported *f)
{
	struct outfile_options options = {.path = "memory", .owner = {.is_self = true}};
	struct error err = {0};
	json_error_t parse_error;
	struct outfile *out;
	int fd = memfd_create("profile", MFD_CLOEXEC);

	options.fd = dup(fd);
	assert_int_equal(outfile_open(&out, &options, &err), 0);
	assert_int_equal(format_firefox.write(f->p, &f->options, out, &f->counts, &err), 0);
	assert_int_equal(outfile_commit(out, &err), 0);
	outfile_free(out);
	lseek(fd, 0, SEEK_SET);
	f->root = json_loadfd(fd, JSON_REJECT_DUPLICATES, &parse_error);
	if (!f->root)
		print_error("%s at byte %d\n", parse_error.text, parse_error.position);
	assert_non_null(f->root);
	close(fd);
	return f->root;
}

json_t *export_at(json_t *value, const char *path)
{
	_cleanup_free_ char *copy = xstrdup(path);
	char *rest = copy, *key;

	while ((key = strsep(&rest, "."))) {
		value = json_is_array(value) ? json_array_get(value, strtoul(key, NULL, 10))
					     : json_object_get(value, key);
		if (!value)
			fail_msg("nothing at %s (%s)", path, key);
	}
	return value;
}

void export_expect(json_t *root, const char *path, const char *json)
{
	json_t *wanted = json_loads(json, JSON_DECODE_ANY, NULL), *value = export_at(root, path);

	assert_non_null(wanted);
	if (!json_equal(wanted, value)) {
		_cleanup_free_ char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

		json_decref(wanted);
		fail_msg("%s is %s instead of %s", path, text, json);
	}
	json_decref(wanted);
}

void export_expect_text(json_t *root, const char *column, size_t row, const char *text)
{
	json_t *position = json_array_get(export_at(root, column), row);
	json_t *strings = export_at(root, "shared.stringArray");

	assert_true(json_is_integer(position));
	assert_string_equal(
		json_string_value(json_array_get(strings, (size_t)json_integer_value(position))),
		text);
}
