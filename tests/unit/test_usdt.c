/* SPDX-License-Identifier: MIT */
/* Probes that programs declare: their notes, where arguments are, and what is asked for. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/usdt_notes.h"
#include "lib/live/instruments/usdt/usdt_probes.h"
#include "lib/stream/text/usdt_arguments.h"
#include "tests/unit/test.h"

#define SEEDS "tests/fuzz/corpus/usdt_notes/"
#define SP_AT_X86 152
#define SP_AT_ARM64 248

static void open_notes(struct usdt_notes *notes, const char *path, int code)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(usdt_notes_read(notes, fd, NULL), code);
}

static void expect_note(const struct usdt_note *note, const char *provider, const char *name,
			const char *arguments)
{
	assert_string_equal(note->provider, provider);
	assert_string_equal(note->name, name);
	assert_string_equal(note->arguments, arguments);
}

static void check_notes(const char *path, uint16_t machine, uint64_t step, const char *arguments)
{
	struct usdt_notes notes;
	const struct usdt_note *rows;

	open_notes(&notes, path, 0);
	assert_int_equal(notes.machine, machine);
	/* The others are no probes, or not at a place for one. */
	assert_int_equal(notes.rows.count, 4);
	rows = notes.rows.items;
	expect_note(&rows[0], "one", "first", arguments);
	expect_note(&rows[1], "one", "second", "");
	expect_note(&rows[2], "one", "moved", "");
	expect_note(&rows[3], "two", "last", "8@$-7");
	assert_int_equal(rows[0].semaphore, 0);
	assert_int_equal(rows[1].offset, rows[0].offset + step);
	assert_true(rows[1].semaphore > 0);
	/* prelink is said to have moved the file. */
	assert_int_equal(rows[2].offset, rows[1].offset);
	assert_int_equal(rows[2].semaphore, rows[1].semaphore);
	usdt_notes_release(&notes);
}

TEST(notes_of_each_machine)
{
	check_notes(SEEDS "x86_64", EM_X86_64, 1, "-4@%eax 8@16(%rsp)");
	check_notes(SEEDS "i386", EM_386, 1, "-4@%eax 8@16(%rsp)");
	check_notes(SEEDS "arm64", EM_AARCH64, 4, "-4@w1 8@[sp, 16]");
}

TEST(files_without_notes)
{
	struct usdt_notes notes;

	open_notes(&notes, "tests/fuzz/corpus/elf_symbols/symbols", 0);
	assert_int_equal(notes.rows.count, 0);
	usdt_notes_release(&notes);
	open_notes(&notes, "tests/unit/test_usdt.c", -ENOEXEC);
	assert_int_equal(notes.rows.count, 0);
	usdt_notes_release(&notes);
}

static struct usdt_argument parse_one(uint16_t machine, const char *text)
{
	struct usdt_layout layout;

	usdt_arguments_parse(&layout, machine, text);
	assert_int_equal(layout.count, 1);
	return layout.arguments[0];
}

static void check_register(uint16_t machine, const char *text, uint16_t at, uint8_t size,
			   uint8_t shift, bool is_signed)
{
	struct usdt_argument a = parse_one(machine, text);

	assert_int_equal(a.kind, USDT_REGISTER);
	assert_int_equal(a.base, at);
	assert_int_equal(a.size, size);
	assert_int_equal(a.shift, shift);
	assert_int_equal(a.flags, is_signed ? USDT_SIGNED : 0);
}

static void check_memory(uint16_t machine, const char *text, struct usdt_argument wanted)
{
	struct usdt_argument a = parse_one(machine, text);

	assert_int_equal(a.kind, USDT_MEMORY);
	assert_int_equal(a.base, wanted.base);
	assert_int_equal(a.index, wanted.index);
	assert_int_equal(a.shift, wanted.shift);
	assert_int_equal(a.number, wanted.number);
	assert_int_equal(a.flags, wanted.flags);
}

TEST(registers)
{
	check_register(EM_X86_64, "8@%rax", 80, 8, 0, false);
	check_register(EM_X86_64, "-4@%eax", 80, 4, 0, true);
	check_register(EM_X86_64, "2@%r15w", 0, 2, 0, false);
	check_register(EM_X86_64, "-1@%ah", 80, 1, 8, true);
	check_register(EM_X86_64, "1@%sil", 104, 1, 0, false);
	/* A part of a register, whatever it is called. */
	check_register(EM_X86_64, "4@%rdi", 112, 4, 0, false);
	check_register(EM_AARCH64, "8@x0", 0, 8, 0, false);
	check_register(EM_AARCH64, "-4@w30", 240, 4, 0, true);
	check_register(EM_AARCH64, "8@sp", SP_AT_ARM64, 8, 0, false);
}

TEST(memory)
{
	check_memory(
		EM_X86_64, "8@16(%rsp)",
		(struct usdt_argument){.base = SP_AT_X86, .index = USDT_NO_REGISTER, .number = 16});
	check_memory(EM_X86_64, "-4@-20(%rbp)",
		     (struct usdt_argument){.base = 32,
					    .index = USDT_NO_REGISTER,
					    .number = -20,
					    .flags = USDT_SIGNED});
	check_memory(EM_X86_64, "8@(%rax,%rbx,8)",
		     (struct usdt_argument){.base = 80, .index = 40, .shift = 3});
	check_memory(EM_X86_64, "4@0x10(,%ecx,4)",
		     (struct usdt_argument){.base = USDT_NO_REGISTER,
					    .index = 88,
					    .shift = 2,
					    .number = 16,
					    .flags = USDT_INDEX_LOW});
	check_memory(EM_AARCH64, "8@[x19]",
		     (struct usdt_argument){.base = 152, .index = USDT_NO_REGISTER});
	check_memory(EM_AARCH64, "-8@[sp, -16]",
		     (struct usdt_argument){.base = SP_AT_ARM64,
					    .index = USDT_NO_REGISTER,
					    .number = -16,
					    .flags = USDT_SIGNED});
	check_memory(EM_AARCH64, "8@[x0, x1, lsl 3]",
		     (struct usdt_argument){.base = 0, .index = 8, .shift = 3});
	check_memory(EM_AARCH64, "8@[x2, w3, sxtw #2]",
		     (struct usdt_argument){.base = 16,
					    .index = 24,
					    .shift = 2,
					    .flags = USDT_INDEX_LOW | USDT_INDEX_SIGNED});
}

TEST(constants)
{
	assert_int_equal(parse_one(EM_X86_64, "-4@$-7").kind, USDT_CONSTANT);
	assert_int_equal(parse_one(EM_X86_64, "-4@$-7").number, -7);
	assert_int_equal(parse_one(EM_AARCH64, "8@5").kind, USDT_CONSTANT);
	assert_int_equal(parse_one(EM_AARCH64, "8@5").number, 5);
}

TEST(what_is_unreadable)
{
	static const char *const x86[] = {
		"8f@%xmm0", "8@counter(%rip)", "8@%xmm0",   "3@%eax", "8@",	 "@%eax",
		"8@(%rax",  "8@(%rax,%rbx,3)", "8@%eax",    "8@$x",   "8@%raxx", "-@%al",
		"4@%al",    "9@%rax",	       "8@16(%al)", "x",
	};
	static const char *const arm64[] = {
		"8@x31", "8f@d0", "8@w1", "8@[x0, x1, ror 3]", "8@[x0", "8@[w0]", "8@[x0, 1, 2]",
	};

	for (size_t i = 0; i < sizeof(x86) / sizeof(*x86); i++)
		assert_int_equal(parse_one(EM_X86_64, x86[i]).kind, USDT_UNREADABLE);
	for (size_t i = 0; i < sizeof(arm64) / sizeof(*arm64); i++)
		assert_int_equal(parse_one(EM_AARCH64, arm64[i]).kind, USDT_UNREADABLE);
}

TEST(as_many_as_there_is_room_for)
{
	struct usdt_layout layout;

	usdt_arguments_parse(&layout, EM_X86_64, "");
	assert_int_equal(layout.count, 0);
	usdt_arguments_parse(&layout, EM_X86_64, "  8@%rax  x -4@$1 ");
	assert_int_equal(layout.count, 3);
	assert_int_equal(layout.arguments[1].kind, USDT_UNREADABLE);
	assert_int_equal(layout.arguments[2].kind, USDT_CONSTANT);
	usdt_arguments_parse(&layout, EM_X86_64, "1 2 3 4 5 6 7 8 9 10 11 12 13");
	assert_int_equal(layout.count, USDT_ARGUMENTS_MAX);
}

static void expect_pattern(const char *text, const char *name, const char *label)
{
	_cleanup_(strbuf_release) struct strbuf out = {0};
	struct usdt_pattern pattern;
	struct error err = {0};

	assert_int_equal(usdt_pattern_parse(&pattern, text, &err), 0);
	usdt_pattern_print_name(&pattern, "p", "n", &out);
	assert_string_equal(strbuf_text(&out), name);
	strbuf_reset(&out);
	usdt_pattern_print_label(&pattern, 3, &out);
	assert_string_equal(strbuf_text(&out), label);
}

TEST(labels)
{
	expect_pattern("p:n", "p:n", "{marker.name}");
	expect_pattern("p:n=Query", "Query", "Query");
	expect_pattern("p:n=Query: %s in %d ms", "Query",
		       "Query: {marker.data.arg1} in {marker.data.arg2} ms");
	expect_pattern("p:n=%2$s (%3$x, 100%%)", "p:n",
		       "{marker.data.arg2} ({marker.data.arg3}, 100%)");
	expect_pattern("p:n=100%% of %2$d, %d", "100% of",
		       "100% of {marker.data.arg2}, {marker.data.arg1}");
	expect_pattern("p:n=a=b %4$s", "a=b", "a=b ?");
}

TEST(which_probes_match)
{
	struct usdt_pattern pattern;

	assert_int_equal(usdt_pattern_parse(&pattern, "py*:function__*=f %s", NULL), 0);
	assert_true(usdt_pattern_matches(&pattern, "python", "function__entry"));
	assert_false(usdt_pattern_matches(&pattern, "python", "line"));
	assert_false(usdt_pattern_matches(&pattern, "ruby", "function__entry"));
	assert_int_equal(pattern.texts, 1);
	assert_int_equal(usdt_pattern_parse(&pattern, "a:b=%d %x %s", NULL), 0);
	assert_int_equal(pattern.texts, 4);
	assert_int_equal(pattern.hexadecimals, 2);
}

TEST(what_makes_no_sense)
{
	static const char *const texts[] = {
		"",
		"a",
		"a:",
		":b",
		"a=b:c",
		"a:b=",
		"a:b=%u",
		"a:b=%",
		"a:b=%1",
		"a:b=%1$",
		"a:b=%0$d",
		"a:b=%13$d",
		"a:b=%99999999999$d",
		"a:b=%s %1$d",
		"a:b=%s%s%s%s%s",
	};
	char long_text[300];

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct usdt_pattern pattern;
		struct error err = {0};

		assert_int_equal(usdt_pattern_parse(&pattern, texts[i], &err), -EINVAL);
		assert_non_null(strstr(err.text, "--usdt"));
	}
	memset(long_text, 'a', sizeof(long_text));
	long_text[sizeof(long_text) - 1] = '\0';
	long_text[1] = ':';
	assert_int_equal(usdt_pattern_parse(&(struct usdt_pattern){0}, long_text, NULL), -EINVAL);
	long_text[1] = 'a';
	long_text[200] = ':';
	assert_int_equal(usdt_pattern_parse(&(struct usdt_pattern){0}, long_text, NULL), -EINVAL);
}

static void read_one_place(struct usdt_file *file, int fd)
{
	vec_push(&file->places, (struct uprobe_place){.offset = 1});
}

/* A user's files leave room for those of others. */
TEST(one_user_has_half_of_the_files)
{
	struct usdt_probes p = {.read = read_one_place};
	struct strbuf users = {0};
	char wanted[32];
	int others = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	uid_t user = geteuid() ? geteuid() : 4001;
	unsigned int count = 0;

	for (; count < USDT_FILES_MAX; count++) {
		_cleanup_close_ int fd = memfd_create("file", MFD_CLOEXEC);

		assert_true(fd >= 0 && (geteuid() || !fchown(fd, user, user)));
		if (usdt_probes_find(&p, fd) == NO_USDT_FILE)
			break;
	}
	assert_int_equal(count, USDT_FILES_MAX / 2);
	assert_int_equal(p.left_out, 1);
	assert_int_equal(usdt_probes_find(&p, others), count);
	usdt_probes_list_refused(&p, &users);
	snprintf(wanted, sizeof(wanted), "user %u", user);
	assert_string_equal(strbuf_text(&users), wanted);
	strbuf_release(&users);
	usdt_probes_release(&p);
	close(others);
}
