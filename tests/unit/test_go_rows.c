/* SPDX-License-Identifier: MIT */
/*
 * Rows for Go's functions. This program has a table of functions as Go's linker writes it, and code
 * with the shapes of Go's runtime.
 */

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/unwind/go_file.h"
#include "lib/code/runtimes/go.h"
#include "lib/code/unwind/unwind_table.h"
#include "tests/unit/own_program.h"
#include "bpf/walk_table.h"
#include "tests/unit/test.h"

#if defined(__x86_64__)
__asm__(".pushsection .text\n"
	".include \"tests/fuzz/seeds/go.S\"\n"
	".popsection\n");

#define LABEL(name) extern const char name[]
LABEL(go_plain);
LABEL(go_bare);
LABEL(go_systemstack);
LABEL(go_systemstack_leave);
LABEL(go_systemstack_left);
LABEL(go_systemstack_return);
LABEL(go_systemstack_back);
LABEL(go_morestack);
LABEL(go_morestack_left);
LABEL(go_asmcgocall_left);
LABEL(go_asmcgocall_stored);
LABEL(go_asmcgocall_back);
LABEL(go_vdso_left);
LABEL(go_vdso_back);
LABEL(go_aligned_left);
LABEL(go_aligned_back);
LABEL(go_mcall);
LABEL(go_mcall_left);
LABEL(go_goexit);
LABEL(go_padding);
LABEL(go_sigreturn);
LABEL(go_sigpanic);
LABEL(go_text_end);

struct fixture {
	struct unwind_rules rules;
	struct unwind_table table;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	_cleanup_close_ int fd = own_fd();

	unwind_rules_init(&f->rules);
	assert_int_equal(unwind_table_compile(fd, &f->rules, NULL, &f->table, NULL), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	unwind_table_release(&f->table);
	unwind_rules_release(&f->rules);
	free(f);
	return 0;
}

/* Returns the rule of an address in this program, whose first segment is at vaddr 0. */
static struct unwind_rule rule_at(const struct fixture *f, const char *addr)
{
	const struct unwind_table *table = &f->table;
	size_t words = 1, index_size = table->index.count;
	struct unwind_mapping m = {.table_start = table->start, .page_count = table->page_count};
	_cleanup_free_ uint32_t *shard = NULL;
	uint32_t number;

	while (words < index_size + table->rows.count + 1)
		words *= 2;
	shard = calloc(words, sizeof(*shard));
	memcpy(shard, table->index.items, index_size * sizeof(*shard));
	memcpy(shard + index_size, table->rows.items, table->rows.count * sizeof(*shard));
	m.rows_at = (uint32_t)index_size;
	number = walk_find_rule(&m, shard, (uint32_t)words, own_rva(addr));
	return f->rules.rows.items[number];
}

static void check_frame(const struct fixture *f, const char *addr, int cfa_offset, bool saves_fp)
{
	struct unwind_rule rule = rule_at(f, addr);

	assert_int_equal(rule.cfa_kind, UNWIND_CFA_REG);
	assert_int_equal(rule.cfa_reg, UNWIND_REG_SP);
	assert_int_equal(rule.cfa_offset, cfa_offset);
	assert_int_equal(UNWIND_RA_KIND(rule.kinds), UNWIND_AT_CFA);
	assert_int_equal(rule.ra_offset, -1);
	assert_int_equal(UNWIND_FP_KIND(rule.kinds), saves_fp ? UNWIND_AT_CFA : UNWIND_SAME);
	if (saves_fp)
		assert_int_equal(rule.fp_offset, -2);
}

TEST(places_of_labels)
{
	_cleanup_close_ int fd = own_fd(), empty = memfd_create("empty", MFD_CLOEXEC);
	struct go_label_places places;
	struct error err = {0};

	assert_int_equal(go_label_places_find(&places, fd, &err), 0);
	assert_int_equal(places.version, 123);
	assert_int_equal(places.tls, -24);
	assert_int_equal(places.m, 64);
	assert_int_equal(places.current, 176);
	assert_int_equal(places.labels, 0x160);
	assert_int_equal(go_label_places_find(&places, empty, &err), -ENOENT);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(frames_of_functions)
{
	const struct fixture *f = *state;

	check_frame(f, go_plain, 8, false);
	check_frame(f, go_plain + 1, 16, true);
	check_frame(f, go_plain + 8, 48, true);
	check_frame(f, go_plain + 13, 8, false);
	check_frame(f, go_bare, 8, false);
	check_frame(f, go_bare + 1, 16, false);
	assert_int_equal(rule_at(f, go_text_end).cfa_kind, UNWIND_CFA_NONE);
}

CASE(systemstack_is_left_by_frame_pointer)
{
	const struct fixture *f = *state;
	struct unwind_rule rule = rule_at(f, go_systemstack_left);

	check_frame(f, go_systemstack_leave, 16, true);
	assert_int_equal(rule.cfa_kind, UNWIND_CFA_OTHER_STACK);
	assert_int_equal(rule.cfa_offset, 16);
	assert_int_equal(rule.fp_offset, -2);
	assert_int_equal(rule_at(f, go_systemstack_return).cfa_kind, UNWIND_CFA_OTHER_STACK);
	check_frame(f, go_systemstack_back, 16, true);
}

/* Its places come from the code of systemstack: none of them is that of any Go. */
CASE(morestack_leads_to_the_goroutine)
{
	const struct fixture *f = *state;
	struct unwind_rule rule = rule_at(f, go_morestack_left);

	check_frame(f, go_morestack, 8, false);
	assert_int_equal(rule.cfa_kind, UNWIND_CFA_GOROUTINE);
	assert_int_equal(rule.cfa_offset, 0);
	assert_int_equal(UNWIND_RA_KIND(rule.kinds), UNWIND_SAME);
	assert_int_equal(rule.cfa_deref, -3);
	assert_int_equal((uint16_t)rule.base_offset, GO_PACK(8, 9, 22));
}

CASE(asmcgocall_keeps_the_depth)
{
	const struct fixture *f = *state;
	struct unwind_rule rule = rule_at(f, go_asmcgocall_left);

	assert_int_equal(rule.cfa_kind, UNWIND_CFA_GOROUTINE);
	assert_int_equal(rule.cfa_offset, 16);
	rule = rule_at(f, go_asmcgocall_stored);
	assert_int_equal(rule.cfa_kind, UNWIND_CFA_GO_DEPTH);
	assert_int_equal(rule.base_offset, 1);
	assert_int_equal(rule.cfa_deref, 0);
	assert_int_equal(rule.cfa_offset, 16);
	check_frame(f, go_asmcgocall_back, 16, true);
}

CASE(others_are_left_by_frame_pointer)
{
	const struct fixture *f = *state;

	assert_int_equal(rule_at(f, go_vdso_left).cfa_kind, UNWIND_CFA_OTHER_STACK);
	check_frame(f, go_vdso_back, 16, true);
	assert_int_equal(rule_at(f, go_aligned_left).cfa_kind, UNWIND_CFA_OTHER_STACK);
	check_frame(f, go_aligned_back, 32, true);
}

CASE(stacks_end)
{
	const struct fixture *f = *state;

	check_frame(f, go_mcall, 8, false);
	assert_int_equal(rule_at(f, go_mcall_left).cfa_kind, UNWIND_CFA_END);
	assert_int_equal(rule_at(f, go_goexit).cfa_kind, UNWIND_CFA_END);
}

CASE(signals_interrupt)
{
	const struct fixture *f = *state;
	struct unwind_rule rule = rule_at(f, go_padding);

	assert_int_equal(rule.cfa_kind, UNWIND_CFA_DEREF);
	assert_true(rule.flags & UNWIND_SIGNAL_FRAME);
	assert_int_equal(rule_at(f, go_sigreturn).cfa_kind, UNWIND_CFA_DEREF);
	assert_true(rule_at(f, go_sigpanic).flags & UNWIND_SIGNAL_FRAME);
}
#endif

/* A table whose parts and offsets lie anywhere: nothing outside of its bytes is read. */
TEST(damaged_tables)
{
	static const uint8_t magic[] = {0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8};
	uint8_t data[256];
	struct pclntab table;

	for (unsigned int at = 8; at < PCLNTAB_HEADER_SIZE; at += 8) {
		for (unsigned int shift = 0; shift < 64; shift += 3) {
			uint64_t value = (uint64_t)5 << shift;
			struct pclntab_function function;
			struct pclntab_values values;

			memset(data, 16, sizeof(data));
			memcpy(data, magic, sizeof(magic));
			for (unsigned int i = 8; i < PCLNTAB_HEADER_SIZE; i += 8)
				memcpy(data + i, &(uint64_t){i == 8 ? 3 : 80}, 8);
			memcpy(data + at, &value, sizeof(value));
			if (!pclntab_init(&table, data, sizeof(data)))
				continue;
			assert_true(table.count < sizeof(data) / 8);
			for (uint32_t i = 0; i <= table.count; i++)
				pclntab_function(&table, i, &function);
			pclntab_values_init(&values, &table, (uint32_t)value);
			while (pclntab_values_next(&values))
				;
		}
	}
	assert_false(pclntab_init(&table, data, PCLNTAB_HEADER_SIZE - 1));
}

/* Relocations of a position-independent program, behind some that look like the first of them. */
static uint64_t data_behind(size_t decoys)
{
	static const uint64_t table = 0x7000, text = 0x1000, module = 0x9000, data = 0x5000;
	_cleanup_close_ int fd = memfd_create("relocations", MFD_CLOEXEC);
	const Elf64_Rela real[] = {{.r_offset = module, .r_addend = table},
				   {.r_offset = module + 176, .r_addend = text},
				   {.r_offset = module + 320, .r_addend = data}};
	struct cfi_file file = {.fd = fd};
	struct go_file go = {
		.file = &file, .table.has_start_line = true, .vaddr = table, .text = text};
	uint64_t found;

	for (size_t i = 0; i < decoys; i++)
		assert_int_equal(write(fd, &(Elf64_Rela){.r_offset = i * 8, .r_addend = table}, 24),
				 24);
	assert_int_equal(write(fd, real, sizeof(real)), sizeof(real));
	file.size = file.relocations.size = decoys * 24 + sizeof(real);
	found = go_file_data(&go);
	go_file_release(&go);
	return found;
}

/* Each candidate costs a search: a forged file has as many as it likes. */
TEST(candidates_are_few)
{
	assert_int_equal(data_behind(0), 0x5000);
	assert_int_equal(data_behind(7), 0x5000);
	assert_int_equal(data_behind(1000), 0);
}
