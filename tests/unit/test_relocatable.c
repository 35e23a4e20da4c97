/* SPDX-License-Identifier: MIT */
/* Files that are not linked yet, such as kernel modules. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/binary.h"
#include "symbolize/symbolizer.h"
#include "tests/unit/marked_program.h"
#include "tests/unit/test.h"

/* Imitates the kernel's build: units become one file whose sections have no addresses. */
#define BUILD_MODULE(compiler, linker, flags, name) \
	compiler " -O2 " flags " -c " MARKED_SOURCES " && " linker \
		 " -r --build-id=sha1 one.o two.o -o " name

static int setup(void **state)
{
	static struct scratch s;

	scratch_init(&s);
	scratch_run(&s, BUILD_MODULE("gcc", "ld", "-g", "my-module.ko"));
	*state = &s;
	return 0;
}

static void check_build(const struct scratch *s, const char *build)
{
	const struct marked m = {.name = "built.ko"};

	scratch_run(s, "%s", build);
	scratch_run(s, "readelf -hW built.ko | grep -q 'REL (Relocatable'");
	assert_int_equal(marked_check(s, &m), SYMBOLS_FOUND);
	assert_true(marked_has_symbols(s, &m));
}

TEST(lines_of_all_compilers)
{
	check_build(*state, BUILD_MODULE("gcc", "ld", "-gdwarf-5", "built.ko"));
	check_build(*state, BUILD_MODULE("gcc", "ld", "-gdwarf-4", "built.ko"));
	check_build(*state, BUILD_MODULE("gcc", "ld", "-g -ffunction-sections", "built.ko"));
	check_build(*state, BUILD_MODULE("clang", "ld.bfd", "-gdwarf-5", "built.ko"));
	check_build(*state, BUILD_MODULE("clang", "ld.bfd", "-gdwarf-4", "built.ko"));
	/* For arm64; one unit is as good as linked. */
	check_build(*state, "clang --target=aarch64-linux-gnu -O2 -g -c -I $SRC -o built.ko "
			    "-include $SRC/tests/unit/programs/one.c "
			    "-include $SRC/tests/unit/programs/two.c -x c /dev/null");
}

TEST(lines_of_compressed_sections)
{
	check_build(*state, "objcopy --compress-debug-sections=zlib my-module.ko built.ko");
	check_build(*state, "objcopy --compress-debug-sections=zstd my-module.ko built.ko");
	/* Debug files of distributions keep the headers of the removed sections. */
	check_build(*state, "objcopy --only-keep-debug my-module.ko built.ko");
}

/* A folder for --debug-dir with just one file, which the command makes of my-module.ko. */
static void check_in_dir(const struct scratch *s, const char *command, enum symbol_reason reason)
{
	_cleanup_free_ char *dir = scratch_path(s, "dir");
	const char *const dirs[] = {dir, NULL};
	const struct marked m = {
		.name = "my-module.ko", .kernel_module = "[my_module]", .dirs = dirs};

	scratch_run(s, "rm -rf dir && mkdir dir && %s", command);
	assert_int_equal(marked_check(s, &m), reason);
}

TEST(kernel_modules_by_name)
{
	const struct scratch *s = *state;

	/* The kernel writes "_" for "-"; a module that somebody built may really have that name. */
	check_in_dir(s, "cp my-module.ko dir/my_module.ko", SYMBOLS_FOUND);
	check_in_dir(s, "cp my-module.ko dir/my_module.ko.debug", SYMBOLS_FOUND);
	check_in_dir(s, "xz -c my-module.ko >dir/my_module.ko.xz", SYMBOLS_FOUND);
	check_in_dir(s, "zstd -qc my-module.ko >dir/my_module.ko.zst", SYMBOLS_FOUND);
	check_in_dir(s, "gzip -c my-module.ko >dir/my_module.ko.gz", SYMBOLS_FOUND);
	check_in_dir(s,
		     "ID=$(readelf -n my-module.ko | sed -n 's,.*Build ID: \\(..\\),\\1/,p') && "
		     "mkdir -p dir/.build-id/${ID%%/*} && "
		     "cp my-module.ko dir/.build-id/$ID.debug",
		     SYMBOLS_FOUND);
}

/* Layout of unpacked packages of distributions: somewhere below the kernel's release. */
TEST(kernel_modules_below_the_release)
{
	const struct scratch *s = *state;

	check_in_dir(s,
		     "mkdir -p dir/lib/modules/$(uname -r)/a/b && "
		     "cp my-module.ko dir/lib/modules/$(uname -r)/a/b/my-module.ko",
		     SYMBOLS_FOUND);
	check_in_dir(
		s,
		"mkdir -p dir/usr/lib/debug/lib/modules/$(uname -r)/a && "
		"cp my-module.ko dir/usr/lib/debug/lib/modules/$(uname -r)/a/my-module.ko.debug",
		SYMBOLS_FOUND);
	/* Links may lead anywhere, mostly into the kernel's sources. */
	check_in_dir(s,
		     "mkdir -p dir/lib/modules/$(uname -r) dir/elsewhere && "
		     "cp my-module.ko dir/elsewhere && "
		     "ln -s ../../../elsewhere dir/lib/modules/$(uname -r)/build",
		     SYMBOLS_KERNEL_NO_DEBUG_FILE);
}

TEST(what_is_not_the_module)
{
	const struct scratch *s = *state;

	check_in_dir(s, "true", SYMBOLS_KERNEL_NO_DEBUG_FILE);
	check_in_dir(s, "strip -g my-module.ko -o dir/my_module.ko", SYMBOLS_KERNEL_NO_DEBUG_FILE);
	check_in_dir(s, BUILD_MODULE("gcc", "ld", "-g -O1", "dir/my_module.ko"),
		     SYMBOLS_BUILD_ID_MISMATCH);
	check_in_dir(s, "gzip -c my-module.ko | head -c 1000 >dir/my_module.ko.gz",
		     SYMBOLS_UNREADABLE);
	check_in_dir(s, "gzip -c my-module.ko | head -c -8 >dir/my_module.ko.gz",
		     SYMBOLS_UNREADABLE);
	check_in_dir(s, "xz -c my-module.ko | head -c 1000 >dir/my_module.ko.xz",
		     SYMBOLS_UNREADABLE);
	check_in_dir(s, "cp my-module.ko dir/my_module.kooo", SYMBOLS_KERNEL_NO_DEBUG_FILE);
}

/* The actual addresses count, not the kernel's usual placement. */
TEST(sections_that_were_loaded_elsewhere)
{
	const struct scratch *s = *state;
	_cleanup_free_ char *dir = scratch_path(s, "dir");
	const char *const dirs[] = {dir, NULL};
	uint64_t text = scratch_rva(s, "my-module.ko", "one_outer"),
		 apart = scratch_rva(s, "my-module.ko", "one_apart");
	const struct module_section sections[] = {
		{".text.apart", apart + 0x7000}, {".text", 0x7000}, {".text.none", 5}};
	struct marked m = {.name = "my-module.ko",
			   .kernel_module = "[my_module]",
			   .dirs = dirs,
			   .sections = sections,
			   .section_count = 3,
			   .shift = 0x7000};

	assert_true(text < apart);
	scratch_run(s, "rm -rf dir && mkdir dir && cp my-module.ko dir/my_module.ko");
	assert_int_equal(marked_check(s, &m), SYMBOLS_FOUND);
}

TEST(code_that_is_dropped_has_no_place)
{
	const struct scratch *s = *state;

	scratch_run(s,
		    "printf '%s' '"
		    "__attribute__((section(\".init.text\"))) void early(void) {}"
		    "__attribute__((section(\".text.b\"), aligned(64))) void b(void) {}"
		    "__attribute__((section(\".text.a\"), aligned(16))) void a(void) {}"
		    "' >placed.c && gcc -O2 -c placed.c -o placed.ko",
		    "%s");
	/* In order of the file, as alignment demands; .text has no bytes. */
	assert_true(scratch_rva(s, "placed.ko", "early") > UINT64_C(1) << 61);
	assert_int_equal(scratch_rva(s, "placed.ko", "a") - scratch_rva(s, "placed.ko", "b"), 16);
}

/* Lists every address of the functions. */
static void list_addresses(int fd, FILE *out)
{
	struct binary_symbols symbols = {0};
	struct binary *b;

	assert_int_equal(binary_open(&b, fd, NULL), 0);
	binary_add_symbols(b, NULL, &symbols);
	vec_for_each(&symbols.rows, const struct binary_symbol *, it) {
		for (uint64_t i = 0; i < it->size; i++)
			fprintf(out, "0x%" PRIx64 "\n", it->vaddr - binary_first_vaddr(b) + i);
	}
	vec_release(&symbols.rows);
	binary_free(b);
}

/* Prints like addr2line: innermost first. */
static void print_chain(const struct answer *answer, uint64_t addr, FILE *out)
{
	fprintf(out, "0x%016" PRIx64 "\n", addr);
	for (size_t i = answer->depth; i-- > 0;)
		fprintf(out, "%s\n%s:%" PRIu32 "\n", answer->chain[i].func, answer->chain[i].file,
			answer->chain[i].line);
}

static unsigned int name_all(int fd, FILE *in, FILE *out)
{
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	const struct symbolizer_input input = {.module = &module, .fd = fd};
	struct symbolizer *dwarf;
	unsigned int count = 0;
	uint64_t addr;

	assert_int_equal(symbolizer_dwarf.open(&dwarf, &input, NULL), 0);
	for (; fscanf(in, "%" SCNx64, &addr) == 1; count++) {
		struct answer answer = {0};

		dwarf->ops->lookup(dwarf, &addr, 1, &answer);
		print_chain(&answer, addr, out);
	}
	dwarf->ops->free(dwarf);
	return count;
}

TEST(lines_and_inlines_are_those_of_addr2line)
{
	const struct scratch *s = *state;
	_cleanup_free_ char *ours = scratch_path(s, "ours"), *list = scratch_path(s, "list");
	FILE *addresses = fopen(list, "w+"), *out = fopen(ours, "w");
	_cleanup_close_ int fd = -1;

	scratch_run(s, "gcc -g -O2 -fno-reorder-functions -I $SRC -D_GNU_SOURCE -c "
		       "$SRC/lib/base/text.c -o text.o && "
		       "[ $(readelf -SW text.o | grep -c ' AX ') = 1 ]");
	fd = scratch_open(s, "text.o");
	list_addresses(fd, addresses);
	rewind(addresses);
	assert_true(name_all(fd, addresses, out) > 1000);
	fclose(addresses);
	fclose(out);
	scratch_run(s, "addr2line -afi -j .text -e text.o <list | sed 's/ (disc.*//' >theirs && "
		       "diff ours theirs >&2");
}

TEST_GROUP(setup, scratch_teardown);
