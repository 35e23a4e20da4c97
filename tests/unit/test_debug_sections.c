/* SPDX-License-Identifier: MIT */

#include <elf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/binary.h"
#include "lib/code/binary/debug_sections.h"
#include "tests/unit/marked_program.h"
#include "tests/unit/test.h"

static int setup(void **state)
{
	static struct scratch s;

	scratch_init(&s);
	marked_build(&s, "plain", "gcc -g");
	*state = &s;
	return 0;
}

static void open_sections(struct debug_sections *s, const struct scratch *scratch, const char *name)
{
	_cleanup_close_ int fd = scratch_open(scratch, name);

	assert_int_equal(debug_sections_open(s, fd, DEBUG_FILE_WHOLE, NULL), 0);
}

static void check_equal(const struct debug_view *a, const struct debug_view *b)
{
	assert_int_equal(debug_view_size(a), debug_view_size(b));
	for (int kind = 0; kind < DEBUG_SECTION_COUNT; kind++) {
		assert_int_equal(a->at[kind].size, b->at[kind].size);
		if (a->at[kind].size)
			assert_memory_equal(a->at[kind].data, b->at[kind].data, a->at[kind].size);
	}
}

static void check_compressed(const struct scratch *scratch, const char *how, const char *name)
{
	struct debug_sections plain, compressed;

	/* Large enough that compressing each section pays. */
	scratch_run(scratch,
		    "gcc -g -O2 -c $SRC/symbolize/dwarf/dwarf_names.c -I $SRC -D_GNU_SOURCE "
		    "-o big.o && gcc -shared -nostdlib big.o -Wl,--unresolved-symbols="
		    "ignore-all -o big && objcopy --compress-debug-sections=%s big %s",
		    how, name);
	open_sections(&plain, scratch, "big");
	open_sections(&compressed, scratch, name);
	check_equal(&plain.view, &compressed.view);
	debug_sections_release(&compressed);
	debug_sections_release(&plain);
	assert_null(plain.source);
}

TEST(all_compressions_give_the_same)
{
	check_compressed(*state, "zlib", "zlib");
	check_compressed(*state, "zlib-gnu", "zdebug");
	check_compressed(*state, "zstd", "zstd");
}

/* Parts that were asked for are unpacked, others are not. */
TEST(parts_are_unpacked_when_they_are_needed)
{
	const struct scratch *scratch = *state;
	struct debug_sections plain, lazy;
	const struct debug_section *all = &plain.view.at[DEBUG_INFO];
	const struct debug_section *some = &lazy.view.at[DEBUG_INFO];
	_cleanup_close_ int fd = -1;
	size_t zeros = 0;

	scratch_run(scratch, "objcopy --compress-debug-sections=zlib /proc/%d/exe packed",
		    (int)getpid());
	open_sections(&plain, scratch, "packed");
	fd = scratch_open(scratch, "packed");
	assert_int_equal(debug_sections_open_lazily(&lazy, fd, NULL, NULL, NULL), 0);
	assert_int_equal(some->size, all->size);
	for (size_t i = 0; i < some->size; i++)
		zeros += !some->data[i];
	assert_int_equal(zeros, some->size);
	assert_true(debug_sections_need(&lazy, DEBUG_INFO, 0, 1000));
	assert_memory_equal(some->data, all->data, 1000);
	/* Other sections are there at once, except those that do not exist. */
	assert_memory_equal(lazy.view.at[DEBUG_ABBREV].data, plain.view.at[DEBUG_ABBREV].data,
			    plain.view.at[DEBUG_ABBREV].size);
	assert_true(debug_sections_need(&lazy, DEBUG_TYPES, 0, 0));
	assert_false(debug_sections_need(&lazy, DEBUG_INFO, 0, some->size + 1));
	for (int kind = 0; kind < DEBUG_SECTION_COUNT; kind++)
		assert_true(debug_sections_need(&lazy, kind, 0, lazy.view.at[kind].size));
	check_equal(&plain.view, &lazy.view);
	debug_sections_release(&lazy);
	debug_sections_release(&plain);
}

/* Plain sections are read by pages, from any place on; a file that was cut has no more of them. */
TEST(pages_are_read_when_they_are_needed)
{
	const struct scratch *scratch = *state;
	_cleanup_free_ char *path = scratch_path(scratch, "big");
	struct debug_sections plain, lazy;
	const struct debug_section *all = &plain.view.at[DEBUG_INFO];
	const struct debug_section *some = &lazy.view.at[DEBUG_INFO];
	_cleanup_close_ int fd = -1;
	size_t middle, zeros = 0;

	scratch_run(scratch, "cp /proc/%d/exe big", (int)getpid());
	open_sections(&plain, scratch, "big");
	fd = scratch_open(scratch, "big");
	assert_int_equal(debug_sections_open_lazily(&lazy, fd, NULL, NULL, NULL), 0);
	assert_int_equal(some->size, all->size);
	middle = all->size / 2;
	assert_true(debug_sections_need(&lazy, DEBUG_INFO, middle, middle + 5000));
	assert_memory_equal(some->data + middle, all->data + middle, 5000);
	for (size_t i = 0; i < middle - 4096; i++)
		zeros += !some->data[i];
	assert_int_equal(zeros, middle - 4096);
	assert_false(debug_sections_need(&lazy, DEBUG_INFO, 2, 1));
	for (int kind = 0; kind < DEBUG_SECTION_COUNT; kind++)
		assert_true(debug_sections_need(&lazy, kind, 0, lazy.view.at[kind].size));
	check_equal(&plain.view, &lazy.view);
	debug_sections_release(&lazy);

	assert_int_equal(debug_sections_open_lazily(&lazy, fd, NULL, NULL, NULL), 0);
	assert_int_equal(truncate(path, 1000), 0);
	assert_false(debug_sections_need(&lazy, DEBUG_INFO, middle, middle + 1));
	debug_sections_release(&lazy);
	debug_sections_release(&plain);
}

/* Opens packed sections, kept in a folder. Returns how much of them is there at once, in bytes. */
static size_t open_kept(struct debug_sections *s, const struct scratch *scratch, int *fd)
{
	_cleanup_free_ char *folder = scratch_path(scratch, "cache/prof");
	const struct debug_section *info = &s->view.at[DEBUG_INFO];
	size_t there;

	/* Stays open as long as the sections. */
	if (*fd >= 0)
		close(*fd);
	*fd = scratch_open(scratch, "packed");
	assert_int_equal(debug_sections_open_lazily(s, *fd, NULL, folder, NULL), 0);
	there = info->size;
	while (there && !info->data[there - 1])
		there--;
	return there;
}

TEST(unpacked_parts_are_kept_for_the_next_time)
{
	const struct scratch *scratch = *state;
	_cleanup_close_ int fd = -1;
	struct debug_sections plain, kept;
	const struct debug_section *all = &plain.view.at[DEBUG_INFO];

	scratch_run(scratch, "objcopy --compress-debug-sections=zlib /proc/%d/exe packed",
		    (int)getpid());
	open_sections(&plain, scratch, "packed");
	assert_int_equal(open_kept(&kept, scratch, &fd), 0);
	assert_true(debug_sections_need(&kept, DEBUG_INFO, 0, 1000));
	debug_sections_release(&kept);
	assert_true(open_kept(&kept, scratch, &fd) >= 1000);
	assert_memory_equal(kept.view.at[DEBUG_INFO].data, all->data, 1000);
	/* The rest comes without a change of what is there. */
	assert_true(debug_sections_need(&kept, DEBUG_INFO, 0, all->size));
	assert_true(debug_sections_need(&kept, DEBUG_LINE, 0, plain.view.at[DEBUG_LINE].size));
	check_equal(&plain.view, &kept.view);
	debug_sections_release(&kept);
	assert_true(open_kept(&kept, scratch, &fd) > all->size / 2);
	check_equal(&plain.view, &kept.view);
	debug_sections_release(&kept);
	debug_sections_release(&plain);
}

TEST(kept_parts_of_others_are_not_used)
{
	static const char *const spoil[] = {
		"chmod 666 cache/prof/*", /* others may have written it */
		"chmod 777 cache/prof",
		"touch packed", /* another file by now */
		"truncate -s 100000 cache/prof/*",
		"printf x | dd of=$(ls cache/prof/*) conv=notrunc status=none",
		/* More of the first section is there than it has. */
		"printf '\\377' | dd of=$(ls cache/prof/*) bs=1 seek=118 conv=notrunc status=none",
		/* Before the machine's last start. */
		"printf x | dd of=$(ls cache/prof/*) bs=1 seek=60 conv=notrunc status=none",
		"f=$(ls cache/prof/*) && mv $f there && ln -s $PWD/there $f",
	};
	const struct scratch *scratch = *state;
	_cleanup_close_ int fd = -1;
	struct debug_sections s;

	scratch_run(scratch, "objcopy --compress-debug-sections=zlib /proc/%d/exe packed",
		    (int)getpid());
	for (size_t i = 0; i < sizeof(spoil) / sizeof(spoil[0]); i++) {
		scratch_run(scratch, "rm -rf cache && mkdir cache");
		assert_int_equal(open_kept(&s, scratch, &fd), 0);
		assert_true(debug_sections_need(&s, DEBUG_INFO, 0, 1000));
		debug_sections_release(&s);
		assert_true(open_kept(&s, scratch, &fd) >= 1000);
		debug_sections_release(&s);
		scratch_run(scratch, "%s", spoil[i]);
		assert_int_equal(open_kept(&s, scratch, &fd), 0);
		debug_sections_release(&s);
	}
}

TEST(kept_parts_do_not_fill_the_disk)
{
	const struct scratch *scratch = *state;
	_cleanup_close_ int fd = -1;
	struct debug_sections s;

	scratch_run(scratch, "objcopy --compress-debug-sections=zlib /proc/%d/exe packed",
		    (int)getpid());
	scratch_run(
		scratch,
		"rm -rf cache && mkdir -p -m 700 cache/prof && cd cache/prof && "
		"fallocate -l 140M old && fallocate -l 140M new && touch -d '1 hour ago' new && "
		"touch -d '2 hours ago' old && truncate -s 64M .added");
	open_kept(&s, scratch, &fd);
	assert_true(debug_sections_need(&s, DEBUG_INFO, 0, 1000));
	debug_sections_release(&s);
	scratch_run(scratch, "test -e cache/prof/new && ! test -e cache/prof/old");
	assert_true(open_kept(&s, scratch, &fd) >= 1000);
	debug_sections_release(&s);
}

TEST(files_without_debug_information)
{
	const struct scratch *scratch = *state;
	struct debug_sections s;
	_cleanup_close_ int fd = -1, text = memfd_create("text", MFD_CLOEXEC);

	scratch_run(scratch, "strip -g plain -o stripped");
	fd = scratch_open(scratch, "stripped");
	assert_int_equal(debug_sections_open(&s, fd, DEBUG_FILE_WHOLE, NULL), -ENOENT);
	debug_sections_release(&s);
	assert_int_equal(debug_sections_open(&s, text, DEBUG_FILE_WHOLE, NULL), -ENOEXEC);
	assert_int_equal(debug_sections_open(&s, -1, DEBUG_FILE_WHOLE, NULL), -EBADF);
	debug_sections_release(&s);
}

/* Changes the header of the first compressed section, or a byte of its data. */
static int damaged(const struct scratch *scratch, const char *name, size_t at, uint64_t value,
		   size_t size)
{
	_cleanup_close_ int seed = scratch_open(scratch, name);
	int copy = memfd_create("copy", MFD_CLOEXEC);
	static char data[1 << 20];
	ssize_t length = read(seed, data, sizeof(data));
	Elf64_Ehdr header;

	assert_true(length > 0 && length < (ssize_t)sizeof(data));
	memcpy(&header, data, sizeof(header));
	for (size_t i = 0; i < header.e_shnum; i++) {
		Elf64_Shdr section;

		memcpy(&section, data + header.e_shoff + i * sizeof(section), sizeof(section));
		if (section.sh_flags & SHF_COMPRESSED) {
			memcpy(data + section.sh_offset + at, &value, size);
			break;
		}
	}
	assert_int_equal(write(copy, data, (size_t)length), length);
	return copy;
}

static void check_damaged(const struct scratch *scratch, const char *name, size_t at,
			  uint64_t value, size_t size, int wanted)
{
	_cleanup_close_ int fd = damaged(scratch, name, at, value, size);
	struct debug_sections s;

	assert_int_equal(debug_sections_open(&s, fd, DEBUG_FILE_WHOLE, NULL), wanted);
	debug_sections_release(&s);
}

TEST(damage_is_found)
{
	static const char *const names[] = {"zlib", "zstd"};

	for (size_t i = 0; i < 2; i++) {
		const size_t size_at = offsetof(Elf64_Chdr, ch_size);

		/* Sizes: a terabyte; more than there is; less. */
		check_damaged(*state, names[i], size_at, 1ull << 40, 8, -EFBIG);
		check_damaged(*state, names[i], size_at, 4000000, 8, -ENOEXEC);
		check_damaged(*state, names[i], size_at, 10, 8, -ENOEXEC);
		check_damaged(*state, names[i], size_at, 0, 8, -ENOEXEC);
		check_damaged(*state, names[i], 0, 77, 4, -ENOEXEC);
		check_damaged(*state, names[i], sizeof(Elf64_Chdr) + 40, 0xffffffff, 8, -ENOEXEC);
		check_damaged(*state, names[i], sizeof(Elf64_Chdr), 0, 8, -ENOEXEC);
	}
}

TEST(strings_end_in_their_section)
{
	_cleanup_close_ int seed = open("tests/fuzz/corpus/dwarf/unterminated-line-str",
					O_RDONLY | O_CLOEXEC);
	struct debug_sections s;
	const struct debug_section *strings = &s.view.at[DEBUG_LINE_STR];

	assert_true(seed >= 0);
	assert_int_equal(debug_sections_open(&s, seed, DEBUG_FILE_WHOLE, NULL), 0);
	assert_true(!strings->size || strings->data[strings->size - 1] == '\0');
	debug_sections_release(&s);
}

/* Checks that the section headers lead to the view's own bytes. */
static void check_image(Elf *elf, const struct debug_view *view)
{
	Elf_Scn *scn = NULL;
	size_t names, found = 0;

	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name = elf_strptr(elf, names, elf64_getshdr(scn)->sh_name);
		Elf_Data *data = elf_rawdata(scn, NULL);

		assert_non_null(name);
		assert_non_null(data);
		for (int kind = 0; kind < DEBUG_SECTION_COUNT; kind++) {
			if (strcmp(name, debug_section_name((enum debug_section_kind)kind)) != 0)
				continue;
			assert_ptr_equal(data->d_buf, view->at[kind].data);
			assert_int_equal(data->d_size, view->at[kind].size);
			found++;
		}
	}
	for (int kind = 0; kind < DEBUG_SECTION_COUNT; kind++)
		found -= view->at[kind].data && kind != DEBUG_CU_INDEX && kind != DEBUG_ARANGES;
	assert_int_equal(found, 0);
}

TEST(handles_read_the_bytes_where_they_are)
{
	enum { COUNT = 2000 };
	struct Elf *handles[COUNT];
	struct debug_sections s;

	open_sections(&s, *state, "plain");
	for (size_t i = 0; i < COUNT; i++) {
		handles[i] = debug_view_begin(&s.view);
		assert_non_null(handles[i]);
	}
	for (size_t i = 0; i < COUNT; i += 2) {
		check_image(handles[i], &s.view);
		debug_view_end(handles[i]);
	}
	for (size_t i = 0; i < COUNT; i += 2)
		handles[i] = debug_view_begin(&s.view);
	for (size_t i = 0; i < COUNT; i++) {
		check_image(handles[i], &s.view);
		debug_view_end(handles[i]);
	}
	debug_view_end(NULL);
	debug_sections_release(&s);
}

/* Sections of every kind: in the program, on the heap, on the stack. */
TEST(sections_anywhere_in_memory)
{
	static const uint8_t in_program[] = {0};
	_cleanup_free_ uint8_t *on_heap = calloc(1, 100);
	uint8_t on_stack[] = {0};
	struct debug_view view = {.is_64bit = false};
	struct Elf *elf;

	assert_non_null(on_heap);
	for (int kind = 0; kind < DEBUG_SECTION_COUNT; kind++)
		view.at[kind] = (struct debug_section){on_heap, 100};
	view.at[DEBUG_INFO] = (struct debug_section){in_program, sizeof(in_program)};
	view.at[DEBUG_LINE] = (struct debug_section){on_stack, sizeof(on_stack)};
	elf = debug_view_begin(&view);
	assert_non_null(elf);
	check_image(elf, &view);
	debug_view_end(elf);
}

TEST_GROUP(setup, scratch_teardown);
