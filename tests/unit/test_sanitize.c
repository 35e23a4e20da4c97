/* SPDX-License-Identifier: MIT */
/* Texts and profiles that shall leave the house: the rest that stays. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/model/meaning/categories.h"
#include "lib/model/meaning/recording_markers.h"
#include "lib/query/sanitize/sanitize.h"
#include "lib/query/sanitize/sanitize_internal.h"
#include "tests/unit/test.h"

/* The first vectors of SipHash's authors. */
TEST(test_keyed_hash)
{
	static const uint64_t expected[] = {
		0x726fdb47dd0e0e31ull, 0x74f839c593dc67fdull, 0x0d6c8009d9a94f5aull,
		0x85676696d7fb7e2dull, 0xcf2794e0277187b7ull, 0x18765564cd99a68dull,
		0xcbc9466e58fee3ceull, 0xab0200f58b01d137ull, 0x93f5f5799a932462ull};
	uint8_t key[KEYED_HASH_KEY_SIZE], data[8];

	for (uint8_t i = 0; i < sizeof(key); i++)
		key[i] = i;
	for (uint8_t i = 0; i < sizeof(data); i++)
		data[i] = i;
	for (size_t size = 0; size <= sizeof(data); size++)
		assert_true(keyed_hash(key, data, size) == expected[size]);
}

static void expect(bool is_path, const char *text, const char *expected)
{
	struct scrubber s = {.paths = true, .users = true, .hosts = true};
	struct strbuf out = {0};

	scrubber_add_home(&s, "/srv/people/alice/");
	scrubber_add_user(&s, "alice");
	scrubber_add_user(&s, "root");
	scrubber_add_full_name(&s, "Eve van Tester");
	scrubber_add_full_name(&s, "Zoe Quixote");
	scrubber_add_full_name(&s, "Service");
	scrubber_add_host(&s, "box.example.org");
	scrubber_add_release(&s, "6.1.0-27-initech", strlen("6.1.0-27-initech"));
	scrubber_learn(&s, text, strlen(text));
	if (is_path)
		scrub_path(&s, &out, text, strlen(text));
	else
		scrub_text(&s, &out, text, strlen(text));
	assert_string_equal(strbuf_text(&out), expected);
	strbuf_release(&out);
	scrubber_release(&s);
}

TEST(test_paths)
{
	expect(true, "/usr/lib/libc.so.6", "/usr/lib/libc.so.6");
	expect(true, "/usr/lib/../../srv/x", "x");
	expect(true, "/usr/local/lib/libours.so", "libours.so");
	expect(true, "/home/bob/src/x.c", "~/src/x.c");
	expect(true, "/home/bob", "~");
	expect(true, "/home/bob/../eve/x.c", "x.c");
	expect(true, "/root/x.c", "~/x.c");
	expect(true, "/rooted/x.c", "x.c");
	expect(true, "//home//bob/x", "x");
	expect(true, "/srv/people/alice/x.c", "~/x.c");
	expect(true, "/srv/people/alice2/x.c", "x.c");
	expect(true, "/mnt/home/bob/x.c", "~/x.c");
	expect(true, "src/deep/x.c", "x.c");
	expect(true, "/build/x/", "x");
	expect(true, "/", "");
	expect(true, "", "");
	expect(true, "[vdso]", "[vdso]");
	expect(true, "C:\\Users\\bob\\x.c", "x.c");
	expect(true, "/nix/store/0123-our-plans/lib/libx.so", "libx.so");
	expect(true, "/home/INITECH/bob/x.c", "~/x.c");
	expect(true, "/home/corp.initech.com/bob/bobs_x.c", "~/bobs_x.c");
	expect(true, "/home/local/INITECH/bob/x/bob.c", "~/x/user.c");
	expect(true, "/home/j.doe/x/j.doe.c", "~/x/user.c");
	expect(true, "/home/bob@initech.com/x-bob.c", "~/x-user.c");
	expect(true, "/lib/modules/6.1.0-27-initech/extra/x.ko", "/lib/modules/6.1.0/extra/x.ko");
	expect(true, "/usr/lib/modules/6.9.1-other/x.ko", "/usr/lib/modules/6.9.1/x.ko");
	expect(true, "/usr/lib/debug/vmlinux-6.1.0-27-initech", "/usr/lib/debug/vmlinux-6.1.0");
	expect(true, "/lib/modules/x", "/lib/modules/");
}

TEST(test_relative_paths)
{
	expect(false, "f src/plans/x.js:3", "f x.js:3");
	expect(false, "(lambda at ./plans/x.cc:12:3)", "(lambda at x.cc:12:3)");
	expect(false, "../plans/run", "run");
	expect(false, "home/bob/plans", "plans");
	expect(false, "f C:\\plans\\x.js:3", "f C:x.js:3");
	expect(false, "-I~/include/x.h ~/x.c", "-I~/include/x.h ~/x.c");
	expect(false, "kworker/0:1-events jbd2/sda1-8", "kworker/0:1-events jbd2/sda1-8");
	expect(false, "-I/home/bob/x.h -Iplans/x.h", "-I~/x.h x.h");
	expect(false, "operator/= <a/b as c>::d", "operator/= <a/b as c>::d");
}

TEST(test_addresses)
{
	expect(false, "mail to x.y@initech.com, soon", "mail to user@host, soon");
	expect(false, "conn 10.1.2.3:80 from 127.0.0.1", "conn host:80 from 127.0.0.1");
	expect(false, "libx.so.1.2.3.4 v1.2.3.4 1.2.3.400", "libx.so.1.2.3.4 v1.2.3.4 1.2.3.400");
	expect(false, "from 2001:db8::1, fe80::a%eth0", "from host, host%eth0");
	expect(false, "[2001:DB8::12:34]:80 fd12::beef", "[host]:80 host");
	expect(false, "1:2:3:4:5:6:7:8 ::ffff:10.1.2.3.", "host ::ffff:host.");
	expect(false, "::1 :: a::b std::dead::beef ::f abc::def(int)",
	       "::1 :: a::b std::dead::beef ::f abc::def(int)");
	expect(false, "12:30:45 1:2:3:4:5:6:7:8:9 12345::1 x::1 1::2::3 de:ad:be:ef:00:01",
	       "12:30:45 1:2:3:4:5:6:7:8:9 12345::1 x::1 1::2::3 de:ad:be:ef:00:01");
	expect(false, "memcpy@GLIBC_2.14 foo@plt", "memcpy@GLIBC_2.14 foo@plt");
	expect(false, "git.example.org", "git.host");
}

TEST(test_full_names)
{
	expect(false, "Eve van Tester: evevantester eve.van.tester@x EVE_VAN_TESTER",
	       "user: user user@x user");
	expect(false, "tester testing van eve std::vector", "tester testing van eve std::vector");
	expect(false, "Zoe Quixote zoe.quixote QuixoteZoe quixote-zoe", "user user user user");
	expect(false, "Quixote, quixote_main zoe", "Quixote, quixote_main zoe");
	expect(false, "eve.tester tester-eve etester", "user user etester");
}

/* Names in other words and other case. */
TEST(test_names_in_words)
{
	expect(false, "ALICE AliceServer libalice malice", "user userServer libuser muser");
	expect(false, "boxer box_main startBox BOX1 libbox.so",
	       "boxer host_main starthost host1 libhost.so");
	expect(false, "bobbin bob_x Bob /home/bob", "bobbin user_x user ~");
	expect(false, "ubuntu /home/ubuntu /home/shared shared_ptr", "ubuntu ~ ~ shared_ptr");
}

TEST(test_texts)
{
	expect(false, "operator/", "operator/");
	expect(false, "f https://bob:pw@git.initech.com:80/x/y.js:3", "f https:y.js:3");
	expect(false, "see http://git.initech.com, x", "see http:host, x");
	expect(false, "f file:///srv/x/y.js", "f file:y.js");
	expect(false, "a / b", "a / b");
	expect(false, "github.com/x/y.Run", "github.com/x/y.Run");
	expect(false, "run /opt/ours/bin/x -o /tmp/y", "run x -o y");
	expect(false, "-I/home/bob/include", "-I~/include");
	expect(false, "file:///home/bob/x.js:12", "file:~/x.js:12");
	expect(false, "f()/srv/x", "f()x");
	expect(false, "a/srv/people/alice\"", "a~\"");
	expect(false, "a/srv/people/alicelost", "a/srv/people/userlost");
	expect(false, "alice on box and box.example.org", "user on host and host");
	expect(false, "bob has /home/bob/x", "user has ~/x");
	expect(false, "root", "root");
}

static string_id intern(struct profile *p, const char *text)
{
	return strings_intern(&p->strings, text);
}

static stack_id add_call(struct profile *p, stack_id parent, const char *name, const char *module,
			 const char *file)
{
	const char *slash = strrchr(module, '/');
	module_id id = modules_add(&p->modules, PROFILE_MODULE_FILE, intern(p, module),
				   intern(p, slash ? slash + 1 : module));
	const struct func func = {
		.name = intern(p, name),
		.module = id,
		.file = source_files_intern(&p->source_files, intern(p, file)),
		.is_named = true,
	};
	struct frame frame = {.module = id, .symbol = NO_SYMBOL, .line = 7};

	frame.func = funcs_intern(&p->funcs, &func);
	frame.offset = frame.func;
	modules_get(&p->modules, id)->build_id_size = 20;
	source_files_set_text(&p->source_files, func.file, xstrdup("alice wrote this"), 16);
	return stacks_intern(&p->stacks, parent, frames_intern(&p->frames, &frame));
}

static void add_marker(struct profile *p, struct profile_thread *thread, const char *schema_name,
		       const char *key, const char *value)
{
	const struct schema schema = {
		.name = intern(p, schema_name),
		.chart_label = NO_STRING,
		.table_label = NO_STRING,
		.tooltip_label = NO_STRING,
		.shown = SHOWN_IN_CHART,
		.field_count = 1,
	};
	const struct schema_field field = {intern(p, key), NO_STRING, FIELD_STRING, 0};
	schema_id id = schemas_intern(&p->markers.schemas, &schema, &field);
	struct marker marker = markers_make(&p->markers, id, 1, 2);

	*marker_value(&p->markers, &marker, 0) = marker_string(intern(p, value));
	vec_push(&thread->markers, marker);
}

static struct profile *build(void)
{
	static const char list[] = "/home/alice/bin/ours\0--customer\0Initech";
	struct profile *p = profile_new();
	struct profile_thread row = {
		.pid = 5,
		.tid = 5,
		.name = intern(p, "ours x.c"),
		.process_name = intern(p, "ours x.c"),
		.process_label = intern(p, "web-container"),
		.arguments = strings_intern_list(&p->strings, list, sizeof(list)),
		.is_main = true,
	};
	struct profile_thread *thread;
	stack_id outer = add_call(p, NO_STACK, "main", "/home/alice/bin/ours", "/home/alice/m.c");
	stack_id inner = add_call(p, outer, "secret_algorithm", "/opt/initech/libalgo.so",
				  "/build/algo/s.c");

	thread = threads_get(&p->threads, threads_add(&p->threads, &row));
	samples_add(&thread->samples, &(struct sample){.time = 9, .stack = inner, .weight = 3});
	add_marker(p, thread, "exec", "folder", "/home/alice/initech");
	add_marker(p, thread, "query", "text", "select from Initech");
	p->meta.product = xstrdup("ours");
	p->meta.command_line = xstrdup("ours --customer Initech");
	p->meta.os = xstrdup("Linux 6.1.0-initech x86_64");
	profile_add_extra(p, "Settings", "Event", "string", "cpu-clock");
	profile_add_extra(p, "Symbols", "ours", "string", "/home/alice/.debug");
	profile_add_extra(p, "Losses", "Lost samples", "integer", "7");
	return p;
}

static struct sanitize_options by_default(void)
{
	static const struct sanitize_user alice = {"alice", "/home/alice", NULL};
	struct sanitize_options o = {.users = &alice, .user_count = 1, .host = "box"};

#define DEFAULT_ROW(id, name, is_default, one, many) o.removes[SANITIZE_##id] = is_default;
	SANITIZE_CLASSES(DEFAULT_ROW)
#undef DEFAULT_ROW
	return o;
}

static size_t search(const struct profile *p, const struct profile *from,
		     const struct sanitize_options *o)
{
	struct sanitize_findings findings = {0};
	size_t count;

	sanitize_search(&findings, p, from, o, SIZE_MAX);
	count = findings.rows.count;
	sanitize_findings_release(&findings);
	return count;
}

static const char *func_name(const struct profile *p, size_t id)
{
	return strings_get(&p->strings, p->funcs.rows.items[id].name);
}

TEST(test_default)
{
	struct sanitize_options o = by_default();
	struct sanitize_counts counts;
	struct profile *p = build(), *into = NULL;
	const struct profile_thread *thread;

	assert_int_equal(sanitize(&into, p, &o, &counts, NULL), 0);
	assert_true(search(p, p, &o) > 0);
	assert_int_equal(search(into, p, &o), 0);
	thread = &into->threads.rows.items[0];
	assert_string_equal(strings_get(&into->strings, thread->process_name), "ours");
	assert_int_equal(thread->arguments, NO_STRING);
	assert_int_equal(thread->process_label, NO_STRING);
	assert_int_equal(samples_count(&thread->samples), 1);
	assert_int_equal(thread->samples.open.items[0].weight, 3);
	assert_int_equal(thread->markers.count, 2);
	assert_int_equal(marker_value(&into->markers, &thread->markers.items[1], 0)->type,
			 FIELD_NONE);
	assert_string_equal(into->meta.os, "Linux 6.1.0 x86_64");
	assert_null(into->meta.command_line);
	assert_int_equal(into->meta.extra.count, 2);
	assert_string_equal(func_name(into, 1), "secret_algorithm");
	assert_string_equal(strings_get(&into->strings, into->source_files.rows.items[0].path),
			    "~/m.c");
	assert_string_equal(strings_get(&into->strings, into->modules.rows.items[1].path),
			    "libalgo.so");
	assert_null(into->source_files.rows.items[0].text);
	assert_int_equal(counts.removed[SANITIZE_ARGS], 4);
	assert_int_equal(counts.removed[SANITIZE_SOURCES], 2);
	assert_int_equal(counts.unknown, 2);
	profile_free(into);
	profile_free(p);
}

/* A field that its writer calls personal goes, also from a marker like prof's own. */
TEST(test_personal_fields)
{
	struct sanitize_options o = by_default();
	struct profile *p = build(), *q;
	struct sanitize_counts counts = {0};
	struct schema_field *field;

	add_marker(p, &p->threads.rows.items[0], "rename", "newName", "worker");
	field = &p->markers.schemas.fields.items[p->markers.schemas.fields.count - 1];
	for (uint8_t personal = 0; personal < 2; personal++) {
		bool is_there = false;

		field->personal = personal;
		assert_int_equal(sanitize(&q, p, &o, &counts, NULL), 0);
		for (string_id id = 0; id < q->strings.rows.count; id++)
			is_there |= strcmp(strings_get(&q->strings, id), "worker") == 0;
		assert_int_equal(is_there, !personal);
		profile_free(q);
	}
	profile_free(p);
}

/* The same name has the same hash with one key, and another one with another. */
TEST(test_names)
{
	struct sanitize_options o = by_default();
	struct sanitize_counts counts;
	struct profile *p = build(), *one, *two;
	char *hidden;

	o.names = "^(main|ours)";
	assert_int_equal(sanitize(&one, p, &o, &counts, NULL), 0);
	assert_int_equal(sanitize(&two, p, &o, &counts, NULL), 0);
	assert_int_equal(counts.hashed, 2);
	hidden = xstrdup(func_name(one, 1));
	assert_memory_equal(hidden, "f_", 2);
	assert_int_equal(strlen(hidden), 18);
	assert_string_equal(func_name(two, 1), hidden);
	assert_string_equal(func_name(one, 0), "main");
	assert_int_equal(one->funcs.rows.items[1].file, NO_SOURCE_FILE);
	assert_int_equal(one->modules.rows.items[1].build_id_size, 0);
	assert_int_equal(one->modules.rows.items[0].build_id_size, 20);
	assert_int_equal(one->source_files.rows.count, 1);
	assert_int_equal(strings_find(&one->strings, "libalgo.so", 10), NO_STRING);
	profile_free(two);
	o.key[3] = 1;
	assert_int_equal(sanitize(&two, p, &o, &counts, NULL), 0);
	assert_string_not_equal(func_name(two, 1), hidden);
	profile_free(two);
	o.names = "(";
	assert_int_equal(sanitize(&two, p, &o, &counts, NULL), -EINVAL);
	free(hidden);
	profile_free(one);
	profile_free(p);
}

TEST(test_other_classes)
{
	struct sanitize_options o = by_default();
	struct sanitize_counts counts;
	struct profile *p = build(), *into;
	const struct profile_thread *thread;

	o.removes[SANITIZE_PROCESSES] = o.removes[SANITIZE_MARKERS] = true;
	o.removes[SANITIZE_TIMES] = o.removes[SANITIZE_BUILD_IDS] = true;
	p->meta.start_realtime_ns = 12345;
	run_marker_add(p, 0, &(struct run_marker){.iteration = 1, .variant = NO_STRING});
	assert_int_equal(sanitize(&into, p, &o, &counts, NULL), 0);
	thread = &into->threads.rows.items[0];
	assert_string_equal(strings_get(&into->strings, thread->process_name), "process 1");
	assert_string_equal(strings_get(&into->strings, thread->name), "thread 1");
	assert_int_equal(thread->markers.count, 1); /* the run */
	assert_null(into->meta.product);
	assert_int_equal(into->meta.start_realtime_ns, 0);
	assert_int_equal(into->modules.rows.items[0].build_id_size, 0);
	assert_int_equal(counts.removed[SANITIZE_BUILD_IDS], 2);
	assert_int_equal(counts.removed[SANITIZE_MARKERS], 2);
	profile_free(into);
	profile_free(p);
}

/* Arguments that may stay tell nothing of what may not. */
TEST(test_kept_arguments)
{
	static const char expected[] = "~/bin/ours\0--customer\0Initech";
	struct sanitize_options o = by_default();
	struct sanitize_counts counts;
	struct profile *p = build(), *into;
	string_id list;

	o.removes[SANITIZE_ARGS] = false;
	assert_int_equal(sanitize(&into, p, &o, &counts, NULL), 0);
	list = into->threads.rows.items[0].arguments;
	assert_int_equal(strings_size(&into->strings, list), sizeof(expected));
	assert_memory_equal(strings_get(&into->strings, list), expected, sizeof(expected));
	profile_free(into);
	profile_free(p);
}

static frame_id add_label(struct profile *p, const char *name, uint8_t category)
{
	return label_frames_intern(p, intern(p, name),
				   (struct frame_category){.category = category});
}

/* Names of spans, their fields and counters are the recorded program's: none stays. */
TEST(test_what_programs_tell)
{
	struct sanitize_options o = by_default();
	struct sanitize_counts counts;
	struct profile *p = build(), *into;
	frame_id span = add_label(p, "order of Initech", CATEGORY_OTHER);
	frame_id wait = add_label(p, "[read]", CATEGORY_IDLE);
	const struct profile_thread *thread;
	const struct marker *marker;

	stacks_intern(&p->stacks, stacks_intern(&p->stacks, NO_STACK, span), wait);
	add_marker(p, threads_get(&p->threads, 0), "span customer", "customer", "Initech");
	add_marker(p, threads_get(&p->threads, 0), "rename", "customer", "Initech");
	profile_counters_add(&p->counters, &(struct counter){
						   .name = intern(p, "orders of Initech"),
						   .category = intern(p, "Initech"),
						   .description = intern(p, "Initech"),
						   .label = intern(p, "Initech"),
						   .unit = intern(p, "orders"),
					   });
	/* A name that earlier versions gave. */
	profile_counters_add(&p->counters, &(struct counter){
						   .name = intern(p, "Memory of the machine"),
						   .unit = intern(p, "bytes"),
					   });
	assert_int_equal(sanitize(&into, p, &o, &counts, NULL), 0);
	for (string_id id = 0; id < into->strings.rows.count; id++) {
		const char *text = strings_get(&into->strings, id);

		assert_null(strcasestr(text, "initech"));
		assert_null(strstr(text, "customer"));
	}
	assert_string_equal(func_name(into, into->frames.rows.items[span].func), "span");
	assert_string_equal(func_name(into, into->frames.rows.items[wait].func), "[read]");
	thread = &into->threads.rows.items[0];
	assert_int_equal(thread->markers.count, 4);
	marker = &thread->markers.items[2];
	assert_string_equal(strings_get(&into->strings, marker->name), "marker");
	assert_int_equal(schemas_get(&into->markers.schemas, marker->schema)->field_count, 0);
	assert_string_equal(strings_get(&into->strings, into->counters.rows.items[0].name),
			    "counter 1");
	assert_string_equal(strings_get(&into->strings, into->counters.rows.items[1].name),
			    "Memory of the machine");
	profile_free(into);
	profile_free(p);
}

/* Names of public code are nobody's: "vm" in there is no machine. */
TEST(test_public_code)
{
	struct sanitize_options o = by_default();
	struct sanitize_counts counts;
	struct profile *p = build(), *into;

	o.host = "vm";
	add_call(p, NO_STACK, "get_vm_area", "/usr/lib/libx.so", "/usr/include/x.h");
	add_call(p, NO_STACK, "my_vm_main", "/opt/x/own", "/opt/x/own.c");
	assert_int_equal(sanitize(&into, p, &o, &counts, NULL), 0);
	assert_string_equal(func_name(into, 2), "get_vm_area");
	assert_string_equal(func_name(into, 3), "my_host_main");
	assert_int_equal(search(into, p, &o), 0);
	profile_free(into);
	profile_free(p);
}

/* The name of the file that made code, or lacks names, may be private. */
TEST(test_code_without_names)
{
	struct sanitize_options o = by_default();
	struct sanitize_counts counts;
	struct profile *p = build(), *into;

	add_call(p, NO_STACK, "code made by libplans", "/opt/x/own", "/opt/x/own.c");
	add_call(p, NO_STACK, "unnamed code of own", "/opt/x/own", "/opt/x/other.c");
	p->funcs.rows.items[2].is_named = p->funcs.rows.items[3].is_named = false;
	assert_int_equal(sanitize(&into, p, &o, &counts, NULL), 0);
	assert_string_equal(func_name(into, 2), "code made at run time");
	assert_string_equal(func_name(into, 3), "unnamed code");
	profile_free(into);
	profile_free(p);
}
