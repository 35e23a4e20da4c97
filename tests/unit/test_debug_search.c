/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "tests/unit/marked_program.h"
#include "tests/unit/test.h"

static int setup(void **state)
{
	static struct scratch s;

	scratch_init(&s);
	marked_build(&s, "whole", "gcc -g");
	scratch_run(&s, "objcopy --only-keep-debug whole whole.debug && strip whole -o bare && "
			"objcopy --add-gnu-debuglink=whole.debug bare linked && "
			"objcopy -R .note.gnu.build-id whole nameless && "
			"objcopy --only-keep-debug nameless nameless.debug && strip nameless && "
			"objcopy --add-gnu-debuglink=nameless.debug nameless && mkdir aside && "
			"mv *.debug aside");
	*state = &s;
	return 0;
}

/* Puts the build id of `file` into $ID as xx/yyy. */
#define BUILD_ID_OF(file) "ID=$(readelf -n " file " | sed -n 's,.*Build ID: \\(..\\),\\1/,p')"

TEST(in_itself)
{
	assert_int_equal(marked_check(*state, &(struct marked){.name = "whole"}), SYMBOLS_FOUND);
}

TEST(by_build_id)
{
	const struct scratch *s = *state;
	_cleanup_free_ char *dir = scratch_path(s, "ids"), *cache = scratch_path(s, "cache");
	const char *const dirs[] = {"/nonexistent", dir, NULL};
	struct marked m = {.name = "bare", .symbols = "whole"};

	assert_int_equal(marked_check(s, &m), SYMBOLS_NO_DEBUG_FILE);
	assert_false(marked_has_symbols(s, &m));
	scratch_run(
		s,
		BUILD_ID_OF("whole") "; mkdir -p ids/.build-id/${ID%%/*} cache/${ID%%/*}${ID#*/} "
				     "&& cp aside/whole.debug ids/.build-id/$ID.debug && "
				     "cp aside/whole.debug cache/${ID%%/*}${ID#*/}/debuginfo");
	m.dirs = dirs;
	assert_int_equal(marked_check(s, &m), SYMBOLS_FOUND);
	assert_true(marked_has_symbols(s, &m));
	m.dirs = NULL;
	m.cache = cache;
	assert_int_equal(marked_check(s, &m), SYMBOLS_FOUND);
	assert_true(marked_has_symbols(s, &m));
}

/* The image's link layout counts, not its contents. */
TEST(the_kernel)
{
	const struct scratch *s = *state;
	_cleanup_free_ char *dir = scratch_path(s, "kernel-ids");
	const char *const dirs[] = {dir, NULL};
	struct marked m = {.name = "whole", .is_kernel = true};

	/* The descriptor is not that of an ELF file, and is never read. */
	assert_int_equal(marked_check(s, &m), SYMBOLS_KERNEL_NO_DEBUG_FILE);
	scratch_run(s, BUILD_ID_OF("whole") "; mkdir -p kernel-ids/.build-id/${ID%%/*} && "
					    "cp whole kernel-ids/.build-id/$ID.debug");
	m.dirs = dirs;
	assert_int_equal(marked_check(s, &m), SYMBOLS_FOUND);
	scratch_run(s, "strip -g kernel-ids/.build-id/*/*.debug");
	assert_int_equal(marked_check(s, &m), SYMBOLS_KERNEL_NO_DEBUG_FILE);
}

TEST(by_link)
{
	const struct scratch *s = *state;
	const struct marked m = {.name = "linked", .symbols = "whole"};

	assert_int_equal(marked_check(s, &m), SYMBOLS_NO_DEBUG_FILE);
	scratch_run(s, "cp aside/whole.debug .");
	assert_int_equal(marked_check(s, &m), SYMBOLS_FOUND);
	assert_true(marked_has_symbols(s, &m));
	scratch_run(s, "mkdir -p .debug && mv whole.debug .debug");
	assert_int_equal(marked_check(s, &m), SYMBOLS_FOUND);
	/* A file of the same name from another build. */
	scratch_run(s, "gcc -O1 -g " MARKED_LINK " " MARKED_SOURCES " -o .debug/whole.debug");
	assert_int_equal(marked_check(s, &m), SYMBOLS_BUILD_ID_MISMATCH);
	assert_false(marked_has_symbols(s, &m));
	/* Not an ELF file; not even a readable one. */
	scratch_run(s, "echo text >.debug/whole.debug");
	assert_int_equal(marked_check(s, &m), SYMBOLS_UNREADABLE);
	scratch_run(s, "rm -f .debug/whole.debug && mkfifo .debug/whole.debug");
	assert_int_equal(marked_check(s, &m), SYMBOLS_NO_DEBUG_FILE);
	scratch_run(s, "rm -rf .debug");
}

TEST(by_checksum)
{
	const struct scratch *s = *state;
	const struct marked m = {.name = "nameless", .symbols = "whole"};

	assert_int_equal(marked_check(s, &m), SYMBOLS_STRIPPED);
	scratch_run(s, "mkdir -p .debug && cp aside/nameless.debug .debug");
	assert_int_equal(marked_check(s, &m), SYMBOLS_FOUND);
	scratch_run(s, "printf x >>.debug/nameless.debug");
	assert_int_equal(marked_check(s, &m), SYMBOLS_CRC_MISMATCH);
	scratch_run(s, "rm -rf .debug");
}

/* Has functions' names, so it does not count as stripped. */
TEST(without_lines)
{
	const struct scratch *s = *state;
	const struct marked m = {.name = "lineless", .symbols = "whole"};

	scratch_run(s, "strip -g whole -o lineless && objcopy -R .note.gnu.build-id lineless");
	assert_int_equal(marked_check(s, &m), SYMBOLS_NO_LINES);
	assert_true(marked_has_symbols(s, &m));
	scratch_run(s, "strip -g whole -o lineless");
	assert_int_equal(marked_check(s, &m), SYMBOLS_NO_DEBUG_FILE);
}

TEST(a_link_to_itself)
{
	const struct scratch *s = *state;

	scratch_run(s,
		    "cp bare itself && objcopy --add-gnu-debuglink=itself bare new; mv new itself");
	assert_int_equal(marked_check(s, &(struct marked){.name = "itself", .symbols = "whole"}),
			 SYMBOLS_NO_DEBUG_FILE);
}

TEST(in_another_root)
{
	const struct scratch *s = *state;
	struct marked m = {.name = "linked", .symbols = "whole", .path = "/app/bin/linked"};
	_cleanup_close_ int root = -1;

	scratch_run(s, "mkdir -p root/app/bin/.debug root/usr/lib/debug/.build-id; " BUILD_ID_OF(
			       "whole") "; cp aside/whole.debug root/app/bin/.debug");
	root = scratch_open(s, "root");
	assert_int_equal(marked_check(s, &m), SYMBOLS_NO_DEBUG_FILE);
	m.root = root;
	assert_int_equal(marked_check(s, &m), SYMBOLS_FOUND);
	/* The link points nowhere inside the root, though outside it would lead to the file. */
	scratch_run(s, "rm root/app/bin/.debug/whole.debug && "
		       "ln -s $PWD/aside/whole.debug root/app/bin/.debug/whole.debug");
	assert_int_equal(marked_check(s, &m), SYMBOLS_NO_DEBUG_FILE);
	scratch_run(s, "ln -sf ../../../../aside/whole.debug root/app/bin/.debug/whole.debug");
	assert_int_equal(marked_check(s, &m), SYMBOLS_NO_DEBUG_FILE);
	scratch_run(
		s,
		BUILD_ID_OF("whole") "; mkdir -p root/usr/lib/debug/.build-id/${ID%%/*} && "
				     "cp aside/whole.debug root/usr/lib/debug/.build-id/$ID.debug");
	assert_int_equal(marked_check(s, &m), SYMBOLS_FOUND);
}

TEST(few_symbols_in_the_file_itself)
{
	const struct scratch *s = *state;
	const struct marked m = {.name = "mini", .symbols = "whole"};

	scratch_run(s, "strip -g whole -o functions && xz -c functions >functions.xz && "
		       "objcopy --add-section .gnu_debugdata=functions.xz bare mini");
	assert_true(marked_has_symbols(s, &m));
	assert_int_equal(marked_check(s, &m), SYMBOLS_NO_DEBUG_FILE);
	scratch_run(s, "head -c 200 functions.xz >cut && "
		       "objcopy --add-section .gnu_debugdata=cut bare mini");
	assert_false(marked_has_symbols(s, &m));
}

TEST(compressed_with_zstd)
{
	const struct scratch *s = *state;

	marked_build(s, "zstd", "gcc -g -Wl,--compress-debug-sections=zstd");
	scratch_run(s, "objcopy --compress-debug-sections=zstd zstd");
	assert_int_equal(marked_check(s, &(struct marked){.name = "zstd"}), SYMBOLS_FOUND);
}

TEST(shared_by_dwz)
{
	const struct scratch *s = *state;
	_cleanup_free_ char *dir = scratch_path(s, "dwz-ids");
	const char *const dirs[] = {dir, NULL};
	struct marked m = {.name = "bare-a", .symbols = "dwz-a", .dirs = dirs};

	marked_build(s, "dwz-a", "gcc -g");
	marked_build(s, "dwz-b", "gcc -g -DB");
	scratch_run(s, "for f in a b; do objcopy --only-keep-debug dwz-$f $f.debug; "
		       "strip dwz-$f -o bare-$f; done; mkdir -p dwz-ids/.dwz && "
		       "dwz -m dwz-ids/.dwz/shared -M ../../.dwz/shared a.debug b.debug");
	scratch_run(s, "readelf -S a.debug | grep -q debugaltlink && "
		       "readelf --debug-dump=info dwz-ids/.dwz/shared | grep -q one_middle");
	scratch_run(s, BUILD_ID_OF("dwz-a") "; mkdir -p dwz-ids/.build-id/${ID%%/*} && "
					    "cp a.debug dwz-ids/.build-id/$ID.debug");
	assert_int_equal(marked_check(s, &m), SYMBOLS_FOUND);
	/* Found by its own build id instead of the path. */
	scratch_run(
		s,
		BUILD_ID_OF(
			"dwz-ids/.dwz/shared") "; mkdir -p dwz-ids/.build-id/${ID%%/*} "
					       "&& mv dwz-ids/.dwz/shared dwz-ids/.build-id/$ID.debug");
	assert_int_equal(marked_check(s, &m), SYMBOLS_FOUND);
	scratch_run(s, BUILD_ID_OF("a.debug") "; find dwz-ids/.build-id -name '*.debug' "
					      "! -path \"*/$ID.debug\" -delete");
	assert_int_equal(marked_check(s, &m), SYMBOLS_NO_SHARED_PART);
}

/* DWARF of two compilers and versions has nothing in common but strings. */
TEST(strings_shared_by_dwz)
{
	const struct scratch *s = *state;
	_cleanup_free_ char *dir = scratch_path(s, "dwz-strings");
	const char *const dirs[] = {dir, NULL};
	struct marked m = {.name = "strings-a", .dirs = dirs};

	marked_build(s, "strings-a", "gcc -gdwarf-5");
	marked_build(s, "strings-b", "clang -gdwarf-4 -DB");
	scratch_run(s, "dwz -m strings -M strings strings-a strings-b && "
		       "readelf -SW strings >sections && grep -q 'debug_str ' sections && "
		       "! grep -q debug_info sections && readelf -SW strings-a | grep -q altlink");
	assert_int_equal(marked_check(s, &m), SYMBOLS_FOUND);
	scratch_run(s, "rm strings");
	assert_int_equal(marked_check(s, &m), SYMBOLS_NO_SHARED_PART);
}

TEST_GROUP(setup, scratch_teardown);
