/* SPDX-License-Identifier: MIT */

#include <stdlib.h>
#include <string.h>

#include "lib/model/meaning/categories.h"
#include "tests/unit/test.h"

static struct profile *p;

static int setup(void **state)
{
	p = profile_new();
	return 0;
}

static int teardown(void **state)
{
	profile_free(p);
	return 0;
}

static module_id add_module(enum profile_module_kind kind, const char *path)
{
	const char *slash = strrchr(path, '/');

	return modules_add(&p->modules, kind, strings_intern(&p->strings, path),
			   strings_intern(&p->strings, slash ? slash + 1 : path));
}

/* Adds a frame of a function with that name; NULL: without a function. */
static frame_id add_frame(module_id module, const char *func, uint8_t kind, bool is_named)
{
	struct frame frame = {
		.module = module,
		.func = NO_FUNC,
		.offset = p->frames.rows.count,
		.symbol = NO_SYMBOL,
		.kind = kind,
	};

	if (func)
		frame.func = funcs_intern(&p->funcs,
					  &(struct func){
						  .name = strings_intern(&p->strings, func),
						  .module = module,
						  .file = NO_SOURCE_FILE,
						  .is_named = is_named,
					  });
	return frames_intern(&p->frames, &frame);
}

static void check(frame_id id, const char *category, const char *subcategory)
{
	struct frame_category *all = categories_of_frames(p), found = all[id];

	free(all);
	if (!category) {
		assert_int_equal(found.category, CATEGORY_OF_CALLER);
		assert_int_equal(found.subcategory, 0);
		return;
	}
	assert_in_range(found.category, 0, CATEGORY_COUNT - 1);
	assert_string_equal(categories[found.category]->name, category);
	assert_string_equal(categories[found.category]->subcategories[found.subcategory],
			    subcategory);
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(names_are_those_users_rely_on)
{
	static const char *const names[] = {"Other",  "User", "Kernel", "Idle",	 "JavaScript",
					    "Python", "Java", "Ruby",	".NET",	 "PHP",
					    "Perl",   "R",    "Lua",	"Erlang"};

	for (size_t i = 0; i < CATEGORY_COUNT; i++) {
		assert_string_equal(categories[i]->name, names[i]);
		assert_string_equal(categories[i]->subcategories[0], "Other");
	}
	assert_null(categories[CATEGORY_USER]->subcategories[USER_SUBCATEGORY_COUNT]);
	assert_null(categories[CATEGORY_KERNEL]->subcategories[KERNEL_SUBCATEGORY_COUNT]);
	assert_null(categories[CATEGORY_IDLE]->subcategories[IDLE_SUBCATEGORY_COUNT]);
	for (size_t i = 0; i < IDLE_SUBCATEGORY_COUNT; i++)
		assert_non_null(categories[CATEGORY_IDLE]->subcategories[i]);
	for (size_t i = 0; i < USER_SUBCATEGORY_COUNT; i++)
		assert_non_null(categories[CATEGORY_USER]->subcategories[i]);
	for (size_t i = 0; i < KERNEL_SUBCATEGORY_COUNT; i++)
		assert_non_null(categories[CATEGORY_KERNEL]->subcategories[i]);
}

CASE(user_code_by_its_file)
{
	static const struct {
		const char *path, *subcategory;
	} files[] = {
		{"/bin/sh", "Program"},
		{"/opt/libreoffice/soffice.bin", "Program"},
		{"/usr/bin/python3.11", "Program"},
		{"/lib/x86_64-linux-gnu/libc.so.6", "C library"},
		{"/lib/libc-2.31.so", "C library"},
		{"/lib/ld-musl-x86_64.so.1", "C library"},
		{"/lib64/ld-linux-x86-64.so.2", "C library"},
		{"/lib/libm.so.6", "C library"},
		{"/lib/libmagic.so.1", "Libraries"},
		{"/lib/libcrypt.so.1", "Libraries"},
		{"/usr/lib/libz.so", "Libraries"},
		{"/usr/lib/python3/_json.cpython-311-x86_64-linux-gnu.so", "Libraries"},
		{"/memfd:jit", "JIT"},
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		module_id module = add_module(PROFILE_MODULE_FILE, files[i].path);

		check(add_frame(module, "f", PROFILE_FRAME_NATIVE, true), "User",
		      files[i].subcategory);
	}
	check(add_frame(add_module(PROFILE_MODULE_VDSO, "[vdso]"), "f", PROFILE_FRAME_NATIVE, true),
	      "User", "C library");
	check(add_frame(add_module(PROFILE_MODULE_ANON, "[anon]"), NULL, PROFILE_FRAME_NATIVE,
			false),
	      "User", "JIT");
}

CASE(guesses_and_code_without_a_name)
{
	module_id module = add_module(PROFILE_MODULE_FILE, "/bin/sh");

	check(add_frame(module, "f", PROFILE_FRAME_GUESS, true), "User", "Guess");
	check(add_frame(module, "f", PROFILE_FRAME_SIGNAL, true), "User", "Program");
	check(add_frame(module, "fun_12", PROFILE_FRAME_NATIVE, false), "User", "Unnamed");
	check(add_frame(module, NULL, PROFILE_FRAME_NATIVE, false), "User", "Program");
	check(add_frame(NO_MODULE, "0x12", PROFILE_FRAME_NATIVE, false), "User", "Unnamed");
	check(add_frame(NO_MODULE, NULL, PROFILE_FRAME_NATIVE, false), "User", "Other");
	check(add_frame(NO_MODULE, "f", PROFILE_FRAME_NATIVE, true), "User", "Other");
}

CASE(languages_have_their_own)
{
	struct frame frame = {.module = NO_MODULE, .func = NO_FUNC, .symbol = NO_SYMBOL};

	for (uint8_t i = LANGUAGE_JAVASCRIPT; i < LANGUAGE_COUNT; i++) {
		static const char *const names[] = {NULL,   "JavaScript", "Python", "Java",
						    "Ruby", ".NET",	  "PHP",    "Perl",
						    "R",    "Lua",	  "Erlang"};

		frame.language = i;
		check(frames_intern(&p->frames, &frame), names[i], "Other");
	}
	frame.language = LANGUAGE_JAVASCRIPT;
	for (uint8_t i = 0; categories[CATEGORY_JAVASCRIPT]->subcategories[i]; i++) {
		frame.tier = i;
		check(frames_intern(&p->frames, &frame), "JavaScript",
		      languages[LANGUAGE_JAVASCRIPT]->category.subcategories[i]);
	}
}

CASE(kernel_helpers_have_that_of_their_caller)
{
	module_id program = add_module(PROFILE_MODULE_FILE, "/bin/sh");
	module_id kernel = add_module(PROFILE_MODULE_KERNEL, "[kernel.kallsyms]");
	module_id driver = add_module(PROFILE_MODULE_KERNEL_MODULE, "[ext4]");
	frame_id user = add_frame(program, "main", PROFILE_FRAME_NATIVE, true);
	frame_id entry = add_frame(kernel, "do_syscall_64", PROFILE_FRAME_KERNEL, true);
	frame_id copy = add_frame(kernel, "memcpy", PROFILE_FRAME_KERNEL, true);
	frame_id nameless = add_frame(kernel, NULL, PROFILE_FRAME_KERNEL, false);
	frame_id own = add_frame(driver, "helper", PROFILE_FRAME_KERNEL, true);
	stack_id stack = stacks_intern(&p->stacks, NO_STACK, user);

	stack = stacks_intern(&p->stacks, stack, entry);
	stack = stacks_intern(&p->stacks, stack, copy);
	stack = stacks_intern(&p->stacks, stack, nameless);
	stack = stacks_intern(&p->stacks, stack, own);
	check(entry, "Kernel", "System call");
	check(copy, NULL, NULL);
	check(nameless, NULL, NULL);
	check(own, "Kernel", "Files");
	/*
	 * One stack without a kernel caller suffices: the frame no longer has its caller's
	 * category.
	 */
	stacks_intern(&p->stacks, NO_STACK, nameless);
	stacks_intern(&p->stacks, 0, copy);
	check(nameless, "Kernel", "Other");
	check(copy, "Kernel", "Other");
}

CASE(areas_of_the_kernel)
{
	static const struct {
		const char *name, *file;
		int subsystem;
	} functions[] = {
		{"entry_SYSCALL_64_after_hwframe", NULL, KERNEL_SYSCALL},
		{"__x64_sys_read", "/src/fs/read_write.c", KERNEL_SYSCALL},
		{"__arm64_sys_read", NULL, KERNEL_SYSCALL},
		{"el0_svc_common.constprop.0", NULL, KERNEL_SYSCALL},
		{"el0t_64_sync", NULL, KERNEL_SUBSYSTEM_ANY},
		{"el0_da", NULL, KERNEL_FAULT},
		{"asm_exc_page_fault", NULL, KERNEL_FAULT},
		{"asm_exc_nmi", NULL, KERNEL_INTERRUPT},
		{"asm_sysvec_apic_timer_interrupt", NULL, KERNEL_INTERRUPT},
		{"__schedule", NULL, KERNEL_SCHEDULER},
		{"schedule_timeout", NULL, KERNEL_SCHEDULER},
		{"io_schedule", NULL, KERNEL_SCHEDULER},
		{"io_read", NULL, KERNEL_FILES},
		{"kfree", NULL, KERNEL_MEMORY},
		{"kfree_skb_reason", NULL, KERNEL_NETWORK},
		{"clear_page_erms", NULL, KERNEL_MEMORY},
		{"vfs_read", NULL, KERNEL_FILES},
		{"tcp_sendmsg_locked.isra.0", NULL, KERNEL_NETWORK},
		{"bpf_prog_6deef7357e7b4530_sd", NULL, KERNEL_BPF},
		{"_raw_spin_lock", NULL, KERNEL_SUBSYSTEM_ANY},
		{"memcpy", NULL, KERNEL_SUBSYSTEM_ANY},
		{"", NULL, KERNEL_SUBSYSTEM_ANY},
		{"___", NULL, KERNEL_SUBSYSTEM_ANY},
		{"\xff", NULL, KERNEL_SUBSYSTEM_ANY},
		{"anything", "/home/x/linux-6.1/mm/memory.c", KERNEL_MEMORY},
		{"anything", "/net/build/linux/kernel/sched/fair.c", KERNEL_SCHEDULER},
		{"anything", "/net/linux/include/linux/slab.h", KERNEL_SUBSYSTEM_ANY},
		{"vfs_like", "/linux/lib/string.c", KERNEL_SUBSYSTEM_ANY},
		{"anything", "/linux/drivers/net/veth.c", KERNEL_NETWORK},
	};
	struct kernel_subsystems *subsystems = kernel_subsystems_new();
	char longest[1000];

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		assert_int_equal(kernel_subsystems_of_function(subsystems, functions[i].name,
							       functions[i].file),
				 functions[i].subsystem);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(kernel_subsystems_of_function(subsystems, longest, NULL),
			 KERNEL_SUBSYSTEM_ANY);
	assert_int_equal(kernel_subsystems_of_module(subsystems, longest), KERNEL_SUBSYSTEM_ANY);
	assert_int_equal(kernel_subsystems_of_module(subsystems, "[xfs]"), KERNEL_FILES);
	assert_int_equal(kernel_subsystems_of_module(subsystems, "[nf_tables]"), KERNEL_NETWORK);
	assert_int_equal(kernel_subsystems_of_module(subsystems, "[dummy]"), KERNEL_SUBSYSTEM_ANY);
	kernel_subsystems_free(subsystems);
}
