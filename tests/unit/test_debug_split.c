/* SPDX-License-Identifier: MIT */

#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "symbolize/dwarf/debug_info.h"
#include "tests/unit/marked_program.h"
#include "tests/unit/test.h"

static int setup(void **state)
{
	static struct scratch s;

	scratch_init(&s);
	*state = &s;
	return 0;
}

/* Builds in a folder; the .dwo files lie where the compiler puts them. */
static void build(const struct scratch *s, const char *dir, const char *compiler)
{
	scratch_run(s,
		    "rm -rf %s && mkdir %s && cd %s && %s -O2 " MARKED_LINK " " MARKED_SOURCES
		    " -o split && ls *.dwo >/dev/null",
		    dir, dir, dir, compiler);
}

static void check_places(const struct scratch *s, const char *compiler)
{
	const struct marked m = {.name = "d/split"};
	const struct marked moved = {.name = "elsewhere/split"};

	build(s, "d", compiler);
	assert_int_equal(marked_check(s, &m), SYMBOLS_FOUND);
	/* Only the program has moved: the files are in the folder of compilation. */
	scratch_run(s, "rm -rf elsewhere && mkdir elsewhere && mv d/split elsewhere");
	assert_int_equal(marked_check(s, &moved), SYMBOLS_FOUND);
	/* Both have moved: the files are beside the program. */
	scratch_run(s, "mv d/*.dwo elsewhere");
	assert_int_equal(marked_check(s, &moved), SYMBOLS_FOUND);
	scratch_run(s, "rm elsewhere/*one.dwo");
	assert_int_equal(marked_check(s, &moved), SYMBOLS_NO_SPLIT_UNITS);
}

TEST(files_of_all_compilers)
{
	check_places(*state, "gcc -g -gsplit-dwarf");
	check_places(*state, "gcc -gdwarf-4 -gsplit-dwarf");
	check_places(*state, "clang -g -gsplit-dwarf");
	check_places(*state, "clang -gdwarf-4 -gsplit-dwarf");
	check_places(*state, "gcc -g -gsplit-dwarf -fdebug-types-section");
	check_places(*state, "gcc -g -gsplit-dwarf -ffunction-sections");
}

TEST(files_of_another_build)
{
	const struct scratch *s = *state;

	build(s, "d", "gcc -g -gsplit-dwarf");
	build(s, "other", "gcc -g -gsplit-dwarf -DOTHER");
	scratch_run(s, "cp other/*.dwo d");
	assert_int_equal(marked_check(s, &(struct marked){.name = "d/split"}),
			 SYMBOLS_NO_SPLIT_UNITS);
	/* The file beside the program is older; the one in the folder of compilation is right. */
	build(s, "d", "gcc -g -gsplit-dwarf");
	scratch_run(s, "rm -rf elsewhere; mkdir elsewhere; mv d/split elsewhere; "
		       "cp other/*.dwo elsewhere");
	assert_int_equal(marked_check(s, &(struct marked){.name = "elsewhere/split"}),
			 SYMBOLS_FOUND);
	scratch_run(s, "for f in d/*.dwo; do rm $f; mkfifo $f; done");
	assert_int_equal(marked_check(s, &(struct marked){.name = "elsewhere/split"}),
			 SYMBOLS_NO_SPLIT_UNITS);
}

static void check_package(const struct scratch *s, const char *compiler, const char *packager)
{
	const struct marked m = {.name = "d/split"};

	build(s, "d", compiler);
	scratch_run(s, "cd d && %s && rm *.dwo", packager);
	assert_int_equal(marked_check(s, &m), SYMBOLS_FOUND);
	scratch_run(s, "cd d && objcopy --compress-debug-sections=zlib split.dwp");
	assert_int_equal(marked_check(s, &m), SYMBOLS_FOUND);
	scratch_run(s, "cd d && head -c 900 split.dwp >cut && mv cut split.dwp");
	assert_int_equal(marked_check(s, &m), SYMBOLS_NO_SPLIT_UNITS);
}

#define PACK_DWO "python3 $SRC/tests/unit/programs/pack_dwo.py"
#define PACK PACK_DWO " split.dwp *.dwo"

TEST(packages)
{
	check_package(*state, "clang -g -gsplit-dwarf", "llvm-dwp -e split -o split.dwp");
	check_package(*state, "clang -g -gsplit-dwarf", PACK);
	check_package(*state, "gcc -gdwarf-5 -gsplit-dwarf", PACK);
	check_package(*state, "gcc -gdwarf-4 -gsplit-dwarf", "llvm-dwp -e split -o split.dwp");
	check_package(*state, "clang -gdwarf-4 -gsplit-dwarf", "llvm-dwp -e split -o split.dwp");
}

/* Packages of DWARF 5 by binutils before 2.45 have all units, but an empty index. */
TEST(a_package_with_an_empty_index)
{
	const struct scratch *s = *state;

	build(s, "d", "gcc -gdwarf-5 -gsplit-dwarf");
	scratch_run(s, "cd d && " PACK_DWO " --empty-index split.dwp *.dwo && rm *.dwo");
	assert_int_equal(marked_check(s, &(struct marked){.name = "d/split"}),
			 SYMBOLS_NO_SPLIT_UNITS);
}

TEST(skeletons_in_a_debug_file)
{
	const struct scratch *s = *state;
	const struct marked m = {.name = "d/bare", .symbols = "d/split"};

	build(s, "d", "gcc -g -gsplit-dwarf");
	scratch_run(s,
		    "cd d && objcopy --only-keep-debug split bare.debug && strip split -o bare && "
		    "objcopy --add-gnu-debuglink=bare.debug bare");
	assert_int_equal(marked_check(s, &m), SYMBOLS_FOUND);
}

/* An index of one unit, with two columns. */
struct tiny_index {
	uint32_t version, columns, rows, slots;
	uint64_t ids[2];
	uint32_t row_numbers[2], kinds[2], offsets[2], sizes[2];
};

TEST(damaged_indexes)
{
	static const uint8_t bytes[64];
	const struct tiny_index good = {5, 2, 1, 2, {0, 7}, {0, 1}, {1, 3}, {8, 16}, {4, 48}};
	struct tiny_index index = good;
	struct debug_view unit, package = {0};

	package.at[DEBUG_INFO] = package.at[DEBUG_ABBREV] = (struct debug_section){bytes,
										   sizeof(bytes)};
	package.at[DEBUG_CU_INDEX] = (struct debug_section){(const uint8_t *)&index, sizeof(index)};
	assert_true(unit_index_find(&package, 7, &unit));
	assert_ptr_equal(unit.at[DEBUG_INFO].data, bytes + 8);
	assert_int_equal(unit.at[DEBUG_ABBREV].size, 48);
	assert_false(unit_index_find(&package, 9, &unit));
	assert_false(unit_index_find(&package, 0, &unit));
	index.version = 3;
	assert_false(unit_index_find(&package, 7, &unit));
	index = good;
	index.slots = 3;
	assert_false(unit_index_find(&package, 7, &unit));
	index = good;
	index.rows = 0x7fffffff;
	assert_false(unit_index_find(&package, 7, &unit));
	index = good;
	index.row_numbers[1] = 2;
	assert_false(unit_index_find(&package, 7, &unit));
	index = good;
	index.sizes[1] = 49;
	assert_false(unit_index_find(&package, 7, &unit));
	index = good;
	index.kinds[0] = 2;
	assert_false(unit_index_find(&package, 7, &unit));
	/* A full table, so that the search for a missing unit comes around. */
	index = good;
	index.row_numbers[0] = 1;
	assert_false(unit_index_find(&package, 9, &unit));
	index = good;
	package.at[DEBUG_CU_INDEX].size = sizeof(index) - 1;
	assert_false(unit_index_find(&package, 7, &unit));
}

struct range {
	uint64_t start, end;
};

static void check_ranges(const uint8_t *data, size_t size, uint16_t version,
			 const struct range *wanted, size_t count)
{
	static const uint64_t addresses[] = {0x1000, 0x2000};
	struct debug_view view = {0};
	const struct range_source source = {.view = &view,
					    .base = 0x100,
					    .version = version,
					    .address_size = 8,
					    .offset_size = 4};
	struct range_list list;
	struct range got;

	view.at[version < 5 ? DEBUG_RANGES : DEBUG_RNGLISTS] = (struct debug_section){data, size};
	view.at[DEBUG_ADDR] = (struct debug_section){(const uint8_t *)addresses, sizeof(addresses)};
	if (version < 5)
		range_list_open(&list, &source, 0);
	else
		range_list_open_number(&list, &source, 0);
	for (size_t i = 0; i < count; i++) {
		assert_true(range_list_next(&list, &got.start, &got.end));
		assert_int_equal(got.start, wanted[i].start);
		assert_int_equal(got.end, wanted[i].end);
	}
	assert_false(range_list_next(&list, &got.start, &got.end));
}

#define RANGES(...) \
	(const struct range[]){__VA_ARGS__}, \
		sizeof((const struct range[]){__VA_ARGS__}) / sizeof(struct range)
/* Length, version, sizes, one list, which begins behind its offset. */
#define LISTS 0xff, 0, 0, 0, 5, 0, 8, 0, 1, 0, 0, 0, 4, 0, 0, 0

TEST(lists_of_ranges)
{
	static const uint8_t all[] = {
		LISTS, 4, 1, 5, /* offset pair */
		1,     1, 4, 1, 5, /* base by number, offset pair */
		2,     0, 1, /* both by number */
		3,     0, 7, /* start by number, length */
		5,     9, 0, 0, 0, 0, 0, 0, 0, 4, 1, 2, /* base, offset pair */
		6,     1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, /* both */
		7,     1, 0, 0, 0, 0, 0, 0, 0, 3, /* start, length */
		0,     4, 1, 5};
	static const uint8_t beyond[] = {LISTS, 3, 2, 7, 4, 1, 5, 0};
	static const uint64_t pairs[] = {1, 5, UINT64_MAX, 0x1000, 1, 5, 0, 0, 1, 5};

	check_ranges(all, sizeof(all), 5,
		     RANGES({0x101, 0x105}, {0x2001, 0x2005}, {0x1000, 0x2000}, {0x1000, 0x1007},
			    {10, 11}, {1, 2}, {1, 4}));
	check_ranges(all, sizeof(all) - 30, 5,
		     RANGES({0x101, 0x105}, {0x2001, 0x2005}, {0x1000, 0x2000}, {0x1000, 0x1007},
			    {10, 11}));
	check_ranges(beyond, sizeof(beyond), 5, NULL, 0);
	check_ranges(all, 15, 5, NULL, 0);
	check_ranges((const uint8_t *)pairs, sizeof(pairs), 4,
		     RANGES({0x101, 0x105}, {0x1001, 0x1005}));
	check_ranges((const uint8_t *)pairs, 20, 4, RANGES({0x101, 0x105}));
}

TEST_GROUP(setup, scratch_teardown);
