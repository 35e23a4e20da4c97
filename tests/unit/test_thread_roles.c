/* SPDX-License-Identifier: MIT */
/* Names of threads that have none of their own: the first function of theirs, or their pool. */

#include "lib/model/languages/language.h"
#include "lib/model/tables/frames.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/test.h"

#define PID 10

/* Adds a thread called as its process, with one stack: functions of modules from the root on. */
static void add_module_thread(struct exported *f, uint32_t tid, enum language_id innermost,
			      const char *const *functions, const char *file,
			      const module_id *modules)
{
	struct profile_thread *row = export_add_thread(f, PID, tid, "app");
	stack_id stack = NO_STACK;

	row->process_name = row->name;
	for (size_t i = 0; functions[i]; i++) {
		module_id module = modules ? modules[i] : NO_MODULE;
		func_id func = export_add_func(f, module, functions[i], file);
		frame_id id = export_add_frame(f, module, func, 1000 * tid + i);
		struct frame frame = *frames_get(&f->p->frames, id);

		f->p->funcs.rows.items[func].is_named = functions[i][0] != '0';
		frame.language = functions[i + 1] ? LANGUAGE_NONE : (uint8_t)innermost;
		stack = stacks_intern(&f->p->stacks, stack, frames_intern(&f->p->frames, &frame));
	}
	export_add_sample(row, 1000000, stack, 1000);
}

static void add_thread(struct exported *f, uint32_t tid, enum language_id innermost,
		       const char *const *functions, const char *file)
{
	add_module_thread(f, tid, innermost, functions, file, NULL);
}

TEST_WITH(threads_are_called_by_what_they_do, export_setup, export_teardown)
{
	struct exported *f = *state;
	json_t *root;

	export_add_thread(f, PID, PID, "app");
	f->p->meta.root_pid = PID;
	add_thread(f, 11, LANGUAGE_NONE,
		   (const char *[]){"clone3", "start_thread", "ns::hash_blocks", "sum", NULL},
		   "/a.c");
	add_thread(f, 12, LANGUAGE_PYTHON,
		   (const char *[]){"clone3", "pythread_wrapper", "eval_frame",
				    "main.<locals>.worker", NULL},
		   "/t.py");
	add_thread(f, 13, LANGUAGE_NONE,
		   (const char *[]){"clone3", "start_thread", "worker", "pbkdf2", NULL},
		   "/deps/uv/src/threadpool.c");
	/* Two of one role have their numbers. */
	for (uint32_t tid = 14; tid <= 15; tid++)
		add_thread(
			f, tid, LANGUAGE_NONE,
			(const char *[]){"start_thread", "node::PlatformWorkerThread", "gc", NULL},
			"/n.cc");
	/* A name that says nothing is not taken. */
	add_thread(f, 16, LANGUAGE_NONE, (const char *[]){"start_thread", "0x1234", NULL}, "/x.c");
	/* Its outer functions are cut off: nobody knows what began it. */
	add_thread(f, 17, LANGUAGE_NONE, (const char *[]){"0x5678", "cpu_tlb_fill", NULL}, "/x.c");
	add_thread(f, 18, LANGUAGE_NONE,
		   (const char *[]){"std::_Rb_tree::find", "cpu_tlb_fill", NULL}, "/x.c");
	/* The code by which Java's virtual machine calls any method. */
	add_thread(f, 19, LANGUAGE_NONE,
		   (const char *[]){"start_thread", "StubRoutines (initialstubs)", "call_stub",
				    "Main.main", NULL},
		   "/Main.java");
	root = export_run(f);
	export_expect(root, "threads.1.name", "\"hash_blocks\"");
	export_expect(root, "threads.2.name", "\"worker\"");
	export_expect(root, "threads.3.name", "\"libuv worker\"");
	export_expect(root, "threads.4.name", "\"V8 worker 14\"");
	export_expect(root, "threads.5.name", "\"V8 worker 15\"");
	export_expect(root, "threads.6.name", "\"app 16\"");
	export_expect(root, "threads.7.name", "\"app 17\"");
	export_expect(root, "threads.8.name", "\"app 18\"");
	export_expect(root, "threads.9.name", "\"Main.main\"");
	export_expect(root, "threads.6.processName", "\"app\"");
}

/* Functions that nameless code calls do not say what the thread is for. */
TEST_WITH(threads_of_stripped_code_have_its_librarys_name, export_setup, export_teardown)
{
	static const char *const waits[] = {"start_thread", "0x12", "pthread_cond_wait", NULL};
	static const char *const named[] = {"start_thread", "0x12", "encode", NULL};
	static const char *const timer[] = {"start_thread", "timer_helper_thread", NULL};
	struct exported *f = *state;
	module_id libc = modules_add(&f->p->modules, PROFILE_MODULE_FILE,
				     export_intern(f, "/lib/libc.so.6"),
				     export_intern(f, "libc.so.6"));
	module_id own = modules_add(&f->p->modules, PROFILE_MODULE_FILE,
				    export_intern(f, "/lib/libcodec.so.1"),
				    export_intern(f, "libcodec.so.1"));
	json_t *root;

	export_add_thread(f, PID, PID, "app");
	f->p->meta.root_pid = PID;
	add_module_thread(f, 11, LANGUAGE_NONE, waits, "/x.c", (module_id[]){libc, own, libc});
	add_module_thread(f, 12, LANGUAGE_NONE, named, "/x.c", (module_id[]){libc, own, own});
	add_module_thread(f, 13, LANGUAGE_NONE, timer, "/x.c", (module_id[]){libc, libc});
	root = export_run(f);
	export_expect(root, "threads.1.name", "\"libcodec.so.1 11\"");
	export_expect(root, "threads.2.name", "\"libcodec.so.1 12\"");
	export_expect(root, "threads.3.name", "\"timer_helper_thread\"");
}

/* A name that the thread was given stays, and so does the main thread's. */
TEST_WITH(given_names_stay, export_setup, export_teardown)
{
	struct exported *f = *state;
	static const char *const functions[] = {"start_thread", "run", NULL};
	json_t *root;

	add_thread(f, PID, LANGUAGE_NONE, functions, "/a.c");
	add_thread(f, 11, LANGUAGE_NONE, functions, "/a.c");
	f->p->meta.root_pid = PID;
	threads_get(&f->p->threads, 1)->name = export_intern(f, "compositor");
	root = export_run(f);
	export_expect(root, "threads.0.name", "\"app\"");
	export_expect(root, "threads.1.name", "\"compositor\"");
}
