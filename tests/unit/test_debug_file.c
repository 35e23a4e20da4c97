/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/binary.h"
#include "symbolize/debuginfo/debug_file.h"
#include "tests/unit/own_program.h"
#include "tests/unit/test.h"

/* A folder with .build-id/xx, and the path of this program's debug file there. */
struct place {
	char *dir, *ids, *sub, *file;
	const char *dirs[3];
};

/* A file with symbols and debug information. */
#define BUILD_OF_OTHERS "tests/fuzz/corpus/dwarf/scopes-gcc-dwarf5"

static void place_init(struct place *p)
{
	struct module module = own_module();
	char template[] = "/tmp/prof-test-XXXXXX", id[2 * BUILD_ID_MAX + 1];

	build_id_to_text(module.build_id, module.build_id_size, id);
	assert_non_null(mkdtemp(template));
	p->dir = xstrdup(template);
	p->ids = xasprintf("%s/.build-id", p->dir);
	p->sub = xasprintf("%s/%.2s", p->ids, id);
	p->file = xasprintf("%s/%s.debug", p->sub, id + 2);
	assert_int_equal(mkdir(p->ids, 0700), 0);
	assert_int_equal(mkdir(p->sub, 0700), 0);
	p->dirs[0] = "/nonexistent";
	p->dirs[1] = p->dir;
	p->dirs[2] = NULL;
	vec_release(&module.segments);
}

static void place_release(struct place *p)
{
	unlink(p->file);
	rmdir(p->file);
	assert_int_equal(rmdir(p->sub), 0);
	assert_int_equal(rmdir(p->ids), 0);
	assert_int_equal(rmdir(p->dir), 0);
	free(p->dir);
	free(p->ids);
	free(p->sub);
	free(p->file);
}

static enum symbol_reason last_reason;

static int try_open(const struct place *p, struct debug_file *f)
{
	struct module module = own_module();
	const struct debug_search search = {.dirs = p->dirs};
	const struct debug_wanted wanted = {.build_id = module.build_id,
					    .build_id_size = module.build_id_size};
	int ret = debug_file_find(f, &wanted, &search, &last_reason);

	vec_release(&module.segments);
	return ret;
}

static void copy_of_own_program(const char *path, off_t size)
{
	_cleanup_close_ int from = own_fd();
	_cleanup_close_ int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	char buf[65536];
	ssize_t n;

	assert_true(to >= 0);
	while (size > 0 && (n = read(from, buf, sizeof(buf))) > 0) {
		n = n < size ? n : size;
		assert_int_equal(write(to, buf, (size_t)n), n);
		size -= n;
	}
}

TEST(found_by_its_build_id)
{
	struct debug_file f;
	struct place p;

	place_init(&p);
	assert_int_equal(try_open(&p, &f), -ENOENT);
	assert_int_equal(last_reason, SYMBOLS_NO_DEBUG_FILE);
	copy_of_own_program(p.file, INT64_MAX);
	assert_int_equal(try_open(&p, &f), 0);
	assert_int_equal(last_reason, SYMBOLS_FOUND);
	assert_true(f.fd >= 0);
	assert_string_equal(f.path, p.file);
	debug_file_close(&f);
	assert_int_equal(f.fd, -1);
	debug_file_close(&f);
	place_release(&p);
}

TEST(a_symbolic_link_is_followed)
{
	struct debug_file f;
	struct place p;

	place_init(&p);
	assert_int_equal(symlink("/proc/self/exe", p.file), 0);
	assert_int_equal(try_open(&p, &f), 0);
	debug_file_close(&f);
	place_release(&p);
}

TEST(names_functions_of_a_file_that_is_gone)
{
	struct module module = own_module();
	struct debug_search search = {0};
	const struct symbolizer_input input = {.module = &module, .fd = -1, .search = &search};
	struct symbolizer *s;
	struct answer answer;
	struct place p;

	place_init(&p);
	copy_of_own_program(p.file, INT64_MAX);
	search.dirs = p.dirs;
	answer = ask_one(&symbolizer_elf, &input, own_rva(own_mark_inner), &s);
	assert_string_equal(answer.func, "own_outer");
	s->ops->free(s);
	answer = ask_one(&symbolizer_dwarf, &input, own_rva(own_mark_inner), &s);
	assert_int_equal(answer.depth, 3);
	s->ops->free(s);
	vec_release(&module.segments);
	place_release(&p);
}

TEST(another_build_is_refused)
{
	char others[PATH_MAX];
	struct debug_file f;
	struct place p;

	place_init(&p);
	assert_int_equal(symlink(realpath(BUILD_OF_OTHERS, others), p.file), 0);
	assert_int_equal(try_open(&p, &f), -ENOENT);
	assert_int_equal(last_reason, SYMBOLS_BUILD_ID_MISMATCH);
	place_release(&p);
}

TEST(what_is_no_elf_file_is_refused)
{
	struct debug_file f;
	struct place p;

	place_init(&p);
	/* Opening a FIFO for reading would wait for a writer. */
	assert_int_equal(mkfifo(p.file, 0600), 0);
	assert_int_equal(try_open(&p, &f), -ENOENT);
	assert_int_equal(unlink(p.file), 0);
	assert_int_equal(mkdir(p.file, 0700), 0);
	assert_int_equal(try_open(&p, &f), -ENOENT);
	assert_int_equal(rmdir(p.file), 0);
	assert_int_equal(symlink("/dev/zero", p.file), 0);
	assert_int_equal(try_open(&p, &f), -ENOENT);
	assert_int_equal(unlink(p.file), 0);
	copy_of_own_program(p.file, 100);
	assert_int_equal(try_open(&p, &f), -ENOENT);
	place_release(&p);
}

TEST(build_ids_that_make_no_path)
{
	const uint8_t id[64] = {0};
	const struct debug_search search = {0};
	struct debug_wanted wanted = {.build_id = id};
	struct debug_file f;

	assert_int_equal(debug_file_find(&f, &wanted, &search, &last_reason), -ENOENT);
	assert_int_equal(last_reason, SYMBOLS_STRIPPED);
	wanted.build_id_size = 1;
	assert_int_equal(debug_file_find(&f, &wanted, &search, &last_reason), -ENOENT);
	wanted.build_id_size = sizeof(id);
	assert_int_equal(debug_file_find(&f, &wanted, &search, &last_reason), -ENOENT);
	debug_file_close(&f);
}
