/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/json/writer.h"
#include "lib/model/meaning/categories.h"
#include "lib/model/tables/expand_inlines.h"
#include "lib/format/firefox/patch/patch.h"
#include "tests/unit/test.h"

#define SEEDS "tests/fuzz/corpus/patch/"

static int open_text(struct patch **r, const char *text, struct error *err)
{
	return patch_open(r, xstrdup(text), strlen(text), err);
}

static char *seed(const char *name)
{
	_cleanup_free_ char *path = xasprintf(SEEDS "%s", name);
	char *text = text_read_file(path, 1 << 20, NULL);

	assert_non_null(text);
	return text;
}

static char *written(struct patch *r)
{
	int fd = memfd_create("output", MFD_CLOEXEC);
	struct outfile_options options = {.fd = dup(fd)};
	struct outfile *out;
	char *text;

	assert_int_equal(outfile_open(&out, &options, NULL), 0);
	patch_write(r, out);
	assert_int_equal(outfile_commit(out, NULL), 0);
	outfile_free(out);
	lseek(fd, 0, SEEK_SET);
	text = text_read_fd(fd, 1 << 20, NULL);
	close(fd);
	return text;
}

/* Returns the frame at this RVA. */
static frame_id frame_at(struct profile *p, uint64_t rva)
{
	for (frame_id i = 0; i < p->frames.rows.count; i++) {
		if (frames_get(&p->frames, i)->offset == rva)
			return i;
	}
	fail_msg("no frame at %llx", (unsigned long long)rva);
	return NO_FRAME;
}

/* 0x10: outer() in a.c; 0x20: inner() inlined in outer(); 0x40, named fun_40: `real_name`. */
static void answer(struct profile *p, const char *real_name)
{
	string_id outer = strings_intern(&p->strings, "outer");
	string_id file = strings_intern(&p->strings, "/a.c");
	struct frame_name chain[] = {
		{.func = outer, .file = file, .line = 7, .is_named = true},
		{.func = strings_intern(&p->strings, "inner"),
		 .file = file,
		 .line = 9,
		 .is_named = true},
	};
	struct frame_name real = {.func = strings_intern(&p->strings, real_name),
				  .file = NO_STRING,
				  .is_named = true};
	struct symbol symbol = {.module = 0, .name = outer, .rva = 0, .size = 0x30};
	struct expand_inlines *e = expand_inlines_new(p);
	symbol_id id = symbols_intern(&p->symbols, &symbol);

	expand_inlines_answer(e, frame_at(p, 0x10), id, chain, 1);
	expand_inlines_answer(e, frame_at(p, 0x20), id, chain, 2);
	symbol = (struct symbol){.module = 0, .name = real.func, .rva = 0x40, .size = 8};
	expand_inlines_answer(e, frame_at(p, 0x40), symbols_intern(&p->symbols, &symbol), &real, 1);
	expand_inlines_apply(e);
	expand_inlines_free(e);
	p->meta.symbolicated = true;
}

static json_t *column(json_t *root, const char *table, const char *name)
{
	json_t *value = json_object_get(json_object_get(json_object_get(root, "shared"), table),
					name);

	if (!json_is_array(value))
		fail_msg("no %s.%s", table, name);
	return value;
}

static json_int_t cell(json_t *root, const char *table, const char *name, json_int_t row)
{
	return json_integer_value(json_array_get(column(root, table, name), (size_t)row));
}

static const char *string_at(json_t *root, json_int_t position)
{
	json_t *strings = json_object_get(json_object_get(root, "shared"), "stringArray");

	return json_string_value(json_array_get(strings, (size_t)position));
}

/* "outer:7 inner:9", outermost first. */
static void add_stack(json_t *root, json_int_t stack, struct strbuf *out)
{
	json_t *shared = json_object_get(root, "shared");
	bool is_distance = json_object_get(json_object_get(shared, "stackTable"), "prefixOffset");
	json_t *parents = column(root, "stackTable", is_distance ? "prefixOffset" : "prefix");
	json_t *parent = json_array_get(parents, (size_t)stack);
	json_int_t frame = cell(root, "stackTable", "frame", stack);
	json_int_t line = cell(root, "frameTable", "line", frame);

	if (is_distance ? json_integer_value(parent) != 0 : json_is_integer(parent)) {
		add_stack(root,
			  is_distance ? stack - json_integer_value(parent)
				      : json_integer_value(parent),
			  out);
		strbuf_addch(out, ' ');
	}
	strbuf_adds(out, string_at(root, cell(root, "funcTable", "name",
					      cell(root, "frameTable", "func", frame))));
	if (line)
		strbuf_addf(out, ":%lld", (long long)line);
}

static void expect_stack(json_t *root, json_t *stack, const char *wanted)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	assert_true(json_is_integer(stack));
	add_stack(root, json_integer_value(stack), &text);
	assert_string_equal(strbuf_text(&text), wanted);
}

static void check_completed(json_t *root)
{
	json_t *thread = json_array_get(json_object_get(root, "threads"), 0);
	json_t *stacks = json_object_get(json_object_get(thread, "samples"), "stack");
	json_t *markers = json_object_get(thread, "markers");
	json_t *data = json_array_get(json_object_get(markers, "data"), 0);
	json_t *names = json_object_get(markers, "name");

	expect_stack(root, json_array_get(stacks, 0), "outer:7 outer:7 inner:9 main");
	assert_true(json_is_null(json_array_get(stacks, 1)));
	expect_stack(root, json_array_get(stacks, 2), "outer:7 0x30 real");
	expect_stack(root, json_array_get(stacks, 3), "outer:7 0x30 real outer:7");
	expect_stack(root, json_object_get(json_object_get(data, "cause"), "stack"),
		     "outer:7 0x30 real");
	assert_string_equal(string_at(root, json_integer_value(json_object_get(data, "s"))),
			    "0x30");
	assert_string_equal(string_at(root, json_integer_value(json_array_get(names, 1))), "mark");
	/* The symbol named fun_40 now has its name and size, and is still the first. */
	assert_string_equal(string_at(root, cell(root, "nativeSymbols", "name", 0)), "real");
	assert_int_equal(cell(root, "nativeSymbols", "functionSize", 0), 8);
	assert_int_equal(json_array_size(column(root, "nativeSymbols", "name")), 2);
	/* Addresses that are no longer names are gone; everything still used remains. */
	for (size_t i = 0; i < 9; i++) {
		const char *text = string_at(root, (json_int_t)i);

		assert_true(!text || (strcmp(text, "0x10") && strcmp(text, "fun_40")));
	}
	assert_int_equal(json_array_size(column(root, "sources", "filename")), 2);
	assert_true(json_is_true(json_object_get(json_object_get(root, "meta"), "symbolicated")));
	assert_true(json_is_true(
		json_object_get(json_object_get(root, "meta"), "symbolicationNotSupported")));
}

/* Checks cells of version 75: outer(), main() without a place, and inner(), which is new. */
static void check_flags(json_t *root)
{
	static const struct {
		json_int_t row, flags, line, func_flags;
	} frames[] = {{0, 30, 7, 12}, {3, 4, 0, 8}, {5, 31, 9, 12}};

	for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++) {
		json_int_t row = frames[i].row, func = cell(root, "frameTable", "func", row);

		assert_int_equal(cell(root, "frameTable", "flags", row), frames[i].flags);
		assert_int_equal(cell(root, "frameTable", "line", row), frames[i].line);
		assert_int_equal(cell(root, "funcTable", "flags", func), frames[i].func_flags);
	}
	for (size_t i = 0; i < json_array_size(column(root, "frameTable", "flags")); i++) {
		assert_true(json_is_integer(
			json_array_get(column(root, "frameTable", "nativeSymbol"), i)));
		assert_true(json_is_integer(json_array_get(column(root, "frameTable", "line"), i)));
	}
	for (size_t i = 0; i < json_array_size(column(root, "funcTable", "flags")); i++)
		assert_true(
			json_is_integer(json_array_get(column(root, "funcTable", "source"), i)));
}

/* A symbol of unknown size has -1 in version 75, in place of null. */
TEST(unknown_sizes_stay_numbers)
{
	_cleanup_free_ char *text = seed("version-75.json"), *after = NULL;
	struct symbol symbol = {.rva = 0x40};
	struct frame_name name = {.file = NO_STRING, .is_named = true};
	struct patch_counts counts;
	struct expand_inlines *e;
	struct profile *p;
	struct patch *r;
	json_t *root;

	assert_int_equal(open_text(&r, text, NULL), 0);
	p = patch_profile(r);
	name.func = symbol.name = strings_intern(&p->strings, "real");
	e = expand_inlines_new(p);
	expand_inlines_answer(e, frame_at(p, 0x40), symbols_intern(&p->symbols, &symbol), &name, 1);
	expand_inlines_apply(e);
	expand_inlines_free(e);
	patch_apply(r, &counts);
	after = written(r);
	root = json_loads(after, 0, NULL);
	assert_non_null(root);
	assert_string_equal(string_at(root, cell(root, "nativeSymbols", "name", 0)), "real");
	assert_int_equal(cell(root, "nativeSymbols", "functionSize", 0), -1);
	json_decref(root);
	patch_free(r);
}

TEST(frames_are_named)
{
	static const char *const names[] = {"version-60.json", "version-66.json", "version-70.json",
					    "version-75.json"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		_cleanup_free_ char *text = seed(names[i]);
		_cleanup_free_ char *after = NULL;
		struct patch_counts counts;
		struct patch *r;
		json_t *root;

		assert_int_equal(open_text(&r, text, NULL), 0);
		assert_int_equal(patch_profile(r)->frames.rows.count, 4);
		assert_int_equal(patch_profile(r)->modules.rows.items[0].build_id[1], 0x11);
		answer(patch_profile(r), "real");
		patch_apply(r, &counts);
		assert_int_equal(counts.unnamed, 4);
		assert_int_equal(counts.named, 3);
		assert_int_equal(counts.all, 6);
		assert_int_equal(counts.all_named, 5);
		after = written(r);
		root = json_loads(after, 0, NULL);
		assert_non_null(root);
		check_completed(root);
		if (json_object_get(json_object_get(json_object_get(root, "shared"), "frameTable"),
				    "flags"))
			check_flags(root);
		/* Text that has nothing to do with names is unchanged. */
		assert_non_null(strstr(after, "\"timeDeltas\":[1,1,1,1],\"weight\":null"));
		assert_non_null(strstr(after, "\"startTime\":1.5,\"symbolicated\":true,"));
		assert_string_equal(after + strlen(after) - 16, "},\"counters\":[]}");
		json_decref(root);
		patch_free(r);
	}
}

static char *replace(char *text, const char *from, const char *to)
{
	char *at = strstr(text, from), *whole;

	assert_non_null(at);
	whole = xasprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	free(text);
	return whole;
}

/* A file has the categories that occur in it, so the kernel's may not be the third. */
TEST(kernel_code_gets_its_part_of_the_kernel)
{
	static const char kernel[] =
		"{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\","
		"\"System call\",\"Fault\",\"Interrupt\",\"Scheduler\",\"Memory\",\"Files\","
		"\"Network\",\"BPF\"]}";
	static const char other[] =
		"{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}";

	for (json_int_t position = 0; position < 4; position++) {
		_cleanup_(strbuf_release) struct strbuf list = {0};
		_cleanup_free_ char *text = seed("version-70.json"), *after = NULL;
		struct patch_counts counts;
		struct patch *r;
		json_t *root;

		strbuf_adds(&list, "\"categories\":[");
		for (json_int_t i = 0; i < 3; i++)
			strbuf_addf(&list, "%s%s", i ? "," : "", i == position ? kernel : other);
		strbuf_adds(&list, "]");
		text = replace(text, "\"categories\":[]", strbuf_text(&list));
		text = replace(text, "\"name\":\"a\",\"path\":\"/bin/a\"",
			       "\"name\":\"[kernel.kallsyms]\",\"path\":\"[kernel.kallsyms]\"");
		assert_int_equal(open_text(&r, text, NULL), 0);
		answer(patch_profile(r), "schedule");
		patch_apply(r, &counts);
		after = written(r);
		root = json_loads(after, 0, NULL);
		assert_non_null(root);
		/* The fourth round has a file without a kernel category. */
		assert_int_equal(cell(root, "frameTable", "category", 4),
				 position < 3 ? position : 0);
		assert_int_equal(cell(root, "frameTable", "subcategory", 4),
				 position < 3 ? KERNEL_SCHEDULER : 0);
		json_decref(root);
		patch_free(r);
	}
}

TEST(named_files_need_no_server)
{
	_cleanup_free_ char *text = seed("version-70.json"), *after = NULL;
	struct patch_counts counts;
	struct patch *r;

	/* Complete when it was written, but files are missing here. */
	text = replace(text, "\"interval\":1", "\"symbolicationNotSupported\":true,\"interval\":1");
	assert_int_equal(open_text(&r, text, NULL), 0);
	patch_apply(r, &counts);
	after = written(r);
	assert_non_null(strstr(after, "\"symbolicationNotSupported\":false,"));
	patch_free(r);
}

TEST(unnamed_files_stay_as_they_are)
{
	_cleanup_free_ char *text = seed("version-70.json");
	_cleanup_free_ char *after = NULL;
	struct patch_counts counts;
	json_t *before, *root;
	struct patch *r;

	assert_int_equal(open_text(&r, text, NULL), 0);
	patch_apply(r, &counts);
	assert_int_equal(counts.named, 0);
	after = written(r);
	before = json_loads(text, 0, NULL);
	root = json_loads(after, 0, NULL);
	assert_true(json_equal(before, root));
	json_decref(before);
	json_decref(root);
	patch_free(r);
}

/* Unknown parts may refer to strings, so these keep their places. */
TEST(unknown_parts_keep_all_strings)
{
	_cleanup_free_ char *text = seed("unknown-parts.json");
	_cleanup_free_ char *after = NULL;
	struct patch_counts counts;
	struct patch *r;
	json_t *root;

	assert_int_equal(open_text(&r, text, NULL), 0);
	answer(patch_profile(r), "real");
	profile_add_extra(patch_profile(r), "Symbols", "a", "string", "all");
	patch_apply(r, &counts);
	after = written(r);
	root = json_loads(after, 0, NULL);
	assert_non_null(root);
	assert_string_equal(string_at(root, 2), "0x10");
	assert_string_equal(string_at(root, 7), "fun_40");
	/* Neither was there before. */
	assert_non_null(strstr(after, "\"symbolicated\":true,"));
	assert_non_null(strstr(after, "\"extra\":[{\"label\":\"Symbols\",\"entries\":[{\"label\":"
				      "\"a\",\"format\":\"string\",\"value\":\"all\"}]}],"));
	json_decref(root);
	patch_free(r);
}

TEST(unknown_columns_keep_all_strings)
{
	_cleanup_free_ char *text = seed("version-70.json");
	_cleanup_free_ char *after = NULL;
	struct patch_counts counts;
	struct patch *r;
	json_t *root;

	text = replace(text, "\"innerWindowID\":[null,null,", "\"future\":[null,2,");
	assert_int_equal(open_text(&r, text, NULL), 0);
	answer(patch_profile(r), "real");
	patch_apply(r, &counts);
	after = written(r);
	root = json_loads(after, 0, NULL);
	assert_non_null(root);
	assert_string_equal(string_at(root, 2), "0x10");
	json_decref(root);
	patch_free(r);
}

TEST(entries_are_replaced_by_label)
{
	_cleanup_free_ char *text = seed("version-70.json");
	_cleanup_free_ char *after = NULL;
	struct patch_counts counts;
	struct patch *r;

	assert_int_equal(open_text(&r, text, NULL), 0);
	profile_add_extra(patch_profile(r), "Recording", "Frames", "integer", "12");
	profile_add_extra(patch_profile(r), "Recording", "More", "string", "x");
	patch_apply(r, &counts);
	after = written(r);
	assert_non_null(strstr(after, "\"extra\":[{\"label\":\"Recording\",\"entries\":[{\"label\":"
				      "\"Frames\",\"format\":\"integer\",\"value\":12},{\"label\":"
				      "\"More\",\"format\":\"string\",\"value\":\"x\"}]}]"));
	patch_free(r);
}

/* Replaces one part of a good file. */
static void expect_refusal(const char *from, const char *to, int code, const char *message)
{
	_cleanup_free_ char *text = seed("version-70.json");
	_cleanup_free_ char *damaged = NULL;
	const char *at = strstr(text, from);
	struct error err = {0};
	struct patch *r;

	assert_non_null(at);
	damaged = xasprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	assert_int_equal(open_text(&r, damaged, &err), code);
	if (!strstr(err.text, message))
		fail_msg("says: %s", err.text);
}

TEST(damage_is_refused)
{
	expect_refusal("{\"meta\"", "\"meta\"", -EBADMSG, "not a processed profile");
	expect_refusal("\"preprocessedProfileVersion\":70", "\"version\":70", -EBADMSG,
		       "not a processed profile");
	expect_refusal("Version\":70", "Version\":59", -ENOTSUP, "version 59");
	expect_refusal("Version\":70", "Version\":76", -ENOTSUP, "version 76");
	expect_refusal("Version\":70", "Version\":71", -EBADMSG, "frameTable.flags is missing");
	expect_refusal("\"extra\":[{", "\"extra\":7,\"more\":[{", -EBADMSG,
		       "meta.extra is not a list");
	expect_refusal("\"counters\":[]", "\"counters\":[", -EBADMSG, "invalid JSON");
	expect_refusal("\"counters\":[]", "\"counters\":[01]", -EBADMSG, "invalid JSON");
	expect_refusal("\"frame\":[0,1,3", "\"frame\":[0,1,5", -EBADMSG, "stackTable.frame[2]");
	expect_refusal("\"prefixOffset\":[0,1,1", "\"prefixOffset\":[0,1,3", -EBADMSG,
		       "stackTable[2]");
	expect_refusal("\"prefixOffset\":[0,1,1", "\"prefixOffset\":[0,1,-1", -EBADMSG,
		       "stackTable.prefixOffset[2]");
	expect_refusal("\"func\":[0,1", "\"func\":[0,9", -EBADMSG, "frameTable.func[1]");
	expect_refusal("\"func\":[0,1", "\"func\":[0,1.5", -EBADMSG, "frameTable.func[1]");
	expect_refusal("\"lib\":[0,0,0", "\"lib\":[0,0,1", -EBADMSG, "frameTable.lib[2]");
	expect_refusal("\"lib\":[0,0,0", "\"lib\":[0,0,0,0", -EBADMSG, "6 values instead of 5");
	expect_refusal("\"name\":[2,3", "\"name\":[2,8", -EBADMSG, "funcTable.name[1]");
	expect_refusal("\"stack\":[2,", "\"stack\":[6,", -EBADMSG, "threads[0]");
	expect_refusal("\"s\":6", "\"s\":8", -EBADMSG, "threads[0]");
	expect_refusal("\"a\",\"/bin/a\"", "\"a\",7", -EBADMSG, "stringArray[1]");
	expect_refusal("\"a\",\"/bin/a\"", "\"\\u00g0\",\"b\"", -EBADMSG, "stringArray[0]");
	expect_refusal("\"stackTable\"", "\"stackTables\"", -EBADMSG, "missing");
}

/* A file may have bytes that are no text: what is written has none. */
TEST(bytes_that_are_no_text)
{
	_cleanup_free_ char *text = seed("version-70.json"), *after = NULL;
	struct patch_counts counts;
	struct patch *r;

	memcpy(strstr(text, "/bin/a"), "/b\xff\xc3/a", 6);
	assert_int_equal(open_text(&r, text, NULL), 0);
	patch_apply(r, &counts);
	after = written(r);
	assert_true(jsonw_is_clean(after, strlen(after)));
	assert_non_null(strstr(after, "/b\xef\xbf\xbd\xef\xbf\xbd/a"));
	patch_free(r);
}
