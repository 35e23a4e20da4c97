/* SPDX-License-Identifier: MIT */

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/format/foreign.h"
#include "lib/format/format.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/test.h"

TEST(found_by_name)
{
	assert_ptr_equal(format_find("firefox"), &format_firefox);
	assert_null(format_find("Firefox"));
	assert_null(format_find(""));
	assert_string_equal(format_names()[0], "firefox");
	for (const char *const *name = format_names(); *name; name++)
		assert_true(format_find(*name)->write);
}

TEST(found_by_suffix)
{
	assert_ptr_equal(format_of_path("a.json"), &format_firefox);
	assert_ptr_equal(format_of_path("/x/a.json.gz"), &format_firefox);
	assert_null(format_of_path("a.gz"));
	assert_null(format_of_path(".gz"));
	assert_null(format_of_path("json"));
	assert_null(format_of_path("a.json.other"));
	assert_null(format_of_path(""));
}

TEST(found_by_content)
{
	assert_ptr_equal(format_of_text(" \n{\"meta\"", 9), &format_firefox);
	assert_null(format_of_text(" \n{\"meta\"", 8));
	assert_null(format_of_text("{}", 2));
	assert_null(format_of_text("[]", 2));
	assert_null(format_of_text("", 0));
	assert_ptr_equal(format_of_text("{\"nodes\":[]}", 12), &format_cpuprofile);
	assert_ptr_equal(format_of_text("main;f 1\n", 9), &format_folded);
	assert_ptr_equal(format_of_text("a 1 2.5: x:\n", 12), &format_perf_script);
	assert_null(format_of_text("\0{", 2));
}

TEST(plain_by_suffix)
{
	static const char *const suffixes[] = {".txt", NULL};
	const struct format text = {.name = "text", .suffixes = suffixes, .is_plain = true};

	assert_false(format_is_compressed(&format_firefox, "a.json"));
	assert_true(format_is_compressed(&format_firefox, "a.json.gz"));
	assert_true(format_is_compressed(&format_firefox, "a"));
	assert_true(format_is_compressed(&format_firefox, "a.json.other"));
	assert_true(format_is_compressed(&format_firefox, "-"));
	assert_false(format_is_compressed(&text, "a.txt"));
	assert_true(format_is_compressed(&text, "a.txt.gz"));
	assert_false(format_is_compressed(&text, "a"));
	assert_false(format_is_compressed(&text, "-"));
}

/* Returns what the format makes of the profile, as text with its size. */
static struct strbuf written_as(const struct format *format, const struct profile *p)
{
	struct outfile_options options = {.path = "memory", .owner = {.is_self = true}};
	int fd = memfd_create("profile", MFD_CLOEXEC);
	struct strbuf text = {0};
	struct error err = {0};
	struct outfile *out;
	char buffer[4096];
	ssize_t size;

	options.fd = dup(fd);
	assert_int_equal(outfile_open(&out, &options, &err), 0);
	assert_int_equal(format->write(p, NULL, out, NULL, &err), 0);
	assert_int_equal(outfile_commit(out, &err), 0);
	outfile_free(out);
	lseek(fd, 0, SEEK_SET);
	while ((size = read(fd, buffer, sizeof(buffer))) > 0)
		strbuf_add(&text, buffer, (size_t)size);
	close(fd);
	return text;
}

#define WRITTEN(name) &format_##name,
/* All formats show the address at which the file's code is loaded. */
TEST_WITH(nameless_code_has_the_same_address_everywhere, export_setup, export_teardown)
{
	static const struct format *const formats[] = {FORMATS(WRITTEN)};
	struct exported *f = *state;
	module_id module = modules_add(&f->p->modules, PROFILE_MODULE_FILE,
				       export_intern(f, "/lib/app"), export_intern(f, "app"));
	struct module_segment segments[] = {
		{.file_size = 0x1000, .vaddr = 0x400000},
		{.file_offset = 0x1000, .file_size = 0x1000, .vaddr = 0x403000, .executable = true},
	};
	struct profile_thread *thread;
	frame_id frame;

	for (size_t i = 0; i < 2; i++)
		vec_push(&modules_get(&f->p->modules, module)->segments, segments[i]);
	frame = export_add_frame(f, module, NO_FUNC, 0x1abc);
	thread = export_add_thread(f, 10, 10, "app");
	export_add_sample(thread, 1000000, stacks_intern(&f->p->stacks, NO_STACK, frame), 0);
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		struct strbuf text;

		/* Addresses of a process, or of the linked file, are those of mappings. */
		if (!formats[i]->write || formats[i] == &format_gecko ||
		    formats[i] == &format_pprof || formats[i] == &format_pgo)
			continue;
		text = written_as(formats[i], f->p);
		print_message("%s\n", formats[i]->name);
		assert_non_null(memmem(text.text, text.size, "0x3abc", 6));
		assert_null(memmem(text.text, text.size, "0x1abc", 6));
		strbuf_release(&text);
	}
}

/* A tool that has the file finds the name: the address is 0x403abc, of a segment of whole pages. */
TEST_WITH(nameless_code_in_pprof_has_the_address_of_the_linked_file, export_setup, export_teardown)
{
	static const char location[] = {0x08,	    1,		0x10,	    1, 0x18,
					(char)0xbc, (char)0xf5, (char)0x80, 2};
	static const char mapping[] = {0x10, (char)0x80, (char)0xe0, (char)0x80, 2, /* 0x403000 */
				       0x18, (char)0x80, (char)0x80, (char)0x81, 2, /* 0x404000 */
				       0x20, (char)0x80, 0x20}; /* 0x1000 */
	struct exported *f = *state;
	module_id module = modules_add(&f->p->modules, PROFILE_MODULE_FILE,
				       export_intern(f, "/lib/app"), export_intern(f, "app"));
	struct module_segment segments[] = {
		{.file_size = 0x1000, .vaddr = 0x400000},
		{.file_offset = 0x1200, .file_size = 0xc00, .vaddr = 0x403200, .executable = true},
	};
	struct profile_thread *thread = export_add_thread(f, 10, 10, "app");
	struct strbuf text;

	for (size_t i = 0; i < 2; i++)
		vec_push(&modules_get(&f->p->modules, module)->segments, segments[i]);
	export_add_sample(thread, 1000000,
			  stacks_intern(&f->p->stacks, NO_STACK,
					export_add_frame(f, module, NO_FUNC, 0x1abc)),
			  0);
	text = written_as(&format_pprof, f->p);
	assert_non_null(memmem(text.text, text.size, location, sizeof(location)));
	assert_non_null(memmem(text.text, text.size, mapping, sizeof(mapping)));
	assert_null(memmem(text.text, text.size, "0x", 2));
	strbuf_release(&text);
}

/* Counts lines of samples, or packets: parts that each have the text. */
static size_t rows_of(const struct format *format, const struct profile *p, const char *row,
		      size_t size)
{
	struct strbuf text = written_as(format, p);
	size_t count = 0;

	/* Sanitizers look at all of the text in each call of memmem(). */
	for (size_t at = 0; at + size <= text.size; at++)
		count += text.text[at] == *row && memcmp(text.text + at, row, size) == 0;
	strbuf_release(&text);
	return count;
}

/* Heavy samples, whose weights nothing bounds, lose repetitions; light ones lose none. */
TEST_WITH(weights_become_a_bounded_number_of_rows, export_setup, export_teardown)
{
	struct exported *f = *state;
	func_id func = export_add_func(f, NO_MODULE, "work", NULL);
	frame_id frame = export_add_frame(f, NO_MODULE, func, 0);
	stack_id stack = stacks_intern(&f->p->stacks, NO_STACK, frame);
	struct profile_thread *thread = export_add_thread(f, 10, 10, "app");
	struct sample heavy = {.stack = stack, .weight = UINT32_MAX, .cpu = 0x55};
	struct sample light = {.stack = stack, .weight = 700, .cpu = 0x66};

	for (uint64_t i = 0; i < 400; i++) {
		heavy.time = EXPORT_START_NS + i * 1000000;
		samples_add(&thread->samples, &heavy);
	}
	light.time = EXPORT_START_NS + 777000000;
	samples_add(&thread->samples, &light);
	/* Samples of the CPU: field 1 of the message. */
	assert_in_range(rows_of(&format_perfetto, f->p, "\x08\x55\x10\x0a", 4), 1 << 20, 1 << 22);
	assert_int_equal(rows_of(&format_perfetto, f->p, "\x08\x66\x10\x0a", 4), 700);
	assert_int_equal(rows_of(&format_gecko, f->p, ",777,0,", 7), 700);
	assert_in_range(rows_of(&format_gecko, f->p, ",1,0,", 5), 1 << 12, 1 << 14);
}

/* Without a clock, it is the first that the profile has, whatever is the first in the file. */
TEST(the_shown_event_stays_the_same)
{
	struct import_counts counts;
	struct foreign f;
	struct profile *p, *again;
	struct strbuf text;
	uint8_t shown, other;

	foreign_init(&f, &counts);
	shown = foreign_event(&f, "shown");
	other = foreign_event(&f, "other");
	foreign_sample(&f, foreign_thread(&f, 7, 7, "a", "a", false), other, 2, NO_STACK, 1);
	foreign_sample(&f, foreign_thread(&f, 8, 8, "b", "b", false), shown, 1, NO_STACK, 1);
	assert_int_equal(foreign_finish(&f, true, NULL), 0);
	foreign_end(&f, 0, &p);
	assert_int_equal(profile_first_event(p), shown);
	text = written_as(&format_firefox, p);
	assert_int_equal(format_firefox.read(&again, text.text, text.size, NULL, NULL), 0);
	assert_string_equal(strings_get(&again->strings,
					again->events.rows.items[profile_first_event(again)].name),
			    "shown");
	strbuf_release(&text);
	profile_free(again);
	profile_free(p);
}

/* Intervals of days, and as many ticks a sample, are no times when multiplied. */
TEST_WITH(large_intervals_are_written, export_setup, export_teardown)
{
	struct exported *f = *state;
	func_id func = export_add_func(f, NO_MODULE, "work", NULL);
	frame_id frame = export_add_frame(f, NO_MODULE, func, 0);
	struct sample sample = {.time = EXPORT_START_NS,
				.stack = stacks_intern(&f->p->stacks, NO_STACK, frame),
				.weight = UINT32_MAX,
				.cpu = 0x55};

	f->p->meta.interval_ns = f->p->meta.sample_ticks = 1ull << 32;
	samples_add(&export_add_thread(f, 10, 10, "app")->samples, &sample);
	assert_int_equal(rows_of(&format_perfetto, f->p, "\x08\x55\x10\x0a", 4), 1);
}
