/* SPDX-License-Identifier: MIT */

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/answers.h"
#include "symbolize/symbolize_profile.h"
#include "tests/unit/own_program.h"
#include "tests/unit/test.h"

enum { FILE_OWN = 5, FILE_KALLSYMS = 9 };

struct fixture {
	struct profile *p;
	struct symbolize_options options;
	struct profile_thread *thread;
	size_t progress_calls, stop_after;
};

static string_id intern(struct fixture *f, const char *text)
{
	return strings_intern(&f->p->strings, text);
}

static enum workers_wish progress(void *ctx, size_t done, size_t count)
{
	struct fixture *f = ctx;

	assert_true(done <= count);
	return ++f->progress_calls > f->stop_after ? WORKERS_HURRY : WORKERS_GO_ON;
}

static void fixture_init(struct fixture *f)
{
	const struct profile_thread thread = {.pid = 1, .tid = 1, .is_main = true};

	*f = (struct fixture){.p = profile_new(), .stop_after = SIZE_MAX};
	f->options = (struct symbolize_options){
		.files = file_set_new(16), .progress = progress, .ctx = f, .threads = 1};
	f->thread = threads_get(&f->p->threads, threads_add(&f->p->threads, &thread));
}

static void fixture_release(struct fixture *f)
{
	profile_free(f->p);
	file_set_free(f->options.files);
}

static module_id add_own_module(struct fixture *f)
{
	module_id id = modules_add(&f->p->modules, PROFILE_MODULE_FILE, intern(f, "/bin/own"),
				   intern(f, "own"));
	struct module own = own_module();

	own.path = modules_get(&f->p->modules, id)->path;
	own.name = modules_get(&f->p->modules, id)->name;
	own.file_key = FILE_OWN;
	*modules_get(&f->p->modules, id) = own;
	file_set_add(f->options.files, FILE_OWN, own_fd());
	return id;
}

static module_id add_kernel(struct fixture *f, const char *kallsyms)
{
	module_id id = modules_add(&f->p->modules, PROFILE_MODULE_KERNEL,
				   intern(f, "[kernel.kallsyms]"), intern(f, "[kernel]"));
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);

	assert_int_equal(write(fd, kallsyms, strlen(kallsyms)), strlen(kallsyms));
	modules_get(&f->p->modules, id)->file_key = FILE_KALLSYMS;
	modules_get(&f->p->modules, id)->base = 0xffffffff81000000;
	file_set_add(f->options.files, FILE_KALLSYMS, fd);
	return id;
}

/* A sample of one frame. */
static void add_sample(struct fixture *f, module_id module, uint64_t offset, uint8_t kind)
{
	const struct frame frame = {.module = module,
				    .func = NO_FUNC,
				    .offset = offset,
				    .symbol = NO_SYMBOL,
				    .kind = kind};
	frame_id id = frames_intern(&f->p->frames, &frame);
	stack_id stack = stacks_intern(&f->p->stacks, NO_STACK, id);

	vec_push(&f->thread->samples.open, (struct sample){.stack = stack, .weight = 1});
}

struct level {
	const struct frame *frame;
	const struct func *func;
	const char *name, *file;
};

/* Level 0 is the innermost frame, as in a stack trace. */
static struct level level_of(struct fixture *f, size_t sample, size_t level)
{
	const struct profile *p = f->p;
	stack_id id = f->thread->samples.open.items[sample].stack;
	struct level found = {0};

	for (size_t i = 0; i < level; i++)
		id = p->stacks.rows.items[id].parent;
	assert_int_not_equal(id, NO_STACK);
	found.frame = frames_get(&p->frames, p->stacks.rows.items[id].frame);
	found.func = &p->funcs.rows.items[found.frame->func];
	found.name = strings_get(&p->strings, found.func->name);
	if (found.func->file != NO_SOURCE_FILE)
		found.file = strings_get(&p->strings,
					 p->source_files.rows.items[found.func->file].path);
	return found;
}

static size_t depth_of(struct fixture *f, size_t sample)
{
	stack_id id = f->thread->samples.open.items[sample].stack;
	size_t depth = 0;

	for (; id != NO_STACK; id = f->p->stacks.rows.items[id].parent)
		depth++;
	return depth;
}

static void check_level(struct fixture *f, size_t sample, size_t level, const char *name, int line)
{
	struct level l = level_of(f, sample, level);

	assert_string_equal(l.name, name);
	assert_int_equal(l.frame->line, line);
	assert_true(l.func->is_named);
	assert_non_null(l.file);
	assert_true(text_ends_with(l.file, OWN_FILE));
}

TEST(own_frames_become_chains)
{
	const struct symbol *symbol;
	struct fixture f;
	module_id own;

	own_outer(1);
	fixture_init(&f);
	own = add_own_module(&f);
	add_sample(&f, own, own_file_offset(own_mark_inner), PROFILE_FRAME_NATIVE);
	add_sample(&f, own, own_file_offset(own_mark_outer), PROFILE_FRAME_NATIVE);
	/* The same place found in another way is a frame of its own. */
	add_sample(&f, own, own_file_offset(own_mark_outer), PROFILE_FRAME_GUESS);
	symbolize_profile(f.p, &f.options);

	assert_true(f.p->meta.symbolicated);
	assert_int_equal(modules_get(&f.p->modules, own)->reason, SYMBOLS_FOUND);
	assert_true(f.progress_calls > 0);
	assert_int_equal(depth_of(&f, 0), 3);
	check_level(&f, 0, 0, "inner", own_lines[LINE_INNER]);
	check_level(&f, 0, 1, "middle", own_lines[LINE_MIDDLE_CALL]);
	check_level(&f, 0, 2, "own_outer", own_lines[LINE_OUTER_CALL]);
	assert_int_equal(depth_of(&f, 1), 1);
	check_level(&f, 1, 0, "own_outer", own_lines[LINE_OUTER]);
	check_level(&f, 2, 0, "own_outer", own_lines[LINE_OUTER]);
	assert_int_equal(level_of(&f, 2, 0).frame->kind, PROFILE_FRAME_GUESS);
	/* One function for all its frames, one symbol under all of their levels. */
	assert_int_equal(level_of(&f, 0, 2).frame->func, level_of(&f, 1, 0).frame->func);
	assert_int_equal(f.p->symbols.rows.count, 1);
	assert_int_equal(level_of(&f, 0, 0).frame->symbol, 0);
	symbol = &f.p->symbols.rows.items[0];
	assert_string_equal(strings_get(&f.p->strings, symbol->name), "own_outer");
	assert_int_equal(symbol->rva, own_rva((const void *)(uintptr_t)own_outer));
	fixture_release(&f);
}

/* Returns how many levels remain of three functions, each inlined into the one before. */
static size_t levels_of(const char *outer, const char *middle, const char *inner)
{
	struct location chain[] = {{.func = outer, .file = "cmod.c", .line = 10},
				   {.func = middle, .file = "cmod.c", .line = 20},
				   {.func = inner, .file = "cmod.c", .line = 30}};
	const struct answer answer = {.func = outer, .chain = chain, .depth = 3};
	struct answers answers = {0};
	size_t count;

	answers_add(&answers, &answer, 0, 1);
	count = answers.levels.count;
	assert_int_equal(answers.rows.items[0].depth, count);
	assert_int_equal(vec_last(&answers.levels).line, 30);
	if (count == 2)
		assert_int_equal(answers.levels.items[0].line, 20);
	answers_release(&answers);
	return count;
}

TEST(halves_of_a_function_of_cython_become_one)
{
	assert_int_equal(levels_of("__pyx_pw_4cmod_1spin", "__pyx_pf_4cmod_spin", "add"), 2);
	/* Functions that call each other or themselves */
	assert_int_equal(levels_of("__pyx_pw_4cmod_1spin", "__pyx_pf_4cmod_2turn", "add"), 3);
	assert_int_equal(levels_of("__pyx_f_4cmod_spin", "__pyx_f_4cmod_spin", "add"), 3);
	assert_int_equal(levels_of("_Z3foov", "_Z3foov", "add"), 3);
}

/* Code behind start files' frame_dummy, of which DWARF knows more. */
TEST(a_symbol_of_unknown_size_gives_way_to_dwarf)
{
	struct location at = {.func = "fib", .file = "Main.hs", .line = 5};
	struct answer answer = {.func = "frame_dummy", .chain = &at, .depth = 1};
	struct answers answers = {0};

	answer.is_reach_guessed = true;
	answers_add(&answers, &answer, 0, 1);
	answer.is_reach_guessed = false;
	answers_add(&answers, &answer, 1, 1);
	at.func = NULL;
	answer.is_reach_guessed = true;
	answers_add(&answers, &answer, 2, 1);
	at.func = "Fib";
	answer.has_source_name = true;
	answer.is_reach_guessed = false;
	answers_add(&answers, &answer, 3, 1);
	assert_string_equal(answers.funcs.rows.items[answers.levels.items[3].func].text, "Fib");
	assert_true(answers.rows.items[3].has_symbol);
	assert_string_equal(answers.funcs.rows.items[answers.levels.items[0].func].text, "fib");
	assert_false(answers.rows.items[0].has_symbol);
	for (size_t i = 1; i < 3; i++) {
		uint32_t func = answers.levels.items[i].func;

		assert_string_equal(answers.funcs.rows.items[func].text, "frame_dummy");
		assert_true(answers.rows.items[i].has_symbol);
	}
	answers_release(&answers);
}

/* Adds a stack of a place in a file, if there is one, and one in code without a name. */
static void add_call(struct fixture *f, module_id caller, module_id module, uint64_t offset)
{
	stack_id outer = NO_STACK;
	struct frame frame = {
		.module = module, .func = NO_FUNC, .offset = offset, .symbol = NO_SYMBOL};

	if (caller != NO_MODULE) {
		add_sample(f, caller, own_file_offset(own_mark_outer), PROFILE_FRAME_NATIVE);
		outer = vec_last(&f->thread->samples.open).stack;
		f->thread->samples.open.count--;
	}
	vec_push(&f->thread->samples.open,
		 (struct sample){.stack = stacks_intern(&f->p->stacks, outer,
							frames_intern(&f->p->frames, &frame)),
				 .weight = 1});
}

static void check_nameless(struct fixture *f, size_t sample, const char *name, uint64_t offset)
{
	struct level l = level_of(f, sample, 0);

	assert_string_equal(l.name, name);
	assert_false(l.func->is_named);
	assert_int_equal(l.frame->offset, offset);
	assert_int_equal(l.frame->symbol, NO_SYMBOL);
}

TEST(code_without_names_is_one_function)
{
	struct fixture f;
	module_id own, anon, other, memory;

	fixture_init(&f);
	own = add_own_module(&f);
	anon = modules_add(&f.p->modules, PROFILE_MODULE_ANON, intern(&f, "[anon]"),
			   intern(&f, "[anon]"));
	other = modules_add(&f.p->modules, PROFILE_MODULE_ANON, intern(&f, "[anon]"),
			    intern(&f, "[anon]"));
	memory = modules_add(&f.p->modules, PROFILE_MODULE_FILE, intern(&f, "/memfd:jit (deleted)"),
			     intern(&f, "memfd:jit"));
	add_call(&f, own, anon, 0x1000);
	add_call(&f, own, anon, 0x1004);
	add_call(&f, NO_MODULE, anon, 0x2000);
	add_call(&f, NO_MODULE, other, 0x1000);
	add_call(&f, own, memory, 0x40);
	/* In front of all functions of a file whose symbols are known */
	add_call(&f, NO_MODULE, own, 0x10);
	add_call(&f, NO_MODULE, own, 0x20);
	symbolize_profile(f.p, &f.options);
	check_nameless(&f, 0, "code made by own", 0x1000);
	check_nameless(&f, 1, "code made by own", 0x1004);
	check_nameless(&f, 2, "code made by own", 0x2000);
	check_nameless(&f, 3, "code made at run time", 0x1000);
	check_nameless(&f, 4, "code made by own", 0x40);
	check_nameless(&f, 5, "unnamed code of own", 0x10);
	check_nameless(&f, 6, "unnamed code of own", 0x20);
	assert_int_equal(level_of(&f, 0, 0).frame->func, level_of(&f, 2, 0).frame->func);
	assert_int_equal(level_of(&f, 5, 0).frame->func, level_of(&f, 6, 0).frame->func);
	fixture_release(&f);
}

/* Names two profiles with one cache, of which the second one asks for one more address. */
TEST(a_cache_gives_the_same_names)
{
	struct name_cache *cache = name_cache_new((size_t)1 << 20);
	struct location made_up = {.func = "made_up", .file = "made_up.c", .line = 7};
	const struct answer answer = {.func = "symbol", .chain = &made_up, .depth = 1};
	struct symbolizer_input input = {.fd = own_fd()};

	for (int round = 0; round < 3; round++) {
		struct fixture f;
		module_id own;

		fixture_init(&f);
		f.options.cache = cache;
		own = add_own_module(&f);
		add_sample(&f, own, own_file_offset(own_mark_inner), PROFILE_FRAME_NATIVE);
		if (round == 1)
			add_sample(&f, own, own_file_offset(own_mark_outer), PROFILE_FRAME_NATIVE);
		if (round == 2)
			add_sample(&f, own, 0x10, PROFILE_FRAME_NATIVE);
		input.module = modules_get(&f.p->modules, own);
		symbolize_profile(f.p, &f.options);
		assert_int_equal(depth_of(&f, 0), 3);
		check_level(&f, 0, 0, "inner", own_lines[LINE_INNER]);
		check_level(&f, 0, 2, "own_outer", own_lines[LINE_OUTER_CALL]);
		if (round == 1)
			check_level(&f, 1, 0, "own_outer", own_lines[LINE_OUTER]);
		/* It is the cache that is asked. */
		if (round == 2)
			assert_string_equal(level_of(&f, 1, 0).name, "symbol");
		assert_int_equal(modules_get(&f.p->modules, own)->reason, SYMBOLS_FOUND);
		assert_int_equal(f.p->symbols.rows.count, round == 2 ? 2 : 1);
		name_cache_add(cache, name_cache_module(&input), 0x10, &answer);
		fixture_release(&f);
	}
	close(input.fd);
	name_cache_free(cache);
}

TEST(a_cache_forgets_what_nobody_asks_for)
{
	struct name_cache *cache = name_cache_new(2000);
	const struct answer answer = {.func = "a function"};
	struct answer found;

	name_cache_add(cache, 1, 1, &answer);
	for (uint64_t i = 2; i < 100; i++) {
		name_cache_begin(cache);
		assert_true(name_cache_find(cache, 1, 1, &found));
		assert_string_equal(found.func, "a function");
		name_cache_add(cache, 1, i, &answer);
	}
	assert_false(name_cache_find(cache, 1, 2, &found));
	assert_false(name_cache_find(cache, 2, 1, &found));
	assert_true(name_cache_find(cache, 1, 99, &found));
	name_cache_free(cache);
}

TEST(kernel_frames_of_all_kinds)
{
	struct fixture f;
	module_id kernel, module, dynamic;

	fixture_init(&f);
	kernel = add_kernel(&f, "ffffffff81000000 T _text\n"
				"ffffffff81001000 T do_syscall_64\n"
				"ffffffffc0000100 t ext4_read\t[ext4]\n"
				"ffffffffc1000000 t bpf_prog_12_foo\t[bpf]\n"
				"fffffffff0000000 t elsewhere\n");
	module = modules_add(&f.p->modules, PROFILE_MODULE_KERNEL_MODULE, intern(&f, "[ext4]"),
			     intern(&f, "[ext4]"));
	modules_get(&f.p->modules, module)->base = 0xffffffffc0000000;
	dynamic = modules_add(&f.p->modules, PROFILE_MODULE_KERNEL_DYNAMIC, intern(&f, "[dynamic]"),
			      intern(&f, "[dynamic]"));
	add_sample(&f, kernel, 0x1010, PROFILE_FRAME_KERNEL);
	add_sample(&f, module, 0x110, PROFILE_FRAME_KERNEL);
	add_sample(&f, dynamic, 0xffffffffc1000020, PROFILE_FRAME_KERNEL);
	add_sample(&f, NO_MODULE, 0xfffffffff0000010, PROFILE_FRAME_KERNEL);
	add_sample(&f, NO_MODULE, 0x1234, PROFILE_FRAME_NATIVE);
	add_sample(&f, NO_MODULE, 0xffffffffc0000110, PROFILE_FRAME_KERNEL);
	symbolize_profile(f.p, &f.options);

	assert_string_equal(level_of(&f, 0, 0).name, "do_syscall_64");
	assert_string_equal(level_of(&f, 1, 0).name, "ext4_read");
	/* The list says what is loaded now, which is not what was there. */
	assert_string_equal(level_of(&f, 2, 0).name, "0xffffffffc1000020");
	assert_string_equal(level_of(&f, 5, 0).name, "0xffffffffc0000110");
	assert_string_equal(level_of(&f, 3, 0).name, "elsewhere");
	assert_true(level_of(&f, 3, 0).func->is_named);
	/* Symbols are listed with their module. */
	assert_int_equal(level_of(&f, 3, 0).frame->symbol, NO_SYMBOL);
	assert_int_equal(f.p->symbols.rows.count, 2);
	assert_int_equal(f.p->symbols.rows.items[1].rva, 0x100);
	assert_string_equal(level_of(&f, 4, 0).name, "0x1234");
	assert_false(level_of(&f, 4, 0).func->is_named);
	fixture_release(&f);
}

TEST(what_nobody_knows_keeps_its_address)
{
	struct fixture f;
	module_id gone, anon;

	fixture_init(&f);
	gone = modules_add(&f.p->modules, PROFILE_MODULE_FILE, intern(&f, "/gone"),
			   intern(&f, "gone"));
	anon = modules_add(&f.p->modules, PROFILE_MODULE_ANON, intern(&f, "//anon"),
			   intern(&f, "//anon"));
	add_kernel(&f, "0000000000000000 T _text\n");
	add_sample(&f, gone, 0x100, PROFILE_FRAME_NATIVE);
	add_sample(&f, anon, 0x200, PROFILE_FRAME_NATIVE);
	add_sample(&f, 2, 0x300, PROFILE_FRAME_KERNEL);
	symbolize_profile(f.p, &f.options);

	assert_string_equal(level_of(&f, 0, 0).name, "0x100");
	assert_string_equal(level_of(&f, 1, 0).name, "code made at run time");
	assert_int_equal(level_of(&f, 1, 0).frame->offset, 0x200);
	assert_string_equal(level_of(&f, 2, 0).name, "0x300");
	assert_false(level_of(&f, 0, 0).func->is_named);
	assert_int_equal(f.p->symbols.rows.count, 0);
	assert_true(f.p->meta.symbolicated);
	assert_int_equal(modules_get(&f.p->modules, gone)->reason, SYMBOLS_UNREADABLE);
	assert_int_equal(modules_get(&f.p->modules, anon)->reason, SYMBOLS_NO_CODE_MAP);
	assert_int_equal(modules_get(&f.p->modules, 2)->reason, SYMBOLS_KERNEL_HIDDEN);
	fixture_release(&f);
}

TEST(no_files_at_all)
{
	struct fixture f;

	fixture_init(&f);
	add_sample(&f, add_own_module(&f), own_file_offset(own_mark_outer), PROFILE_FRAME_NATIVE);
	file_set_free(f.options.files);
	f.options = (struct symbolize_options){0};
	symbolize_profile(f.p, &f.options);
	assert_int_equal(depth_of(&f, 0), 1);
	profile_free(f.p);
}

TEST(nothing_is_named_after_a_stop)
{
	struct fixture f;
	module_id kernel, own;

	fixture_init(&f);
	kernel = add_kernel(&f, "ffffffff81000000 T first\n");
	own = add_own_module(&f);
	add_sample(&f, kernel, 0x10, PROFILE_FRAME_KERNEL);
	add_sample(&f, own, own_file_offset(own_mark_outer), PROFILE_FRAME_NATIVE);
	f.stop_after = 0;
	symbolize_profile(f.p, &f.options);

	assert_true(f.progress_calls > 0);
	assert_true(text_starts_with(level_of(&f, 1, 0).name, "0x"));
	assert_int_not_equal(level_of(&f, 1, 0).frame->func, NO_FUNC);
	assert_false(f.p->meta.symbolicated);
	assert_int_equal(modules_get(&f.p->modules, own)->reason, SYMBOLS_UNASKED);
	fixture_release(&f);
}

TEST(more_addresses_than_fit_into_one_batch)
{
	struct fixture f;
	module_id own;

	own_outer(1);
	fixture_init(&f);
	own = add_own_module(&f);
	/* Descending, with addresses outside of functions. */
	for (int i = 999; i >= 0; i--)
		add_sample(&f, own, own_file_offset(own_mark_outer) + (uint64_t)i * 8,
			   PROFILE_FRAME_NATIVE);
	symbolize_profile(f.p, &f.options);
	check_level(&f, 999, 0, "own_outer", own_lines[LINE_OUTER]);
	fixture_release(&f);
}

#define ASSERT_SAME_ROWS(x, y) \
	do { \
		assert_int_equal((x).rows.count, (y).rows.count); \
		assert_memory_equal((x).rows.items, (y).rows.items, \
				    (x).rows.count * sizeof(*(x).rows.items)); \
	} while (0)

static void name_in_threads(struct fixture *f, unsigned int threads)
{
	module_id kernel, own;

	fixture_init(f);
	kernel = add_kernel(f, "ffffffff81000000 T first\nffffffff81000100 T second\n");
	own = add_own_module(f);
	add_sample(f, NO_MODULE, 0xffffffff81000110, PROFILE_FRAME_KERNEL);
	for (uint64_t i = 0; i < 40000; i++)
		add_sample(f, own, own_file_offset(own_mark_outer) + i / 2,
			   i % 2 ? PROFILE_FRAME_NATIVE : PROFILE_FRAME_GUESS);
	add_sample(f, kernel, 0x10, PROFILE_FRAME_KERNEL);
	f->options.threads = threads;
	symbolize_profile(f->p, &f->options);
}

/* One module is large enough to be named in parts. */
TEST(the_number_of_threads_changes_nothing)
{
	struct fixture one, many;

	name_in_threads(&one, 1);
	name_in_threads(&many, 5);
	assert_string_equal(level_of(&one, 0, 0).name, "second");
	check_level(&one, 1, 0, "own_outer", own_lines[LINE_OUTER]);
	assert_int_equal(one.p->strings.text.count, many.p->strings.text.count);
	assert_memory_equal(one.p->strings.text.items, many.p->strings.text.items,
			    one.p->strings.text.count);
	ASSERT_SAME_ROWS(one.p->source_files, many.p->source_files);
	ASSERT_SAME_ROWS(one.p->symbols, many.p->symbols);
	ASSERT_SAME_ROWS(one.p->funcs, many.p->funcs);
	ASSERT_SAME_ROWS(one.p->frames, many.p->frames);
	ASSERT_SAME_ROWS(one.p->stacks, many.p->stacks);
	fixture_release(&one);
	fixture_release(&many);
}

/* The file is not even opened. */
TEST(given_kernel_symbols_are_taken_for_the_list)
{
	struct kernel_table *symbols = kernel_table_new();
	struct fixture f;
	module_id kernel;

	fixture_init(&f);
	kernel = add_kernel(&f, "ffffffff81000000 T listed\n");
	kernel_table_add(symbols, 0xffffffff81001000, 0x20, "told", strlen("told"), NULL);
	kernel_table_seal(symbols);
	f.options.kernel_symbols = symbols;
	add_sample(&f, kernel, 0x1010, PROFILE_FRAME_KERNEL);
	add_sample(&f, kernel, 0x10, PROFILE_FRAME_KERNEL);
	symbolize_profile(f.p, &f.options);
	assert_string_equal(level_of(&f, 0, 0).name, "told");
	assert_int_not_equal(level_of(&f, 0, 0).frame->symbol, NO_SYMBOL);
	assert_false(level_of(&f, 1, 0).func->is_named);
	fixture_release(&f);
	kernel_table_free(symbols);
}

#define TIMES_8(text) text text text text text text text text
#define LONG_NAME TIMES_8(TIMES_8(TIMES_8(TIMES_8("abcd")))) TIMES_8("tail") /* 16,416 bytes */

__attribute__((noinline, used)) static int long_one(int n) __asm__(LONG_NAME "one");
static int long_one(int n)
{
	return n + 1;
}

__attribute__((noinline, used)) static int long_two(int n) __asm__(LONG_NAME "two");
static int long_two(int n)
{
	return n + 2;
}

TEST(names_that_are_cut_stay_apart)
{
	struct fixture f;
	module_id own;
	const char *one, *two;

	fixture_init(&f);
	own = add_own_module(&f);
	add_sample(&f, own, own_file_offset((const void *)(uintptr_t)long_one),
		   PROFILE_FRAME_NATIVE);
	add_sample(&f, own, own_file_offset((const void *)(uintptr_t)long_two),
		   PROFILE_FRAME_NATIVE);
	symbolize_profile(f.p, &f.options);
	one = strings_get(&f.p->strings,
			  f.p->symbols.rows.items[level_of(&f, 0, 0).frame->symbol].name);
	two = strings_get(&f.p->strings,
			  f.p->symbols.rows.items[level_of(&f, 1, 0).frame->symbol].name);
	assert_memory_equal(one, TIMES_8("abcd"), 32);
	assert_non_null(strstr(one, "… (cut, "));
	assert_string_not_equal(one, two);
	fixture_release(&f);
}
