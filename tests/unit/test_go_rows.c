/* SPDX-License-Identifier: MIT */
/*
 * Rows for Go's functions. This program has a table of functions as Go's linker writes it, and code
 * with the shapes of Go's runtime on which rows depend. None of that code runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/binary/pclntab.h"
#include "lib/unwind/unwind_table.h"
#include "tests/unit/own_program.h"
#include "tests/walk_find_rule.h"

/*
 * Parts of the table are subsections: 0 header, 1 names, 2 values, 3 functions, 4 records. A
 * function's sizes are pairs of a difference (times two, plus one if negative, minus one) and the
 * bytes of code after which it ends to hold.
 */
#define FUNCTION(name, label, end, flags, sizes) \
	".pushsection .gopclntab, \"aw\"\n" \
	".subsection 1\n" label "_name: .asciz \"" name "\"\n" \
	".subsection 2\n" label "_sizes: " sizes "\n.byte 0\n" \
	".subsection 3\n" \
	".long " label " - go_text, " label "_record - go_functions\n" \
	".subsection 4\n" \
	".balign 4\n" label "_record: .long " label " - go_text, " label \
	"_name - go_names, 0, 0\n" \
	".long " label "_sizes - go_values, 0, 0, 0, 0, 0\n" \
	".byte 0, " flags ", 0, 0\n" \
	".popsection\n"
#define SIZE(change, from, to) ".uleb128 " change ", " to " - " from "\n"
/* From -1 on: 0 is a change of 1, 8 of 9. */
#define FIRST_0 "2"
#define MORE_8 "16"
#define LESS_8 "15"
#define MORE_32 "64"
#define LESS_32 "63"

#if defined(__x86_64__)
__asm__(".pushsection .go.buildinfo, \"a\"\n.quad 0\n.popsection\n"
	".pushsection .gopclntab, \"aw\"\n"
	".balign 32\n"
	"go_table: .long 0xfffffff1\n.byte 0, 0, 1, 8\n"
	".quad (go_functions_end - go_functions) / 8, 0, go_text, go_names - go_table, 0, 0\n"
	".quad go_values - go_table, go_functions - go_table\n"
	".subsection 1\ngo_names: .byte 0\n"
	".subsection 2\ngo_values: .byte 0\n"
	".subsection 3\ngo_functions:\n"
	".popsection\n"
	".pushsection .text.go_rows, \"ax\"\n"
	".globl go_text\n"
	"go_text:\n"
	/* An ordinary function. */
	"go_plain: push %rbp\n"
	"0: mov %rsp, %rbp\n"
	"sub $32, %rsp\n"
	"1: add $32, %rsp\n"
	"2: pop %rbp\n"
	"3: ret\n"
	"go_plain_end:\n" FUNCTION("main.plain", "go_plain", "go_plain_end", "0",
				   SIZE(FIRST_0, "go_plain", "0b") SIZE(MORE_8, "0b", "1b")
					   SIZE(MORE_32, "1b", "2b") SIZE(LESS_32, "2b", "3b")
						   SIZE(LESS_8, "3b", "go_plain_end"))
	/* Assembler without a frame pointer. */
	"go_bare: push %rax\n"
	"0: pop %rax\n"
	"1: ret\n"
	"go_bare_end:\n" FUNCTION("main.bare", "go_bare", "go_bare_end", "4",
				  SIZE(FIRST_0, "go_bare", "0b") SIZE(MORE_8, "0b", "1b")
					  SIZE(LESS_8, "1b", "go_bare_end"))
	/* Goes to the system stack and comes back. */
	"go_systemstack: push %rbp\n"
	"0: mov %rsp, %rbp\n"
	"mov %fs:-24, %rax\n"
	"mov 64(%rax), %rbx\n"
	"cmp %rax, 176(%rbx)\n"
	"go_systemstack_leave: mov 72(%rdx), %rsp\n"
	"go_systemstack_left: call *%rdi\n"
	"mov %fs:-24, %rax\n"
	"mov 64(%rax), %rbx\n"
	"mov 176(%rbx), %rax\n"
	"mov %rax, %fs:-24\n"
	"go_systemstack_return: mov 72(%rax), %rsp\n"
	"go_systemstack_back: pop %rbp\n"
	"1: ret\n"
	"go_systemstack_end:\n" FUNCTION("runtime.systemstack", "go_systemstack",
					 "go_systemstack_end", "6",
					 SIZE(FIRST_0, "go_systemstack", "0b")
						 SIZE(MORE_8, "0b", "1b")
							 SIZE(LESS_8, "1b", "go_systemstack_end"))
	/* Grows the goroutine's stack, from the system stack. */
	"go_morestack: mov (%rsp), %rax\n"
	"mov 72(%rbx), %rsp\n"
	"go_morestack_left: call go_plain\n"
	"ret\n"
	"go_morestack_end:\n" FUNCTION("runtime.morestack", "go_morestack", "go_morestack_end", "6",
				       SIZE(FIRST_0, "go_morestack", "go_morestack_end"))
	/* Calls C, on the system stack. */
	"go_asmcgocall: push %rbp\n"
	"0: mov %rsp, %rbp\n"
	"mov %rsp, %rdx\n"
	"mov 72(%rsi), %rsp\n"
	"go_asmcgocall_left: sub $16, %rsp\n"
	"and $-16, %rsp\n"
	"mov %rdi, 8(%rsp)\n"
	"mov %rdi, (%rsp)\n"
	"go_asmcgocall_stored: call *%rax\n"
	"mov %rsi, %rsp\n"
	"go_asmcgocall_back: pop %rbp\n"
	"1: ret\n"
	"go_asmcgocall_end:\n" FUNCTION("runtime.asmcgocall", "go_asmcgocall", "go_asmcgocall_end",
					"6",
					SIZE(FIRST_0, "go_asmcgocall", "0b")
						SIZE(MORE_8, "0b", "1b")
							SIZE(LESS_8, "1b", "go_asmcgocall_end"))
	/* Writes sp in a way of its own. */
	"go_vdso: push %rbp\n"
	"0: mov %rsp, %rbp\n"
	"mov %rsp, %r12\n"
	"and $-16, %rsp\n"
	"go_vdso_left: call *%rax\n"
	"mov %r12, %rsp\n"
	"go_vdso_back: pop %rbp\n"
	"1: ret\n"
	"go_vdso_end:\n" FUNCTION("runtime.nanotime1", "go_vdso", "go_vdso_end", "6",
				  SIZE(FIRST_0, "go_vdso", "0b") SIZE(MORE_8, "0b", "1b")
					  SIZE(LESS_8, "1b", "go_vdso_end"))
	/* Gives the goroutine up. */
	"go_mcall: mov 72(%rsi), %rsp\n"
	"go_mcall_left: call *%rdi\n"
	"go_mcall_end:\n" FUNCTION(
		"runtime.mcall", "go_mcall", "go_mcall_end", "6",
		SIZE(FIRST_0, "go_mcall",
		     "go_mcall_end")) "go_goexit: nop\n"
				      "nop\n"
				      "go_goexit_end:\n" FUNCTION(
					      "runtime.goexit", "go_goexit", "go_goexit_end", "5",
					      SIZE(FIRST_0, "go_goexit",
						   "go_goexit_end")) "go_padding: int3\n" /* as the
											     linker
											     has it
											   */
								     "go_sigreturn: mov $15, %eax\n"
								     "syscall\n"
								     "go_sigreturn_end:\n" FUNCTION(
									     "runtime.sigreturn__sigaction",
									     "go_sigreturn",
									     "go_sigreturn_end",
									     "4",
									     SIZE(FIRST_0,
										  "go_sigreturn",
										  "go_sigreturn_end")) "go_sigpanic: nop\n"
												       "go_sigpanic_end:\n" FUNCTION(
													       "runtime.sigpanic",
													       "go_sigpanic",
													       "go_sigpanic_end",
													       "0",
													       SIZE(FIRST_0,
														    "go_sigpanic",
														    "go_sigpanic_end")) "go_text_end: nop\n"
																	".popsection\n"
																	".pushsection .gopclntab, \"aw\"\n"
																	".subsection 3\n"
																	"go_functions_end: .long go_text_end - go_text\n"
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

static void frames_of_functions(void **state)
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

static void systemstack_is_left_by_frame_pointer(void **state)
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
static void morestack_leads_to_the_goroutine(void **state)
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

static void asmcgocall_keeps_the_depth(void **state)
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

static void others_are_left_by_frame_pointer(void **state)
{
	const struct fixture *f = *state;

	assert_int_equal(rule_at(f, go_vdso_left).cfa_kind, UNWIND_CFA_OTHER_STACK);
	check_frame(f, go_vdso_back, 16, true);
}

static void stacks_end(void **state)
{
	const struct fixture *f = *state;

	check_frame(f, go_mcall, 8, false);
	assert_int_equal(rule_at(f, go_mcall_left).cfa_kind, UNWIND_CFA_END);
	assert_int_equal(rule_at(f, go_goexit).cfa_kind, UNWIND_CFA_END);
}

static void signals_interrupt(void **state)
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
static void damaged_tables(void **state)
{
	static const uint8_t magic[] = {0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8};
	uint8_t data[256];
	struct pclntab table;

	(void)state;
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

int main(void)
{
	static const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		cmocka_unit_test_setup_teardown(frames_of_functions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(systemstack_is_left_by_frame_pointer, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(morestack_leads_to_the_goroutine, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(asmcgocall_keeps_the_depth, set_up, tear_down),
		cmocka_unit_test_setup_teardown(others_are_left_by_frame_pointer, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(stacks_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(signals_interrupt, set_up, tear_down),
#endif
		cmocka_unit_test(damaged_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
