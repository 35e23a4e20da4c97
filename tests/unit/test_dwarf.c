/* SPDX-License-Identifier: MIT */

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/binary.h"
#include "symbolize/debuginfo/debug_file.h"
#include "tests/unit/own_program.h"
#include "tests/unit/test.h"

#define GCC "tests/fuzz/corpus/dwarf/scopes-gcc"
#define DWZ "tests/fuzz/corpus/dwarf/scopes-dwz"

static void check_level(const struct location *at, const char *func, const char *file, int line)
{
	assert_non_null(at->func);
	assert_string_equal(at->func, func);
	assert_non_null(at->file);
	assert_true(text_ends_with(at->file, file));
	assert_int_equal(at->line, line);
}

TEST(own_chain)
{
	struct module module = own_module();
	_cleanup_close_ int fd = own_fd();
	const struct symbolizer_input input = {.module = &module, .fd = fd};
	struct symbolizer *s;
	struct answer answer;

	own_outer(1);
	answer = ask_one(&symbolizer_dwarf, &input, own_rva(own_mark_inner), &s);
	assert_int_equal(answer.depth, 3);
	check_level(&answer.chain[0], "own_outer", OWN_FILE, own_lines[LINE_OUTER_CALL]);
	check_level(&answer.chain[1], "middle", OWN_FILE, own_lines[LINE_MIDDLE_CALL]);
	check_level(&answer.chain[2], "inner", OWN_FILE, own_lines[LINE_INNER]);
	assert_int_equal(answer.chain[0].file[0], '/');
	s->ops->free(s);
	answer = ask_one(&symbolizer_dwarf, &input, own_rva(own_mark_middle), &s);
	assert_int_equal(answer.depth, 2);
	check_level(&answer.chain[0], "own_outer", OWN_FILE, own_lines[LINE_OUTER_CALL]);
	check_level(&answer.chain[1], "middle", OWN_FILE, own_lines[LINE_MIDDLE]);
	s->ops->free(s);
	answer = ask_one(&symbolizer_dwarf, &input, own_rva(own_mark_outer), &s);
	assert_int_equal(answer.depth, 1);
	check_level(&answer.chain[0], "own_outer", OWN_FILE, own_lines[LINE_OUTER]);
	assert_string_equal(answer.func, "own_outer");
	assert_int_equal(answer.func_start, own_rva((const void *)(uintptr_t)own_outer));
	assert_true(answer.func_size > 0 && answer.func_size < 4096);
	s->ops->free(s);
	vec_release(&module.segments);
}

TEST(what_is_known_stays)
{
	struct module module = own_module();
	_cleanup_close_ int fd = own_fd();
	const struct symbolizer_input input = {.module = &module, .fd = fd};
	struct location chain = {.func = "known"};
	struct answer answers[2] = {{.func = "symbol", .func_start = 7},
				    {.chain = &chain, .depth = 1}};
	uint64_t rvas[2] = {own_rva(own_mark_outer), own_rva(own_mark_outer)};
	struct symbolizer *s;

	assert_int_equal(symbolizer_dwarf.open(&s, &input, NULL), 0);
	s->ops->lookup(s, rvas, 2, answers);
	assert_string_equal(answers[0].func, "symbol");
	assert_int_equal(answers[0].func_start, 7);
	assert_int_equal(answers[0].depth, 1);
	assert_string_equal(answers[0].chain[0].func, "own_outer");
	assert_ptr_equal(answers[1].chain, &chain);
	s->ops->free(s);
	vec_release(&module.segments);
}

TEST(addresses_outside_of_all_code)
{
	struct module module = own_module();
	_cleanup_close_ int fd = own_fd();
	const struct symbolizer_input input = {.module = &module, .fd = fd};
	struct symbolizer *s;
	struct answer answer;

	answer = ask_one(&symbolizer_dwarf, &input, 0, &s);
	assert_null(answer.func);
	assert_null(answer.chain);
	s->ops->free(s);
	answer = ask_one(&symbolizer_dwarf, &input, UINT64_MAX, &s);
	assert_null(answer.chain);
	s->ops->free(s);
	vec_release(&module.segments);
}

TEST(files_without_dwarf)
{
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	_cleanup_close_ int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct symbolizer_input input = {.module = &module, .fd = fd};
	struct symbolizer *s;

	assert_int_equal(symbolizer_dwarf.open(&s, &input, NULL), -ENOENT);
	input.fd = -1;
	assert_int_equal(symbolizer_dwarf.open(&s, &input, NULL), -ENOENT);
}

/* Returns the RVA of a label in a file compiled from tests/fuzz/seeds/scopes.cc. */
static uint64_t mark_in(int fd, const char *name)
{
	struct binary_symbols symbols = {0};
	struct binary *b;
	uint64_t rva = 0;

	assert_int_equal(binary_open(&b, fd, NULL), 0);
	binary_add_symbols(b, NULL, &symbols);
	vec_for_each(&symbols.rows, const struct binary_symbol *, it) {
		if (strcmp(it->name, name) == 0)
			rva = it->vaddr - binary_first_vaddr(b);
	}
	vec_release(&symbols.rows);
	binary_free(b);
	assert_true(rva > 0);
	return rva;
}

struct expected {
	const char *func;
	int line;
};

static void check_mark(const char *path, const char *const *debug_dirs, const char *mark,
		       const struct expected *levels, size_t depth)
{
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct debug_search search = {.dirs = debug_dirs};
	const struct symbolizer_input input = {.module = &module, .fd = fd, .search = &search};
	struct symbolizer *s;
	struct answer answer;

	assert_true(fd >= 0);
	answer = ask_one(&symbolizer_dwarf, &input, mark_in(fd, mark), &s);
	assert_int_equal(answer.depth, depth);
	for (size_t i = 0; i < depth; i++)
		check_level(&answer.chain[i], levels[i].func, "/src/scopes.cc", levels[i].line);
	s->ops->free(s);
}

#define CHECK_MARK(path, dirs, mark, ...) \
	check_mark(path, dirs, mark, (const struct expected[]){__VA_ARGS__}, \
		   sizeof((const struct expected[]){__VA_ARGS__}) / sizeof(struct expected))

static void check_gcc_scopes_with(const char *path, const char *const *dirs)
{
	CHECK_MARK(path, dirs, "mark_get", {"_start", 50}, {"_ZN5outer3BoxIiE3getEv", 11});
	/* GCC gives no linkage names to functions that other files cannot see. */
	CHECK_MARK(path, dirs, "mark_lambda", {"in_lambda::{lambda}::operator()", 39});
	CHECK_MARK(path, dirs, "mark_twice", {"in_lambda::{lambda}::operator()", 40},
		   {"twice_hidden", 33}, {"(anonymous namespace)::Hidden::twice", 23});
}

static void check_gcc_scopes(const char *path)
{
	check_gcc_scopes_with(path, NULL);
}

TEST(scopes_of_gcc)
{
	check_gcc_scopes(GCC "-dwarf5");
	check_gcc_scopes(GCC "-dwarf4");
	check_gcc_scopes(GCC "-compressed");
	check_gcc_scopes(GCC "-types");
}

/* The lambda's type has no name either, and its function is called more than "operator()". */
TEST(generic_lambdas)
{
	const char *path = "tests/fuzz/corpus/dwarf/generic-lambda-gcc";
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct symbolizer_input input = {.module = &module, .fd = fd};
	struct symbolizer *s;
	struct answer answer;

	assert_true(fd >= 0);
	answer = ask_one(&symbolizer_dwarf, &input, mark_in(fd, "mark_generic_lambda"), &s);
	assert_int_equal(answer.depth, 1);
	check_level(&answer.chain[0], "in_generic_lambda::{lambda}::operator()<int>",
		    "/src/generic_lambda.cc", 8);
	s->ops->free(s);
}

TEST(scopes_of_clang)
{
	const char *path = "tests/fuzz/corpus/dwarf/scopes-clang";

	CHECK_MARK(path, NULL, "mark_get", {"_start", 50}, {"_ZN5outer3BoxIiE3getEv", 11});
	CHECK_MARK(path, NULL, "mark_lambda", {"_ZZ9in_lambdaENK3$_0clEi", 39});
	CHECK_MARK(path, NULL, "mark_twice", {"_ZZ9in_lambdaENK3$_0clEi", 40},
		   {"_ZL12twice_hiddeni", 33}, {"_ZN12_GLOBAL__N_16Hidden5twiceEv", 23});
}

static void check_source_name(const char *mark, const char *name, bool is_better_than_symbol)
{
	const char *path = "tests/fuzz/corpus/dwarf/other-languages";
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct symbolizer_input input = {.module = &module, .fd = fd};
	struct symbolizer *s;
	struct answer answer;

	assert_true(fd >= 0);
	answer = ask_one(&symbolizer_dwarf, &input, mark_in(fd, mark), &s);
	assert_int_equal(answer.depth, 1);
	assert_string_equal(answer.chain[0].func, name);
	assert_int_equal(answer.has_source_name, is_better_than_symbol);
	s->ops->free(s);
}

TEST(blocks_outside_of_their_haskell_function)
{
	check_source_name("mark_block", "fib", false);
}

TEST(names_of_ada)
{
	check_source_name("mark_ada", "Ada_Main.Work.Fib", true);
	check_source_name("mark_operator", "Ada_Main.\"+\"", true);
}

/* The folder .build-id/xx, with a link to the file under its build id. */
struct debug_dir {
	char dir[32], *ids, *sub, *link;
};

static void debug_dir_init(struct debug_dir *d, const char *file)
{
	_cleanup_free_ char *target = realpath(file, NULL);
	_cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC);
	char id[2 * BUILD_ID_MAX + 1];
	uint8_t build_id[BUILD_ID_MAX];
	struct binary *b;

	strcpy(d->dir, "/tmp/prof-test-XXXXXX");
	assert_non_null(mkdtemp(d->dir));
	assert_int_equal(binary_open(&b, fd, NULL), 0);
	build_id_to_text(build_id, binary_build_id(b, build_id), id);
	binary_free(b);
	d->ids = xasprintf("%s/.build-id", d->dir);
	d->sub = xasprintf("%s/%.2s", d->ids, id);
	d->link = xasprintf("%s/%s.debug", d->sub, id + 2);
	assert_int_equal(mkdir(d->ids, 0700), 0);
	assert_int_equal(mkdir(d->sub, 0700), 0);
	assert_int_equal(symlink(target, d->link), 0);
}

static void debug_dir_release(struct debug_dir *d)
{
	assert_int_equal(unlink(d->link), 0);
	assert_int_equal(rmdir(d->sub), 0);
	assert_int_equal(rmdir(d->ids), 0);
	assert_int_equal(rmdir(d->dir), 0);
	free(d->ids);
	free(d->sub);
	free(d->link);
}

TEST(parts_shared_by_several_files)
{
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	_cleanup_close_ int fd = open(DWZ, O_RDONLY | O_CLOEXEC);
	struct symbolizer_input input = {.module = &module, .fd = fd};
	struct symbolizer *s;
	struct debug_dir d;
	const char *dirs[2] = {d.dir, NULL};

	debug_dir_init(&d, DWZ "-shared");
	check_gcc_scopes_with(DWZ, dirs);
	debug_dir_release(&d);
	assert_int_equal(symbolizer_dwarf.open(&s, &input, NULL), -ENOENT);
	/* The file names the shared one, which lies beside it. */
	input.path = DWZ;
	assert_int_equal(symbolizer_dwarf.open(&s, &input, NULL), 0);
	s->ops->free(s);
}

/* Damaged, or written by a strange tool. */
TEST(an_empty_name_is_none)
{
	_cleanup_close_ int seed = open(GCC "-dwarf5", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int damaged = memfd_create("damaged", MFD_CLOEXEC);
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	const struct symbolizer_input input = {.module = &module, .fd = damaged};
	char data[16384];
	ssize_t size = read(seed, data, sizeof(data));
	char *name = memmem(data, (size_t)size, "\0twice_hidden", 14);
	struct symbolizer *s;
	struct answer answer;

	assert_non_null(name);
	name[1] = '\0';
	assert_int_equal(write(damaged, data, (size_t)size), size);
	answer = ask_one(&symbolizer_dwarf, &input, mark_in(damaged, "mark_twice"), &s);
	assert_int_equal(answer.depth, 3);
	assert_null(answer.chain[1].func);
	assert_string_equal(answer.chain[2].func, "(anonymous namespace)::Hidden::twice");
	s->ops->free(s);
}

/* A few bytes that claim to unpack to a terabyte. */
TEST(sections_that_would_fill_memory)
{
	_cleanup_close_ int seed = open(GCC "-compressed", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int bomb = memfd_create("bomb", MFD_CLOEXEC);
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	const struct symbolizer_input input = {.module = &module, .fd = bomb};
	char data[16384];
	ssize_t size = read(seed, data, sizeof(data));
	struct symbolizer *s;
	Elf64_Ehdr header;
	size_t patched = 0;

	assert_true(size > 0 && size < (ssize_t)sizeof(data));
	memcpy(&header, data, sizeof(header));
	for (size_t i = 0; i < header.e_shnum; i++) {
		Elf64_Shdr section;
		uint64_t claim = 1ull << 40;

		memcpy(&section, data + header.e_shoff + i * sizeof(section), sizeof(section));
		if (!(section.sh_flags & SHF_COMPRESSED) || patched++)
			continue;
		memcpy(data + section.sh_offset + offsetof(Elf64_Chdr, ch_size), &claim,
		       sizeof(claim));
	}
	assert_true(patched > 0);
	assert_int_equal(write(bomb, data, (size_t)size), size);
	assert_int_equal(symbolizer_dwarf.open(&s, &input, NULL), -EFBIG);
}
