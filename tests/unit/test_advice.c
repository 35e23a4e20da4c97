/* SPDX-License-Identifier: MIT */
/* Advice names the nameless module that costs most, and what would name it. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/text/record_summary.h"
#include "lib/base/cleanup.h"
#include "lib/model/meaning/categories.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"

struct scene {
	struct profile *p;
	thread_id thread;
	module_id app, other, jit, kernel;
};

static module_id add_module(struct profile *p, enum profile_module_kind kind, const char *path)
{
	string_id text = strings_intern(&p->strings, path);
	module_id id = modules_add(&p->modules, kind, text, text);

	modules_get(&p->modules, id)->reason = SYMBOLS_NO_DEBUG_FILE;
	return id;
}

static void set_up(struct scene *s)
{
	struct profile_thread thread = {.pid = 7, .tid = 7, .is_main = true};

	s->p = profile_new();
	thread.process_name = thread.name = strings_intern(&s->p->strings, "node");
	s->thread = threads_add(&s->p->threads, &thread);
	s->app = add_module(s->p, PROFILE_MODULE_FILE, "/opt/app");
	s->other = add_module(s->p, PROFILE_MODULE_FILE, "/opt/other.so");
	s->kernel = add_module(s->p, PROFILE_MODULE_KERNEL, "[kernel.kallsyms]");
	s->jit = add_module(s->p, PROFILE_MODULE_ANON, "//anon");
	modules_get(&s->p->modules, s->jit)->pid = 7;
}

static stack_id call(struct scene *s, stack_id parent, module_id module, uint64_t offset,
		     bool is_named)
{
	struct frame frame = {.module = module, .offset = offset, .symbol = NO_SYMBOL};
	struct func func = {.module = module, .file = NO_SOURCE_FILE, .is_named = is_named};

	func.name = strings_intern(&s->p->strings, is_named ? "known" : "0x1");
	frame.func = funcs_intern(&s->p->funcs, &func);
	return stacks_intern(&s->p->stacks, parent, frames_intern(&s->p->frames, &frame));
}

static void sample(struct scene *s, stack_id stack, uint32_t weight)
{
	struct sample row = {.stack = stack, .weight = weight};

	vec_push(&threads_get(&s->p->threads, s->thread)->samples.open, row);
}

static void expect(struct scene *s, const char *text)
{
	_cleanup_(strbuf_release) struct strbuf line = {0};

	advice_on_names(s->p, &line);
	assert_string_equal(strbuf_text(&line), text);
}

TEST(the_worst_is_named)
{
	struct scene s;
	stack_id outer, inner;

	set_up(&s);
	expect(&s, "");
	outer = call(&s, NO_STACK, s.app, 1, false);
	sample(&s, outer, 30);
	inner = call(&s, outer, s.other, 2, true);
	sample(&s, call(&s, inner, s.other, 3, false), 10);
	sample(&s, call(&s, NO_STACK, s.kernel, 4, false), 50);
	sample(&s, call(&s, NO_STACK, s.other, 5, true), 10);
	sample(&s, NO_STACK, 100);
	expect(&s, "30.0 % of the samples go through code of /opt/app, which has no names: it is "
		   "stripped: build it without stripping, or name the folder of its debug "
		   "files with --debug-dir");
	modules_get(&s.p->modules, s.app)->has_symbols = true;
	expect(&s, "30.0 % of the samples go through code of /opt/app, which has no names: it "
		   "is not among the symbols: build the file with debug information");
	modules_get(&s.p->modules, s.app)->reason = SYMBOLS_DELETED;
	expect(&s, "30.0 % of the samples go through code of /opt/app, which has no names: the "
		   "file was deleted before it could be opened");
	profile_free(s.p);
}

TEST(files_that_are_passed_through_lack_nothing)
{
	struct scene s;
	module_id libc;
	stack_id start, main;

	set_up(&s);
	libc = add_module(s.p, PROFILE_MODULE_FILE, "/usr/local/lib/libc.so.6");
	start = call(&s, NO_STACK, libc, 1, false);
	main = call(&s, start, s.app, 2, true);
	sample(&s, main, 60);
	sample(&s, call(&s, main, s.kernel, 3, false), 30);
	sample(&s, call(&s, main, libc, 4, true), 6);
	/* Time of libc's own functions counts. */
	sample(&s, call(&s, main, libc, 5, false), 4);
	expect(&s, "");
	sample(&s, call(&s, main, libc, 5, false), 6);
	expect(&s, "9.4 % of the samples go through code of /usr/local/lib/libc.so.6, which has no "
		   "names: it is stripped: build it without stripping, or name the folder of its "
		   "debug files with --debug-dir");
	profile_free(s.p);
}

TEST(time_in_libc_and_the_kernel_is_the_callers)
{
	struct scene s;
	module_id libc;
	stack_id app, copy;

	set_up(&s);
	libc = add_module(s.p, PROFILE_MODULE_FILE, "/usr/local/lib/libc.so.6");
	app = call(&s, call(&s, NO_STACK, libc, 1, false), s.app, 2, false);
	copy = call(&s, app, libc, 3, true);
	sample(&s, copy, 10);
	sample(&s, call(&s, copy, s.kernel, 4, true), 10);
	sample(&s, call(&s, app, s.other, 5, true), 80);
	expect(&s, "20.0 % of the samples go through code of /opt/app, which has no names: it is "
		   "stripped: build it without stripping, or name the folder of its debug "
		   "files with --debug-dir");
	profile_free(s.p);
}

TEST(waits_count_where_nothing_ran)
{
	struct frame label = {
		.module = NO_MODULE,
		.symbol = NO_SYMBOL,
		.kind = PROFILE_FRAME_LABEL,
		.category = CATEGORY_IDLE,
	};
	struct func func = {.module = NO_MODULE, .file = NO_SOURCE_FILE, .is_named = true};
	struct scene s;
	stack_id app;

	set_up(&s);
	app = call(&s, NO_STACK, s.app, 1, false);
	func.name = strings_intern(&s.p->strings, "[nanosleep]");
	label.func = funcs_intern(&s.p->funcs, &func);
	sample(&s, stacks_intern(&s.p->stacks, app, frames_intern(&s.p->frames, &label)), 90);
	sample(&s, call(&s, NO_STACK, s.other, 2, true), 3);
	expect(&s, "100.0 % of the waits go through code of /opt/app, which has no names: it is "
		   "stripped: build it without stripping, or name the folder of its debug "
		   "files with --debug-dir");
	sample(&s, call(&s, NO_STACK, s.other, 2, true), 1);
	expect(&s, "");
	profile_free(s.p);
}

TEST(little_is_not_advised)
{
	struct scene s;

	set_up(&s);
	sample(&s, call(&s, NO_STACK, s.app, 1, false), 49);
	sample(&s, call(&s, NO_STACK, s.other, 2, true), 951);
	expect(&s, "");
	profile_free(s.p);
}

TEST(other_events_tell_nothing_of_time)
{
	struct sample event = {.weight = 90, .event = 1};
	struct scene s;

	set_up(&s);
	sample(&s, call(&s, NO_STACK, s.app, 1, true), 10);
	event.stack = call(&s, NO_STACK, s.app, 2, false);
	vec_push(&threads_get(&s.p->threads, s.thread)->samples.open, event);
	expect(&s, "");
	profile_free(s.p);
}

TEST(code_made_at_run_time)
{
	struct scene s;
	module_id more;

	set_up(&s);
	more = add_module(s.p, PROFILE_MODULE_ANON, "//anon");
	sample(&s, call(&s, NO_STACK, s.jit, 1, false), 5);
	sample(&s, call(&s, NO_STACK, more, 1, false), 5);
	expect(&s, "100.0 % of the samples go through code made at run time, which has no names: "
		   "see \"Code made at run time\" in: man prof-runtimes");
	profile_free(s.p);
}

/* Judges the advice for code that a file has called; `beside` is mapped, too. */
static void expect_remedy(const char *caller, const char *beside, const char *maker,
			  const char *remedy)
{
	_cleanup_free_ char *text = NULL;
	struct scene s;
	stack_id stack;

	set_up(&s);
	if (beside)
		add_module(s.p, PROFILE_MODULE_FILE, beside);
	stack = call(&s, NO_STACK, s.app, 1, true);
	if (caller)
		stack = call(&s, stack, add_module(s.p, PROFILE_MODULE_FILE, caller), 2, true);
	stack = call(&s, stack, add_module(s.p, PROFILE_MODULE_FILE, "/lib/libc.so.6"), 3, true);
	stack = call(&s, stack, add_module(s.p, PROFILE_MODULE_FILE, "/lib/libffi.so.8"), 3, true);
	stack = call(&s, stack, s.jit, 4, true);
	stack = call(&s, stack, s.jit, 5, false);
	sample(&s, stack, 10);
	sample(&s, call(&s, stack, s.kernel, 6, true), 10);
	if (remedy)
		text = xasprintf("100.0 %% of the samples go through code made by %s, which has no "
				 "names: %s",
				 maker, remedy);
	expect(&s, text ? text : "");
	profile_free(s.p);
}

TEST(the_file_that_made_code_can_name_it)
{
	static const char node[] = "start node with --perf-basic-prof",
			  java[] = "while it runs: jcmd PID Compiler.perfmap",
			  php[] = "start php with -d opcache.jit_debug=256",
			  dotnet[] = "set DOTNET_PerfMapEnabled=1 (before .NET 6: "
				     "COMPlus_PerfMapEnabled=1)",
			  manual[] = "see \"Code made at run time\" in: man prof-runtimes";

	expect_remedy("/usr/bin/node", NULL, "node", node);
	expect_remedy("/usr/lib/x86_64-linux-gnu/libnode.so.115", NULL, "libnode", node);
	expect_remedy("/usr/lib/jvm/lib/server/libjvm.so", NULL, "libjvm", java);
	expect_remedy("/usr/bin/php8.2", NULL, "php8.2", php);
	expect_remedy("/usr/lib/erlang/erts-13/bin/beam.smp", NULL, "beam.smp",
		      "set ERL_FLAGS=\"+JPperf true\"");
	expect_remedy("/opt/dotnet/libcoreclr.so", NULL, "libcoreclr", dotnet);
	expect_remedy("/usr/bin/qemu-x86_64-static", NULL, "qemu-x86_64-static",
		      "start QEMU with -perfmap (8.1 or newer)");
	expect_remedy("/x/wasmtime/linux-x86_64/_libwasmtime.so", NULL, "_libwasmtime",
		      "set profiler to \"perfmap\" in wasmtime's Config");
	expect_remedy("/x/openvino/libs/libopenvino_intel_cpu_plugin.so", NULL,
		      "libopenvino_intel_cpu_plugin", "set ONEDNN_JIT_PROFILE=6");
	/* Most of its code has names. */
	expect_remedy("/x/@cloudflare/workerd-linux-64/bin/workerd", NULL, "workerd",
		      "see \"JavaScript\" in: man prof-runtimes");
	expect_remedy("/usr/bin/ghdl-mcode", NULL, "ghdl-mcode", "ghdl-mcode cannot name its code");
	expect_remedy("/usr/libexec/valgrind/none-amd64-linux", NULL, "none-amd64-linux",
		      "none-amd64-linux cannot name its code");
	expect_remedy("/usr/lib/libpypy3-c.so", NULL, "libpypy3-c",
		      "libpypy3-c cannot name its code");
	expect_remedy("/usr/bin/luajit-2.1.0-beta3", NULL, "luajit-2.1.0-beta3",
		      "luajit-2.1.0-beta3 cannot name its code");
	/* Unknown, or only named alike */
	expect_remedy("/app/node_modules/query.node", NULL, "query.node", manual);
	expect_remedy("/usr/bin/nodewatch", NULL, "nodewatch", manual);
	expect_remedy(NULL, NULL, "app", manual);
}

/* By its longest word, the switch. */
static void find_switch(const char *manual, const char *remedy)
{
	_cleanup_free_ char *words = xstrdup(remedy);
	const char *longest = "";
	char *rest = words, *word;

	while ((word = strsep(&rest, " "))) {
		if (strlen(word) > strlen(longest))
			longest = word;
	}
	if (!strstr(manual, longest))
		fail_msg("%s is not in prof-runtimes(7)", longest);
}

TEST(the_manual_has_all_remedies)
{
	static const char *const remedies[] = {
#define CODE_MAKER(file, kind, remedy) remedy,
#include "lib/model/meaning/code_makers.def"
#undef CODE_MAKER
	};
	_cleanup_close_ int fd = open("man/prof-runtimes.7", O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *manual = text_read_fd(fd, (size_t)1 << 20, NULL);

	assert_non_null(manual);
	for (size_t i = 0; i < sizeof(remedies) / sizeof(*remedies); i++) {
		if (remedies[i])
			find_switch(manual, remedies[i]);
	}
}

TEST(interpreters_call_code_that_libraries_made)
{
	expect_remedy("/usr/bin/python3.11", "/x/llvmlite/binding/libllvmlite.so", "libllvmlite",
		      "libllvmlite cannot name its code");
	expect_remedy("/usr/lib/libpython3.15.so.1.0", "/x/jaxlib/libjax_common.so",
		      "libjax_common", "libjax_common cannot name its code");
	expect_remedy("/usr/lib/_ctypes.cpython-311-x86_64-linux-gnu.so", "/x/libllvmlite.so",
		      "libllvmlite", "libllvmlite cannot name its code");
	/* Node is no part of a Python process. */
	expect_remedy("/usr/bin/python3.11", "/usr/bin/node", NULL, NULL);
	/* With the option that names some of Python's code, Python does not compile any. */
	expect_remedy("/usr/bin/python3.14", NULL, NULL, NULL);
}

/* nginx's module calls traces of LuaJIT, which call LuaJIT; codecs call loops that Orc made. */
TEST(code_of_libraries_that_others_call)
{
	struct scene s;
	module_id caller, orc;
	stack_id stack;

	set_up(&s);
	caller = add_module(s.p, PROFILE_MODULE_FILE, "/usr/lib/nginx/ngx_http_lua_module.so");
	stack = call(&s, call(&s, NO_STACK, caller, 1, true), s.jit, 2, false);
	sample(&s, stack, 10);
	expect(&s, "100.0 % of the samples go through code made by ngx_http_lua_module, which has "
		   "no names: see \"Code made at run time\" in: man prof-runtimes");
	stack = call(&s, stack, add_module(s.p, PROFILE_MODULE_FILE, "/usr/lib/libluajit-5.1.so.2"),
		     3, true);
	sample(&s, stack, 10);
	expect(&s, "50.0 % of the samples go through code made by libluajit-5.1, which has no "
		   "names: libluajit-5.1 cannot name its code");
	profile_free(s.p);
	set_up(&s);
	caller = add_module(s.p, PROFILE_MODULE_FILE, "/usr/lib/libgstvideo-1.0.so.0");
	orc = add_module(s.p, PROFILE_MODULE_FILE, "/tmp/orcexec.fDK4Ny");
	modules_get(&s.p->modules, orc)->reason = SYMBOLS_STRIPPED;
	add_module(s.p, PROFILE_MODULE_FILE, "/usr/lib/liborc-0.4.so.0.32.0");
	sample(&s, call(&s, call(&s, NO_STACK, caller, 1, true), orc, 2, false), 10);
	expect(&s, "100.0 % of the samples go through code made by liborc-0.4, which has no names: "
		   "liborc-0.4 cannot name its code");
	profile_free(s.p);
}

TEST(images_of_a_heap_are_no_stripped_files)
{
	struct module_segment segment = {.executable = true};
	struct scene s;
	stack_id stack;
	module_id image;

	set_up(&s);
	image = add_module(s.p, PROFILE_MODULE_FILE, "/usr/lib/sbcl/sbcl.core");
	modules_get(&s.p->modules, image)->reason = SYMBOLS_STRIPPED;
	stack = call(&s, NO_STACK, add_module(s.p, PROFILE_MODULE_FILE, "/usr/bin/sbcl"), 1, true);
	sample(&s, call(&s, stack, image, 2, false), 10);
	expect(&s, "100.0 % of the samples go through code made by sbcl, which has no names: "
		   "sbcl cannot name its code");
	vec_push(&modules_get(&s.p->modules, image)->segments, segment);
	expect(&s, "100.0 % of the samples go through code of /usr/lib/sbcl/sbcl.core, which has "
		   "no names: it is stripped and has no build id: build it without stripping");
	profile_free(s.p);
}

/* The thread that waits for the pool runs the code as well. */
TEST(pools_of_threads_make_no_code)
{
	struct scene s;
	module_id pool, maker;
	stack_id stack;

	set_up(&s);
	pool = add_module(s.p, PROFILE_MODULE_FILE, "/x/drjit/libnanothread.so");
	maker = add_module(s.p, PROFILE_MODULE_FILE, "/x/drjit/libdrjit-core.so");
	stack = call(&s, NO_STACK, pool, 1, true);
	sample(&s, call(&s, stack, s.jit, 2, false), 10);
	stack = call(&s, call(&s, NO_STACK, maker, 3, true), pool, 1, true);
	sample(&s, call(&s, stack, s.jit, 4, false), 10);
	expect(&s, "100.0 % of the samples go through code made by libdrjit-core, which has no "
		   "names: libdrjit-core cannot name its code");
	profile_free(s.p);
}

TEST(code_of_several_compilers)
{
	struct scene s;
	stack_id of_node, of_other;

	set_up(&s);
	of_node = call(&s, NO_STACK, add_module(s.p, PROFILE_MODULE_FILE, "/usr/bin/node"), 1,
		       true);
	of_other = call(&s, of_node, s.other, 2, true);
	sample(&s, call(&s, of_node, s.jit, 3, false), 40);
	sample(&s, call(&s, of_other, s.jit, 4, false), 30);
	sample(&s, of_node, 30);
	expect(&s, "40.0 % of the samples go through code made by node, which has no names: "
		   "start node with --perf-basic-prof");
	profile_free(s.p);
}

TEST(code_without_callers_is_its_programs)
{
	struct scene s;

	set_up(&s);
	add_module(s.p, PROFILE_MODULE_FILE, "/usr/bin/node");
	sample(&s, call(&s, NO_STACK, s.jit, 2, false), 40);
	expect(&s, "100.0 % of the samples go through code made by node, which has no names: "
		   "start node with --perf-basic-prof");
	profile_free(s.p);
}

/* Some stacks end in the code itself. */
TEST(code_without_a_caller_has_the_maker_of_its_neighbours)
{
	struct scene s;
	stack_id node;

	set_up(&s);
	node = call(&s, NO_STACK, add_module(s.p, PROFILE_MODULE_FILE, "/usr/bin/node"), 1, true);
	sample(&s, call(&s, NO_STACK, s.jit, 2, false), 40);
	sample(&s, call(&s, node, s.jit, 3, false), 10);
	expect(&s, "100.0 % of the samples go through code made by node, which has no names: "
		   "start node with --perf-basic-prof");
	profile_free(s.p);
}

static void check_remedy(struct scratch *s, const char *path, bool has_servers, const char *wanted)
{
	_cleanup_free_ char *text = debug_package_remedy(s->dir, path, has_servers);

	if (!wanted)
		assert_null(text);
	else
		assert_string_equal(text, wanted);
}

TEST(packages_are_those_of_the_distribution)
{
	struct scratch s;

	scratch_init(&s);
	check_remedy(&s, "/usr/bin/x", true, NULL);
	check_remedy(&s, "/usr/bin/x", false,
		     "set DEBUGINFOD_URLS to the debuginfod server of its distribution");
	scratch_run(&s, "mkdir -p etc/debuginfod var/lib/dpkg/info && cd var/lib/dpkg/info && "
			"printf '/.\\n/bin\\n/bin/bash\\n' >bash.list && "
			"printf '/.\\n/usr/lib/libx.so.1' >libx1:amd64.list && "
			"printf '/usr/bin/bash-other\\n/not/bin/bash\\n' >alike.list && "
			"printf '/lib/x86_64-linux-gnu/libc.so.6\\n' >libc6:amd64.list && "
			/* Longer than what is read at once: lines lie across the ends of parts. */
			"seq -f '/usr/share/many/%%06g' 40000 >many.list && "
			"printf 'NAME=\"Some\"\\nID=\"mine\"\\nID_LIKE=\"debian other\"\\n' "
			">../../../../etc/os-release");
	check_remedy(
		&s, "/usr/bin/bash", true,
		"install bash-dbgsym, after adding the archive of debug packages to apt's sources");
	scratch_run(&s, "mkdir -p var/lib/apt/lists && "
			">var/lib/apt/lists/mirror_debian-debug_dists_stable-debug_InRelease");
	check_remedy(&s, "/usr/bin/bash", true, "install bash-dbgsym");
	check_remedy(&s, "/bin/bash", true, "install bash-dbgsym");
	check_remedy(&s, "/lib/libx.so.1", true, "install libx1-dbgsym");
	check_remedy(&s, "/usr/lib/x86_64-linux-gnu/libc.so.6", true, "install libc6-dbg");
	for (int i = 1; i <= 40000; i += 397) {
		_cleanup_free_ char *path = xasprintf("/usr/share/many/%06d", i);

		check_remedy(&s, path, true, "install many-dbgsym");
	}
	check_remedy(&s, "/usr/share/many/00001", true,
		     "install the -dbgsym package that belongs to its package");
	check_remedy(&s, "/usr/bin/gone", true,
		     "install the -dbgsym package that belongs to its package");
	scratch_run(&s, "echo 'x' >etc/debuginfod/some.urls; echo 'ID=fedora' >etc/os-release");
	check_remedy(&s, "/usr/bin/x", false,
		     "run: sudo dnf debuginfo-install \"$(rpm -qf /usr/bin/x)\", or set "
		     "DEBUGINFOD_URLS to the contents of /etc/debuginfod/some.urls");
	scratch_release(&s);
}

TEST(folders_of_packages)
{
	assert_true(debug_package_may_have("/usr/bin/x"));
	assert_true(debug_package_may_have("/lib/x86_64-linux-gnu/x.so"));
	assert_false(debug_package_may_have("/usr/local/bin/x"));
	assert_false(debug_package_may_have("/home/x/bin/x"));
	assert_false(debug_package_may_have("/library/x"));
}
