/* SPDX-License-Identifier: MIT */
#include "tests/unit/own_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/binary.h"

/* The linker's name for the first byte of the first segment. */
extern const char __executable_start[];

int own_lines[LINE_COUNT];

#define NOTE_LINE(which) (*(volatile int *)&own_lines[which] = __LINE__)
#define MARK(which, name) \
	do { \
		NOTE_LINE(which); \
		__asm__ volatile(".globl " #name "\n" #name ": nop"); \
	} while (0)
#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE int inner(int n)
{
	MARK(LINE_INNER, own_mark_inner);
	return n * 3;
}

ALWAYS_INLINE int middle(int n)
{
	MARK(LINE_MIDDLE, own_mark_middle);
	return (NOTE_LINE(LINE_MIDDLE_CALL), inner(n + 1));
}

__attribute__((noinline, noclone)) int own_outer(int n)
{
	MARK(LINE_OUTER, own_mark_outer);
	return (NOTE_LINE(LINE_OUTER_CALL), middle(n + 1));
}

__attribute__((noinline, noclone)) int __own_best_name(int n)
{
	return n + own_lines[LINE_INNER];
}
int own_best_name(int n) __attribute__((alias("__own_best_name")));

int own_fd(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

struct module own_module(void)
{
	struct module module = {.kind = PROFILE_MODULE_FILE, .file_key = UINT32_MAX};
	_cleanup_close_ int fd = own_fd();
	struct binary_summary summary;

	assert_int_equal(binary_summarize(fd, &summary, NULL), 0);
	assert_true(summary.build_id_size > 0);
	module.machine = summary.machine;
	module.build_id_size = summary.build_id_size;
	memcpy(module.build_id, summary.build_id, summary.build_id_size);
	for (size_t i = 0; i < summary.segment_count; i++)
		vec_push(&module.segments, (struct module_segment){
						   .file_offset = summary.segments[i].file_offset,
						   .file_size = summary.segments[i].file_size,
						   .vaddr = summary.segments[i].vaddr,
						   .executable = summary.segments[i].executable,
					   });
	binary_summary_release(&summary);
	return module;
}

uint64_t own_rva(const void *addr)
{
	return (uint64_t)((const char *)addr - __executable_start);
}

uint64_t own_file_offset(const void *addr)
{
	struct module module = own_module();
	uint64_t vaddr = own_rva(addr) + module.segments.items[0].vaddr, offset = 0;

	vec_for_each(&module.segments, const struct module_segment *, it) {
		if (vaddr >= it->vaddr && vaddr - it->vaddr < it->file_size)
			offset = vaddr - it->vaddr + it->file_offset;
	}
	vec_release(&module.segments);
	assert_true(offset > 0);
	return offset;
}

struct answer ask_one(const struct symbolizer_ops *ops, const struct symbolizer_input *input,
		      uint64_t rva, struct symbolizer **s)
{
	struct answer answer = {0};

	assert_int_equal(ops->open(s, input, NULL), 0);
	ops->lookup(*s, &rva, 1, &answer);
	return answer;
}
