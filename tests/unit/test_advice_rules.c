/* SPDX-License-Identifier: MIT */
/* Each rule gives advice from its threshold on, and none just below it. */
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/query/advice_rules.h"
#include "tests/unit/stack_texts.h"
#include "tests/unit/test.h"

#define MS 1000000ull
#define MAIN "main /app main.c\n"
#define SERVE MAIN "serve /app serve.c\n"
#define CALL(of) "do_syscall_64 [kernel.kallsyms] -\n" of " [kernel.kallsyms] -\n"

static struct profile *new_profile(void)
{
	struct profile *p = profile_new();

	p->meta.interval_ns = MS;
	p->meta.end_ns = 1000 * MS;
	p->meta.logical_cpus = 1;
	return p;
}

/* A thread that runs the stack for `part` of 1,000 ticks, in a second. */
static struct profile *run_part(const char *stack, uint32_t part)
{
	struct profile *p = new_profile();

	for (uint32_t i = 0; i < 1000; i++)
		stack_texts_add_sample(p, 1, i < part ? stack : SERVE);
	return p;
}

/* Adds waits to a profile in which a thread runs for a second. */
static struct profile *wait_part(const char *stack, const char *call, uint32_t part,
				 enum idle_subcategory reason)
{
	struct profile *p = run_part(SERVE, 0);

	stack_texts_add_call(p, part, stack, call, reason);
	return p;
}

static void add_background(struct profile *p, const char *name, uint64_t ms)
{
	struct markers *m = &p->markers;
	schema_id schema = schema_text_intern(marker_schema(MARKER_BACKGROUND), &m->schemas,
					      &p->strings);
	struct marker marker = markers_make(m, schema, 0, 1000 * MS);

	*marker_value(m, &marker,
		      BACKGROUND_PROCESS) = marker_string(strings_intern(&p->strings, name));
	*marker_value(m, &marker, BACKGROUND_CPU) = (struct marker_value){.type = FIELD_DURATION,
									  .number = ms * MS};
	vec_push(&threads_get(&p->threads, 0)->markers, marker);
}

static struct profile *lock_convoy(uint32_t part)
{
	return wait_part(SERVE "get /app cache.c\nlock libc.so.6 -", "[futex] - -", part,
			 IDLE_LOCK);
}

static struct profile *disk_wait(uint32_t part)
{
	return wait_part(SERVE "save /app order.c\nfsync libc.so.6 -", "[fsync] - -", part,
			 IDLE_DISK);
}

static struct profile *log_sync(uint32_t part)
{
	return wait_part(SERVE "save /app order.c\nfsync libc.so.6 -\n" CALL("__x64_sys_fsync"),
			 "[fsync] - -", part, IDLE_DISK);
}

static struct profile *file_pages(uint32_t part)
{
	return wait_part(SERVE "find /app map.c", "[page fault] - -", part, IDLE_FAULT);
}

static struct profile *connects(uint32_t part)
{
	return wait_part("call - shop.py\nsock_connect python3 -\npoll libc.so.6 -", "[poll] - -",
			 part, IDLE_SOCKET);
}

/* Each wait is as long as a delayed acknowledgement. */
static struct profile *delays(uint32_t part)
{
	static const char stack[] =
		"ask /srv/client client.c\nrecv libc.so.6 -\n"
		"tcp_recvmsg [kernel.kallsyms] -\nsk_wait_data [kernel.kallsyms] -";
	struct profile *p = run_part(SERVE, 0);

	for (int i = 0; i < 6; i++)
		stack_texts_add_call(p, i < 5 ? 41 : part - 5 * 41, stack, "[recvfrom] - -",
				     IDLE_SOCKET);
	return p;
}

/* Waits for other things do not count. */
static struct profile *pool(uint32_t part)
{
	struct profile *p = wait_part("work - shop.py\nShopPool.get - shop.py\n"
				      "Condition.wait - /usr/lib/python3.11/threading.py",
				      "[futex] - -", part, IDLE_CONDITION);

	stack_texts_add_call(p, 500, "work - shop.py\nsell - shop.py", "[futex] - -",
			     IDLE_CONDITION);
	return p;
}

static struct profile *spinning(uint32_t part)
{
	return run_part(SERVE "wait_for /app wait.c\nsched_yield libc.so.6 -\n" CALL(
				"__x64_sys_sched_yield"),
			part);
}

/* Threads of OpenMP without work; those with some run below the same file's functions. */
static struct profile *omp_spinning(uint32_t part)
{
	return run_part(SERVE
			"sort /app sort.c\nGOMP_parallel libgomp.so.1 -\nfun_1f3d0 libgomp.so.1 -",
			part);
}

static struct profile *omp_working(uint32_t part)
{
	return run_part(
		SERVE "sort /app sort.c\nGOMP_parallel libgomp.so.1 -\nsort._omp_fn.0 /app sort.c",
		part);
}

static struct profile *truffle(uint32_t part)
{
	return run_part(SERVE "com.oracle.truffle.runtime.OptimizedCallTarget.executeRootNode - -\n"
			      "com.oracle.truffle.js.nodes.control.WhileNode.execute - -",
			part);
}

static struct profile *go_channel(uint32_t part)
{
	return run_part(SERVE
			"main.feed /app feed.go\nruntime.chansend1 /app -\nruntime.send /app -",
			part);
}

/* A thread of Go without work for all but `ran` ticks of a second. */
static struct profile *go_waits(uint32_t ran)
{
	struct profile *p = new_profile();

	for (uint32_t i = 0; i < ran; i++)
		stack_texts_add_sample(p, 1, SERVE);
	stack_texts_add_call(p, 1000 - ran, "runtime.mcall /app -\nruntime.park_m /app -",
			     "[futex] - -", IDLE_FOR_WORK);
	return p;
}

static struct profile *list_search(uint32_t part)
{
	return run_part(SERVE "unique /app unique.py\nlist_contains libpython3.so -", part);
}

static struct profile *list_shift(uint32_t part)
{
	return run_part(SERVE "put /app queue.py\nins1 libpython3.so -", part);
}

static struct profile *loop_call(uint32_t part)
{
	return run_part("login - login.js\npbkdf2Sync - node:internal/crypto/pbkdf2\n"
			"digest libcrypto.so.3 -",
			part);
}

static struct profile *table_scan(uint32_t part)
{
	return run_part(SERVE "ExecScan /app -\nheap_getnextslot /app -\nheapgetpage /app -", part);
}

static struct profile *command(uint32_t part)
{
	return run_part(MAIN "processCommand /server -\ncall /server -\nlrangeCommand /server -\n"
			     "addListRangeReply /server -",
			part);
}

static struct profile *loop_sleep(uint32_t part)
{
	struct profile *p = run_part(SERVE, 0);

	for (int i = 0; i < 4; i++) {
		stack_texts_add_call(p, 1, SERVE "poll libc.so.6 -", "[poll] - -", IDLE_OTHER);
		stack_texts_add_call(p, i ? 20 : part - 60,
				     SERVE "mail /app mail.c\nusleep libc.so.6 -",
				     "[clock_nanosleep] - -", IDLE_TIMER);
	}
	return p;
}

/* A callback of an event loop waits for a child. */
static struct profile *loop_child(uint32_t part)
{
	struct profile *p = run_part(SERVE, 0);

	stack_texts_add_call(p, part,
			     SERVE "Handle._run - /usr/lib/python3.11/asyncio/events.py\n"
				   "resize - /srv/web/images.py\nwait4 libc.so.6 -",
			     "[wait4] - -", IDLE_CHILD);
	return p;
}

/* The program sleeps in its main thread, and does not wait for events. */
static struct profile *retries(uint32_t part)
{
	struct profile *p = new_profile();

	stack_texts_add_sample(p, 100, SERVE);
	stack_texts_add_call(p, part, SERVE "retry /app client.c\nusleep libc.so.6 -",
			     "[clock_nanosleep] - -", IDLE_TIMER);
	return p;
}

#define LOG SERVE "log /app log.c\nwrite libc.so.6 -\n" CALL("ksys_write")

/* One in ten of the small calls' ticks copies; the others are those of large calls, and of a
 * socket. */
static struct profile *small_calls(uint32_t part)
{
	struct profile *p = new_profile();

	for (uint32_t i = 0; i < 1000; i++)
		stack_texts_add_sample(
			p, 1,
			i < part  ? i % 10 ? LOG "ext4_da_write_begin [kernel.kallsyms] -"
					   : LOG "copy_folio_from_iter_atomic [kernel.kallsyms] -"
			: i < 500 ? SERVE "answer /app http.c\n" CALL(
					    "ksys_write") "sock_write_iter [kernel.kallsyms] -"
				  : SERVE);
	return p;
}

/* Calls that copy in a third of their time are not small. */
static struct profile *larger_calls(uint32_t part)
{
	struct profile *p = small_calls(part);

	stack_texts_add_sample(p, 120, LOG "copy_folio_from_iter_atomic [kernel.kallsyms] -");
	return p;
}

#define SIGNAL "arch_do_signal_or_restart [kernel.kallsyms] -\nget_signal [kernel.kallsyms] -\n"

/* A signal that ends the process is not delivered. */
static struct profile *signals(uint32_t part)
{
	struct profile *p = new_profile();

	for (uint32_t i = 0; i < 1000; i++)
		stack_texts_add_sample(p, 1,
				       i < part	 ? SERVE "spin /app spin.c\n" SIGNAL
				       : i < 500 ? SERVE SIGNAL "do_exit [kernel.kallsyms] -"
						 : SERVE);
	return p;
}

static struct profile *starts(uint32_t part)
{
	struct profile *p = run_part(SERVE "list_all /app list.c\n" CALL("__x64_sys_execve"), part);

	for (unsigned int id = 0; id < 9; id++)
		stack_texts_add_thread(p, "ls");
	return p;
}

static struct profile *copying(uint32_t part)
{
	return run_part(SERVE "take /app queue.cc\n__memmove_avx_unaligned_erms libc.so.6 -", part);
}

static struct profile *java_copying(uint32_t part)
{
	return run_part("org.example.Shop.csv - Shop.java\n"
			"java.lang.StringConcatHelper.prepend - StringConcatHelper.java\n"
			"jbyte_disjoint_arraycopy libjvm.so -",
			part);
}

/* A collector moves what is alive. */
static struct profile *collected_copies(uint32_t part)
{
	return run_part("GangWorker::run libjvm.so -\n__memmove_avx_unaligned_erms libc.so.6 -",
			part);
}

static struct profile *string_ends(uint32_t part)
{
	return run_part(SERVE "join /app text.c\n__strcat_avx2 libc.so.6 -", part);
}

static struct profile *exceptions(uint32_t part)
{
	return run_part(SERVE "parse /app parse.cc\n__cxa_throw libstdc++.so.6 -\n"
			      "_Unwind_RaiseException libgcc_s.so.1 -\nfun_1 libgcc_s.so.1 -",
			part);
}

/* Waits of the work that others wait for do not count. */
static struct profile *barrier(uint32_t part)
{
	struct profile *p = wait_part(SERVE "GOMP_parallel /lib/libgomp.so.1 -", "[futex] - -",
				      part, IDLE_CONDITION);

	stack_texts_add_call(p, 500, SERVE "GOMP_parallel /lib/libgomp.so.1 -\nsolve /app solve.c",
			     "[futex] - -", IDLE_CONDITION);
	return p;
}

/* A command of twelve processes on four CPUs: a linker, then two compilers at a time. */
static struct profile *serial_link(uint32_t part)
{
	struct profile *p = new_profile();

	p->meta.logical_cpus = 4;
	for (unsigned int id = 0; id < 12; id++) {
		struct profile_thread *thread;

		stack_texts_add_thread(p, id ? "cc1" : "ld");
		thread = &vec_last(&p->threads.rows);
		thread->process_name = strings_intern(&p->strings, id ? "cc1" : "ld");
	}
	for (uint32_t at = 0; at < 1000; at++) {
		struct sample sample = {.time = at * MS, .weight = 1, .cpu = NO_CPU};

		sample.stack = stacks_intern(&p->stacks, NO_STACK,
					     stack_texts_add_frame(p, "work /app main.c"));
		for (thread_id id = at < part ? 0 : 1; id < (at < part ? 1u : 3u); id++)
			samples_add(&threads_get(&p->threads, id)->samples, &sample);
	}
	return p;
}

static struct profile *go_lock(uint32_t part)
{
	return run_part(
		SERVE
		"main.find /app cache.go\nsync.(*Mutex).Unlock /app /usr/local/go/src/sync/mutex.go\n"
		"internal/sync.(*Mutex).unlockSlow /app /usr/local/go/src/internal/sync/mutex.go",
		part);
}

static struct profile *starved(uint32_t part)
{
	struct profile *p = wait_part(SERVE, "[queued] - -", 1000, IDLE_QUEUED);

	p->meta.logical_cpus = 2;
	add_background(p, "make", part - 50);
	add_background(p, "sh", 50);
	return p;
}

static struct profile *oversubscribed(uint32_t part)
{
	struct profile *p = wait_part(SERVE, "[queued] - -", part, IDLE_QUEUED);

	p->meta.logical_cpus = 2;
	return p;
}

#define FAULT "asm_exc_page_fault [kernel.kallsyms] -\n"

/* Faults on files are as frequent, and count for nothing. */
static struct profile *page_faults(uint32_t part)
{
	struct profile *p = new_profile();

	for (uint32_t i = 0; i < 1000; i++)
		stack_texts_add_sample(p, 1,
				       i < part ? SERVE "fill /app fill.c\n" FAULT
							"clear_page_erms [kernel.kallsyms] -"
				       : i < 2 * part ? SERVE
					       "load /app load.c\n" FAULT
					       "do_fault [kernel.kallsyms] -\n"
					       "filemap_map_pages [kernel.kallsyms] -"
						      : SERVE);
	return p;
}

static struct profile *allocation(uint32_t part)
{
	return run_part(SERVE "parse /app parse.c\nmalloc libc.so.6 -\n_int_malloc libc.so.6 -",
			part);
}

static struct profile *collection(uint32_t part)
{
	return run_part(SERVE "handle /app app.go\nruntime.gcAssistAlloc.func1 /app -", part);
}

/* Work of the virtual machine without names: its thread tells. */
static struct profile *beside_java(uint32_t part, const char *thread)
{
	struct profile *p = new_profile();

	stack_texts_add_thread(p, "java");
	stack_texts_add_sample(p, 1000 - part, "org.example.Shop.sell - Shop.java");
	stack_texts_add_thread(p, thread);
	stack_texts_add_sample(p, part, "work /jdk/libjvm.so -");
	return p;
}

static struct profile *collector_thread(uint32_t part)
{
	return beside_java(part, "GC Thread#0");
}

static struct profile *compiler_thread(uint32_t part)
{
	return beside_java(part, "C2 CompilerThread0");
}

static struct profile *interpreter_lock(uint32_t part)
{
	return wait_part("spin - /srv/spin.py\ntake_gil /usr/lib/libpython3.11.so -", "[futex] - -",
			 part, IDLE_LOCK);
}

static struct profile *regex(uint32_t part)
{
	return run_part(SERVE "check /app check.c\nmatch /lib/libpcre2-8.so.0 -", part);
}

static struct profile *limited(uint32_t part)
{
	struct profile *p = run_part(SERVE, 1000);
	_cleanup_free_ char *text = xasprintf("%u of 1000 periods, 0.20 s", part);

	profile_add_text(p, FACT_CPU_LIMIT_TEXT, "/little", "1 of 100 periods, 9.00 s");
	profile_add_text(p, FACT_CPU_LIMIT_TEXT, "/box", text);
	profile_add_text(p, FACT_CPU_LIMIT_TEXT, "/odd", "9 of 0 periods, 0.10 s");
	return p;
}

static struct profile *imports(uint32_t part)
{
	return run_part(SERVE
			"load_model /app model.py\n"
			"PyImport_ImportModuleLevelObject libpython3.so -\nexec libpython3.so -",
			part);
}

static struct profile *regex_of_v8(uint32_t part)
{
	return run_part("check - check.js\nBuiltins_RegExpPrototypeTest /usr/bin/node -\n"
			"made [anon] -",
			part);
}

static struct profile *unoptimized(uint32_t part)
{
	return run_part(SERVE "sum /app sum.cc\nstd::move<int> /app -", part);
}

static struct profile *nameless(uint32_t part)
{
	struct profile *p = run_part(SERVE "0x1234 /lib/libfast.so.1 -", part);

	vec_for_each(&p->funcs.rows, struct func *, func) {
		if (text_starts_with(strings_get(&p->strings, func->name), "0x"))
			func->is_named = false;
	}
	return p;
}

/* The description is not a function's name. */
static struct profile *made_code(uint32_t part)
{
	struct profile *p = run_part(SERVE "made /app -", part);

	vec_for_each(&p->funcs.rows, struct func *, func) {
		if (strcmp(strings_get(&p->strings, func->name), "made") == 0) {
			func->name = strings_intern(&p->strings, "code made by luajit");
			func->is_named = false;
		}
	}
	return p;
}

static struct profile *coarse(uint32_t left_out)
{
	struct profile *p = new_profile();

	for (uint32_t i = left_out; i < 1000; i++)
		stack_texts_add_sample(p, 1, SERVE);
	return p;
}

/* Rows of summed up samples. */
static struct profile *coarse_sums(uint32_t left_out)
{
	struct profile *p = new_profile();

	stack_texts_add_sample(p, (1000 - left_out) / 2, SERVE);
	stack_texts_add_sample(p, (1001 - left_out) / 2, SERVE "f /app f.c");
	return p;
}

static const struct rule_case {
	enum advice_id id;
	struct profile *(*make)(uint32_t part);
	uint32_t part; /* reaches the threshold */
	uint32_t below; /* does not, and is next to it if the value is exact */
	const char *text;
} cases[] = {
	{ADVICE_LOCKS, lock_convoy, 250, 249,
	 "threads waited 0.2 s for a lock in get (cache.c:103), 0.25 at a time; --wakers records "
	 "who held it: hold it for less time, or split what it protects"},
	{ADVICE_GO_LOCKS, go_lock, 5, 4,
	 "handing over locks took 0.5 % of the time, most in main.find (cache.go:102): goroutines wait for "
	 "such a lock, for how long is not recorded; hold it for less time, or split what it protects"},
	{ADVICE_BARRIERS, barrier, 250, 249,
	 "threads waited 0.2 s until others had done their share of the work in serve (serve.c:101), 0.25 at "
	 "a time: share it more evenly, or in smaller parts"},
	{ADVICE_GO_CHANNELS, go_channel, 250, 249,
	 "sending and receiving on channels took 25 % of the time, most in main.feed (feed.go:102): pass more "
	 "at a time, in slices, or give the channel a buffer"},
	{ADVICE_GO_WAITS, go_waits, 500, 501,
	 "no goroutine ran for 50 % of the time: a recording does not show what each waits for; "
	 "runtime/pprof's profiles of goroutines and blocking do"},
	{ADVICE_SYNCS, log_sync, 250, 249,
	 "waiting until files are safe on the disk (fsync) took 0.2 s, most in save (order.c:103): write more "
	 "for each such wait, as in one transaction"},
	{ADVICE_FILE_PAGES, file_pages, 250, 249,
	 "threads waited 0.2 s in find (map.c:103) for pages of mapped files or of swap space, 0.25 at a time: "
	 "read them in order or ahead (madvise(2)), or make them fit into memory"},
	{ADVICE_CONNECTS, connects, 250, 249,
	 "threads waited 0.2 s for name servers and for others to accept connections, most in call "
	 "(shop.py:103): find out which of them do not answer, and keep connections open"},
	{ADVICE_DELAYS, delays, 250, 249,
	 "threads waited 0.2 s for the other side of a connection, about 40 ms each time, most in ask "
	 "(client.c:103), as if TCP held back a part of a message until the one before it was acknowledged: send "
	 "messages in one piece, or set TCP_NODELAY"},
	{ADVICE_POOLS, pool, 250, 249,
	 "threads waited 0.2 s until others gave back one of a limited number, 0.25 at a time, most in "
	 "ShopPool.get (shop.py:104): keep each for less time, or allow more of them"},
	{ADVICE_SPINNING, spinning, 100, 99,
	 "waiting without sleep (spinning, yielding) took 10 % of the time, most for wait_for (wait.c:102): wait "
	 "for a condition, or hold spin locks for less time"},
	{ADVICE_SPINNING, omp_spinning, 100, 99,
	 "waiting without sleep (spinning, yielding) took 10 % of the time, most for sort (sort.c:102): wait "
	 "for a condition, or hold spin locks for less time"},
	{ADVICE_LIST_SEARCHES, list_search, 250, 249,
	 "searching lists from their begin took 25 % of the time, most for unique (unique.py:102): a set or a "
	 "dictionary finds without a search"},
	{ADVICE_LIST_SHIFTS, list_shift, 250, 249,
	 "moving the elements of lists took 25 % of the time, most for put (queue.py:102): insert and remove "
	 "at the end, or use a deque"},
	{ADVICE_LOOP_CALLS, loop_call, 250, 249,
	 "calls that keep an event loop waiting (…Sync) took 25 % of the time, most in login (login.js:100): "
	 "use those with a callback or a promise"},
	{ADVICE_TABLE_SCANS, table_scan, 250, 249,
	 "reading all rows of tables took 25 % of the time: an index on what is searched for leads to the "
	 "rows that match"},
	{ADVICE_COMMANDS, command, 250, 249,
	 "the server ran lrangeCommand for 25 % of the time, and no other command meanwhile: ask for less at a "
	 "time"},
	{ADVICE_LOOP_SLEEPS, loop_sleep, 100, 99,
	 "an event loop stood still for 0.1 s because mail (mail.c:105) slept: wait there without blocking the "
	 "others, or in a thread"},
	{ADVICE_LOOP_SLEEPS, loop_child, 100, 99,
	 "an event loop stood still for 0.1 s because resize (images.py:104) waited (child): wait there without "
	 "blocking the others, or in a thread"},
	{ADVICE_SLEEPS, retries, 250, 249,
	 "the program slept 0.2 s in retry (client.c:103), longer than it ran: wait for what it needs, not for "
	 "a time"},
	{ADVICE_SMALL_CALLS, small_calls, 250, 249,
	 "reading and writing files took 25 % of the time, and hardly copied anything, most for log (log.c:102): "
	 "collect bytes in a buffer, for fewer calls"},
	{ADVICE_SIGNALS, signals, 100, 99,
	 "delivering signals took 10 % of the time, most in spin (spin.c:102): use fewer, or a slower timer"},
	{ADVICE_STARTS, starts, 250, 249,
	 "starting and ending processes took 25 % of the time, most for list_all (list.c:102): do the work of "
	 "many in one"},
	{ADVICE_COPYING, copying, 250, 249,
	 "copying memory took 25 % of the time, most for take (queue.cc:102): append to large objects in place, "
	 "and do not move or copy them whole"},
	{ADVICE_COPYING, java_copying, 250, 249,
	 "copying memory took 25 % of the time, most for org.example.Shop.csv (Shop.java:100): append to large "
	 "objects in place, and do not move or copy them whole"},
	{ADVICE_STRING_ENDS, string_ends, 250, 249,
	 "finding the ends of strings took 25 % of the time, most for join (text.c:102): keep the lengths of "
	 "long strings"},
	{ADVICE_EXCEPTIONS, exceptions, 100, 99,
	 "throwing exceptions took 10 % of the time, most for parse (parse.cc:102): return frequent failures "
	 "as values"},
	{ADVICE_DISK, disk_wait, 250, 249,
	 "threads waited 0.2 s for the disk in save (order.c:103), 0.25 at a time: read or write less, or "
	 "more at once"},
	{ADVICE_SERIAL, serial_link, 501, 490,
	 "just one thread ran for 50 % of the time, on 4 CPUs, most of it in ld: run more jobs at "
	 "a time, or split that one"},
	{ADVICE_STARVED, starved, 200, 199,
	 "threads waited 0.2 s for CPUs that other programs used, mostly make, 10 % of the time for which "
	 "they had work: run them at another time, or with less priority"},
	{ADVICE_CPU_LIMIT, limited, 100, 99,
	 "the CPU limit of /box held threads back in 10 % of its periods: raise it, or use fewer threads"},
	{ADVICE_OVERSUBSCRIBED, oversubscribed, 2000, 1999,
	 "1.5 threads per CPU wanted to run, on 2 CPUs: use as many threads as there are CPUs"},
	{ADVICE_PAGE_FAULTS, page_faults, 100, 99,
	 "page faults on new memory took 10 % of the time, most in fill (fill.c:102): keep memory for reuse, "
	 "or use huge pages (madvise(2))"},
	{ADVICE_ALLOCATION, allocation, 200, 199,
	 "allocating and freeing memory took 20 % of the time, most for parse (parse.c:102): reuse "
	 "objects, or allocate many at once"},
	{ADVICE_COLLECTION, collection, 100, 99,
	 "garbage collection took 10 % of the time, most below handle (app.go:102): allocate less, "
	 "or give the heap more room"},
	{ADVICE_COLLECTION, collector_thread, 100, 99,
	 "garbage collection took 10 % of the time; the program itself ran mostly in "
	 "org.example.Shop.sell (Shop.java:100): allocate less, or give the heap more room"},
	{ADVICE_COMPILING, compiler_thread, 250, 249,
	 "Java's compilers took 25 % of the time; the program itself ran mostly in "
	 "org.example.Shop.sell (Shop.java:100): this pays in long runs; in short ones, leave the second "
	 "compiler out (-XX:TieredStopAtLevel=1)"},
	{ADVICE_INTERPRETER_LOCK, interpreter_lock, 334, 333,
	 "threads waited 0.3 s for the interpreter's lock, 25 % of the time for which they had work, most in spin "
	 "(spin.py:103): use processes in place of threads"},
	{ADVICE_REGEX, regex, 250, 249,
	 "regular expressions took 25 % of the time, most for check (check.c:102): repetitions "
	 "within repetitions take exponential time"},
	{ADVICE_IMPORTS, imports, 250, 249,
	 "importing modules took 25 % of the time, most for load_model (model.py:102): import only what is "
	 "needed, when it is needed"},
	{ADVICE_REGEX, regex_of_v8, 250, 249,
	 "regular expressions took 25 % of the time, most for check (check.js:100): repetitions "
	 "within repetitions take exponential time"},
	{ADVICE_UNOPTIMIZED, unoptimized, 100, 99,
	 "functions that an optimizing compiler inlines took 10 % of the time, most for sum "
	 "(sum.cc:102): build with optimization"},
	{ADVICE_NAMELESS, nameless, 100, 99,
	 "10 % of the time is in code without names, most in libfast.so.1: install or name its "
	 "debug information"},
	{ADVICE_MADE_CODE, made_code, 100, 99,
	 "10 % of the time is in code without names, made at run time by luajit: find out how to "
	 "have it named"},
	{ADVICE_TRUFFLE, truffle, 250, 249,
	 "25 % of the time is in a language on Truffle, whose functions are data of its interpreter: its "
	 "own --cpusampler names them"},
	{ADVICE_COARSE, coarse, 620, 619,
	 "a sample count of 380 determines shares only to ±5 %: record for longer, or at a higher rate"},
	{ADVICE_COARSE, coarse_sums, 620, 619,
	 "a sample count of 380 determines shares only to ±5 %: record for longer, or at a higher rate"},
};

/* Returns the rule's text, which the caller frees; NULL if it gives no advice. */
static char *advice_of(const struct rule_case *row, uint32_t part)
{
	struct query_filter filter = QUERY_FILTER_ALL;
	struct profile *p = row->make(part);
	struct advice_list list;
	struct digest digest;
	struct query q;
	char *text = NULL;

	assert_int_equal(query_select(&q, p, &filter, NULL), 0);
	digest_make(&digest, &q, &filter, QUERY_ORDER_SELF, 10);
	advice_find(&list, &q, &filter, &digest);
	for (size_t i = 0; i < list.rows.count; i++) {
		const struct advice *advice = &list.rows.items[i];

		if (i && advice->id < ADVICE_NAMELESS)
			assert_true(advice[-1].id < ADVICE_NAMELESS &&
				    advice->weight <= advice[-1].weight);
		if (advice->id == row->id)
			text = xstrdup(advice->text);
	}
	advice_list_release(&list);
	digest_release(&digest);
	query_release(&q);
	profile_free(p);
	return text;
}

TEST(test_advice_rules)
{
	bool has_case[ADVICE_COUNT] = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_free_ char *at = advice_of(&cases[i], cases[i].part);
		_cleanup_free_ char *below = advice_of(&cases[i], cases[i].below);

		if (!at)
			fail_msg("no advice at the threshold: %s", cases[i].text);
		assert_string_equal(at, cases[i].text);
		if (below)
			fail_msg("below the threshold: %s", below);
		has_case[cases[i].id] = true;
	}
	for (size_t id = 0; id < ADVICE_COUNT; id++)
		assert_true(has_case[id]);
}

TEST(calls_that_copy_much_are_no_small_ones)
{
	const struct rule_case row = {.id = ADVICE_SMALL_CALLS, .make = larger_calls};

	assert_null(advice_of(&row, 300));
}

/* A few processes may spend all their time on starting. */
static struct profile *few_starts(uint32_t part)
{
	return run_part(SERVE CALL("__x64_sys_execve"), part);
}

/* It sleeps for less time than it runs. */
static struct profile *short_sleeps(uint32_t part)
{
	return wait_part(SERVE "retry /app client.c\nusleep libc.so.6 -", "[clock_nanosleep] - -",
			 part, IDLE_TIMER);
}

/* The same share of fewer samples. */
static struct profile *few_samples(uint32_t part)
{
	struct profile *p = new_profile();

	p->meta.end_ns = 8 * MS;
	for (uint32_t i = 0; i < 8; i++)
		stack_texts_add_sample(p, 1,
				       i < part ? SERVE "f /app f.c\nmalloc libc.so.6 -" : SERVE);
	return p;
}

/* Threads wait for CPUs more often than they run, and for hardly any time. */
static struct profile *short_queues(uint32_t part)
{
	struct profile *p = new_profile();

	stack_texts_add_sample(p, 10, SERVE);
	stack_texts_add_call(p, part, SERVE, "[queued] - -", IDLE_QUEUED);
	add_background(p, "make", 900);
	return p;
}

/* A compiler's thread beside one that spends most of its time in packages. */
static struct profile *compiler_of_packages(uint32_t part)
{
	struct profile *p = new_profile();

	stack_texts_add_sample(p, 100, SERVE "Shop.init - /app/Shop.java");
	stack_texts_add_sample(p, 900 - part, "run - /a/site-packages/run.py");
	stack_texts_add_thread(p, "C2 CompilerThre");
	stack_texts_add_sample(p, part, "compile libjvm.so -");
	return p;
}

TEST(a_function_is_named_for_a_quarter_of_the_time)
{
	const struct rule_case row = {.id = ADVICE_COMPILING, .make = compiler_of_packages};
	_cleanup_free_ char *few = advice_of(&row, 500), *most = advice_of(&row, 600);

	assert_null(strstr(few, "Shop.init"));
	assert_non_null(strstr(most, "; the program itself ran mostly in Shop.init"));
}

TEST(rules_have_conditions)
{
	const struct rule_case working_row = {.id = ADVICE_SPINNING, .make = omp_working};

	const struct rule_case copies_row = {.id = ADVICE_COPYING, .make = collected_copies};
	const struct rule_case few_row = {.id = ADVICE_ALLOCATION, .make = few_samples};
	const struct rule_case queues_row = {.id = ADVICE_STARVED, .make = short_queues};
	const struct rule_case starts_row = {.id = ADVICE_STARTS, .make = few_starts};
	const struct rule_case sleeps_row = {.id = ADVICE_SLEEPS, .make = short_sleeps};
	_cleanup_free_ char *five = advice_of(&few_row, 5);

	assert_null(advice_of(&working_row, 900));
	assert_null(advice_of(&starts_row, 900));
	assert_null(advice_of(&sleeps_row, 900));
	assert_null(advice_of(&copies_row, 900));
	assert_null(advice_of(&few_row, 4));
	assert_non_null(five);
	assert_null(advice_of(&queues_row, 49));
}
