/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/wait_frames.h"

#include <fnmatch.h>

#include "lib/model/meaning/categories.h"
#include "lib/model/meaning/marker_completion.h"

/* Number of a program's innermost functions to check. */
#define PARKED_USER_FRAMES 16

/* A function that does not wait itself but is called by functions that do. */
#define SERVES UINT8_MAX

/* By prefix of the name; the first match wins. */
static const struct {
	const char *prefix;
	uint8_t parked;
} parked_prefixes[] = {
#define PARKED_PREFIX(prefix, parked) {prefix, parked},
#include "lib/model/meaning/parked_prefixes.def"
};

static uint8_t find_prefix(const char *name)
{
	/* Rust's methods: "<tokio::runtime::Context>::park". */
	name += *name == '<';
	for (size_t i = 0; i < sizeof(parked_prefixes) / sizeof(*parked_prefixes); i++) {
		if (text_starts_with(name, parked_prefixes[i].prefix))
			return parked_prefixes[i].parked;
	}
	return PARKED_NOT;
}

/* Returns the name of a frame's function; "" if it has none. */
static const char *parked_frame_name(const struct profile *p, const struct frame *frame)
{
	return frame->func == NO_FUNC
		       ? ""
		       : strings_get(&p->strings, p->funcs.rows.items[frame->func].name);
}

static const char *name_at(const struct profile *p, stack_id id)
{
	return parked_frame_name(p, profile_frame_of(p, id));
}

static bool is_named(const struct profile *p, stack_id id)
{
	return profile_frame_is_named(p, profile_frame_of(p, id));
}

static const char *module_name_at(const struct profile *p, stack_id id)
{
	module_id module = profile_frame_of(p, id)->module;

	return module == NO_MODULE ? ""
				   : strings_get(&p->strings, p->modules.rows.items[module].name);
}

bool wait_frame_is_of_c_library(const struct profile *p, stack_id id)
{
	return id != NO_STACK && module_name_is_c_library(module_name_at(p, id));
}

/*
 * Returns the outermost of the C library's frames at the end of a wait: the function called by the
 * program. Inner ones differ between releases, and only debug information names them. Without such
 * frames, returns `id`, the innermost frame of the program.
 */
static stack_id parked_call(const struct profile *p, stack_id id)
{
	while (wait_frame_is_of_c_library(p, id) &&
	       wait_frame_is_of_c_library(p, p->stacks.rows.items[id].parent))
		id = p->stacks.rows.items[id].parent;
	return id;
}

/*
 * True if none of those frames has a name although exported functions have: the called function has
 * jumped to another one. Semaphores and joins do that, locks hardly ever. `id`: as above.
 */
static bool parked_is_by_jump(const struct profile *p, stack_id id)
{
	bool has_frames = false;

	for (; wait_frame_is_of_c_library(p, id); id = p->stacks.rows.items[id].parent) {
		if (!profile_is_fde_frame(p, profile_frame_of(p, id)))
			return false;
		has_frames = true;
	}
	return has_frames;
}

/*
 * Returns whether a function belongs to a thread of a pool. Short names count only together with
 * their callee: those of libuv and of Python's thread pool. V8's threads are recognized without a
 * name: they start with the loop that waits.
 */
static bool is_pool_of_library(const struct profile *p, stack_id id, const char *callee)
{
	const char *name = name_at(p, id);
	stack_id caller = p->stacks.rows.items[id].parent;

	if (text_starts_with(callee, "uv_cond_"))
		return strcmp(name, "worker") == 0 ||
		       (caller != NO_STACK && strcmp(name_at(p, caller), "start_thread") == 0);
	return strcmp(name, "_worker") == 0 && strstr(callee, "ectorcall");
}

enum parked parked_of_stack(const struct profile *p, stack_id id)
{
	const char *name, *callee = "";

	id = parked_call(p, id);
	/* A function without a name can be identified only by a caller with a single purpose. */
	if (wait_frame_is_of_c_library(p, id) && !is_named(p, id)) {
		id = p->stacks.rows.items[id].parent;
		if (id == NO_STACK || find_prefix(name_at(p, id)) != SERVES)
			return PARKED_NOT;
	}
	for (int i = 0; i < PARKED_USER_FRAMES && id != NO_STACK; i++) {
		uint8_t parked;

		name = name_at(p, id);
		parked = is_pool_of_library(p, id, callee) ? PARKED_FOR_WORK : find_prefix(name);
		if (parked != SERVES)
			return (enum parked)parked;
		callee = name;
		id = p->stacks.rows.items[id].parent;
	}
	return PARKED_NOT;
}

static bool is_java_worker(const char *name)
{
	static const char *const globs[] = {"Finalizer", "Common-Cleaner", "Cleaner-*",
					    "pool-*-thread-*", "ForkJoinPool*"};

	return array_find(globs, it, fnmatch(*it, name, 0) == 0);
}

/* True for functions that wait for work given to another thread. */
bool wait_frame_is_for_result(const struct profile *p, stack_id id)
{
	static const char *const functions[] = {"java.util.concurrent.FutureTask.get",
						"java.util.concurrent.CompletableFuture.",
						"java.util.concurrent.CountDownLatch.await",
						"java.lang.Thread.join",
						"pthread_join",
						"std::future",
						"std::__basic_future",
						"Future.result"};
	const char *name = name_at(p, id);

	return array_find(functions, it, text_starts_with(name, *it));
}

bool wait_is_in_loop(const struct profile *p, stack_id stack)
{
	static const char *const callers[] = {"Handle._run", "g_main_dispatch",
					      "event_process_active", "ev_invoke_pending",
					      "QCoreApplication::notifyInternal2"};

	for (; stack != NO_STACK; stack = p->stacks.rows.items[stack].parent) {
		const char *name = name_at(p, stack);

		if (array_find(callers, it, text_starts_with(name, *it)))
			return true;
	}
	return false;
}

/* True for a condition on which Java code waits, but for a result. */
static bool is_java_wait(const struct profile *p, stack_id id)
{
	const struct stack *stack = &p->stacks.rows.items[id];
	const struct frame *label = &p->frames.rows.items[stack->frame];
	bool is_parked = false;

	if (label->kind != PROFILE_FRAME_LABEL || label->category != CATEGORY_IDLE ||
	    label->subcategory != IDLE_CONDITION)
		return false;
	id = stack->parent;
	for (int i = 0; i < 2 * PARKED_USER_FRAMES && id != NO_STACK; i++) {
		const char *name = name_at(p, id);

		if (wait_frame_is_for_result(p, id))
			return false;
		is_parked |= strcmp(name, "Parker::park") == 0 ||
			     strcmp(name, "ObjectMonitor::wait") == 0;
		id = p->stacks.rows.items[id].parent;
	}
	return is_parked;
}

stack_id wait_frames_mark_parked(struct profile *p, stack_id id)
{
	struct stack stack = p->stacks.rows.items[id];
	struct frame label = p->frames.rows.items[stack.frame];

	label.subcategory = IDLE_FOR_WORK;
	return stacks_intern(&p->stacks, stack.parent, frames_intern(&p->frames, &label));
}

/*
 * Marks waits of Java threads by thread name, because their functions have no names. Rewrites the
 * stacks of samples.
 */
static void parked_mark_java(struct profile *p)
{
	vec_for_each(&p->threads.rows, struct profile_thread *, thread) {
		stack_id before = NO_STACK, marked = NO_STACK;

		if (!is_java_worker(strings_get(&p->strings, thread->name)))
			continue;
		samples_change_each(&thread->samples, sample) {
			if (sample->stack == NO_STACK || sample->event)
				continue;
			if (sample->stack != before) {
				before = sample->stack;
				marked = is_java_wait(p, before)
						 ? wait_frames_mark_parked(p, before)
						 : before;
			}
			sample->stack = marked;
		}
	}
}

/* Reasons for which kernel functions wait. */
enum meaning {
	MEANS_NOTHING,
	MEANS_WORK, /* an event, or work to do */
	MEANS_TIMER,
	MEANS_LOCK,
	MEANS_FUTEX, /* a lock, unless the program's functions show something else */
	MEANS_CONDITION,
	MEANS_DISK, /* a disk request, or a page that is read from disk */
	MEANS_FAULT,
	MEANS_PIPE,
	MEANS_SOCKET,
	MEANS_CHILD,
	NOT_ASKED = UINT8_MAX,
};

/* By prefix of the name; the first match wins. */
static const struct {
	const char *prefix;
	uint8_t meaning;
} prefixes[] = {
	{"futex_wait", MEANS_FUTEX},
	{"__futex_wait", MEANS_FUTEX},
	{"rwsem_down_", MEANS_LOCK},
	{"__mutex_lock", MEANS_LOCK},
	{"__ww_mutex_lock", MEANS_LOCK},
	{"mutex_lock", MEANS_LOCK},
	{"rt_mutex_slow", MEANS_LOCK},
	{"__rt_mutex", MEANS_LOCK},
	{"__down_", MEANS_LOCK},
	{"percpu_rwsem_wait", MEANS_LOCK},
	{"flock_lock_inode_wait", MEANS_LOCK},
	{"posix_lock_inode_wait", MEANS_LOCK},
	{"locks_lock_inode_wait", MEANS_LOCK},
	{"do_lock_file_wait", MEANS_LOCK},
	{"__do_semtimedop", MEANS_LOCK},
	{"do_semtimedop", MEANS_LOCK},
	{"pipe_", MEANS_PIPE},
	{"anon_pipe_", MEANS_PIPE},
	{"fifo_open", MEANS_PIPE},
	{"wait_for_partner", MEANS_PIPE},
	{"splice_from_pipe", MEANS_PIPE},
	{"splice_to_pipe", MEANS_PIPE},
	{"unix_", MEANS_SOCKET},
	{"sk_wait_data", MEANS_SOCKET},
	{"sk_stream_wait", MEANS_SOCKET},
	{"inet_csk_", MEANS_SOCKET},
	{"inet_wait_for_connect", MEANS_SOCKET},
	{"__inet_stream_connect", MEANS_SOCKET},
	{"__skb_wait_for_more_packets", MEANS_SOCKET},
	{"tcp_", MEANS_SOCKET},
	{"udp_", MEANS_SOCKET},
	{"netlink_", MEANS_SOCKET},
	{"vsock_", MEANS_SOCKET},
	{"sock_", MEANS_SOCKET},
	/* Helpers of all kinds of waits; do_wait() is for children. */
	{"do_wait_", MEANS_NOTHING},
	{"do_wait", MEANS_CHILD},
	{"kernel_wait4", MEANS_CHILD},
	{"wait_for_vfork_done", MEANS_CHILD},
	{"do_epoll_wait", MEANS_WORK},
	{"ep_poll", MEANS_WORK},
	{"do_poll", MEANS_WORK},
	{"do_sys_poll", MEANS_WORK},
	{"do_select", MEANS_WORK},
	{"do_nanosleep", MEANS_TIMER},
	{"timerfd_read", MEANS_TIMER},
	{"eventfd_read", MEANS_WORK},
	{"hrtimer_nanosleep", MEANS_TIMER},
	{"do_sigtimedwait", MEANS_WORK},
	{"sigsuspend", MEANS_WORK},
	{"io_schedule", MEANS_DISK},
	{"submit_bio_wait", MEANS_DISK},
	{"folio_wait_", MEANS_DISK},
	{"wait_on_page_", MEANS_DISK},
	{"jbd2_log_wait", MEANS_DISK},
	{"jbd2_journal", MEANS_DISK},
	{"xfs_log_force", MEANS_DISK},
	{"__iomap_dio_rw", MEANS_DISK},
	{"blk_mq_get_tag", MEANS_DISK},
	{"rq_qos_wait", MEANS_DISK},
	{"p9_client_rpc", MEANS_DISK},
	{"nfs", MEANS_DISK},
	{"fuse_", MEANS_DISK},
	{"exc_page_fault", MEANS_FAULT},
	{"asm_exc_page_fault", MEANS_FAULT},
	{"do_user_addr_fault", MEANS_FAULT},
	{"handle_mm_fault", MEANS_FAULT},
	{"do_page_fault", MEANS_FAULT},
	{"do_mem_abort", MEANS_FAULT},
};

/* Number of a program's innermost functions to check. */
#define USER_FRAMES 12

/* Functions that use a futex to wait for something other than a lock. */
static const char *const conditions[] = {
	"pthread_cond_",    "__pthread_cond_", "___pthread_cond_",  "cnd_",
	"pthread_barrier_", "pthread_join",    "pthread_timedjoin", "__pthread_timedjoin",
	"pthread_clock",    "__pthread_clock", "thrd_join",	    "sem_",
	"__new_sem_",	    "runtime.note",    "ethr_event_",
};

/* Functions with which Python takes a lock, and waits for conditions. The second: 3.14 and newer.
 */
static const char *const python_locks[] = {"PyThread_acquire_lock", "_PyMutex_LockTimed"};

/*
 * Locks implemented with conditions: those of Python's and Ruby's interpreters, monitors of Java,
 * and the locks of Java's library, whose conditions wait in other functions; those of databases.
 */
static const char *const locks[] = {
	"take_gil",
	"drop_gil",
	"gvl_acquire",
	"thread_sched_to_running",
	"thread_sched_wait_running_turn",
	"ObjectMonitor::enter",
	"ObjectMonitor::EnterI",
	"ObjectMonitor::ReenterI",
	"ObjectMonitor::reenter",
	"java.util.concurrent.locks.ReentrantLock",
	"java.util.concurrent.locks.ReentrantReadWriteLock",
	"java.util.concurrent.locks.StampedLock.acquire",
	"Thread::Mutex#lock",
	"Thread::Mutex#synchronize",
	"Mutex#lock",
	"Mutex#synchronize",
	"Monitor#enter",
	"Monitor#mon_enter",
	"Monitor#synchronize",
	/* MariaDB and MySQL: locks of rows and tables. */
	"lock_wait",
	"MDL_wait::timed_wait",
	"MDL_context::acquire_lock",
	"handler::ha_",
};

static bool begins_with_one(const char *name, const char *const *list, size_t count)
{
	return items_find(list, count, it, text_starts_with(name, *it));
}

#define BEGINS_WITH_ONE(name, list) begins_with_one(name, list, sizeof(list) / sizeof(*(list)))

static bool is_condition(const char *name)
{
	/* Rust's functions are embedded in other names, Abseil's in the namespace of a version. */
	static const char *const parts[] = {
		"Condvar::wait",     "Condvar>::wait",
		"Parker>::park",     "Parker::park",
		"::CondVar::Wait",   "::Notification::WaitFor",
		"::Mutex::Await",    "::BlockingCounter::Wait",
		"::Mutex::LockWhen", "__atomic_futex_unsigned_base::",
	};

	return BEGINS_WITH_ONE(name, conditions) || array_find(parts, it, strstr(name, *it));
}

/* Returns the path of a frame's source file; "" if it is not known. */
static const char *file_at(const struct profile *p, stack_id id)
{
	func_id func = profile_frame_of(p, id)->func;
	source_file_id file = func == NO_FUNC ? NO_SOURCE_FILE : p->funcs.rows.items[func].file;

	return file == NO_SOURCE_FILE
		       ? ""
		       : strings_get(&p->strings, p->source_files.rows.items[file].path);
}

/*
 * Functions that wait for an interpreter's lock, recognized in stripped files: they wait by
 * `callee`, and an interpreted function, or one of `callers`, calls them directly or by few others
 * without names.
 */
static const struct interpreter_lock {
	const char *interpreter; /* prefix of its program, and of its library without "lib" */
	const char *callee;
	const char *name;
	const char *callers[8];
} interpreter_locks[] = {
	{"python", "pthread_cond_timedwait", "take_gil", {"_PyEval_", "PyEval_", "PyGILState_"}},
	{"python", "pthread_cond_wait", "drop_gil", {"_PyEval_", "PyEval_", "PyGILState_"}},
	{"ruby",
	 "rb_native_cond_wait",
	 "gvl_acquire",
	 {"rb_threadptr_execute_interrupts", "rb_thread_check_ints", "rb_thread_schedule",
	  "rb_thread_io_blocking_region", "rb_thread_fd_", "rb_thread_wait_fd", "rb_io_wait"}},
};

/* Number of functions without names between an interpreter's lock and a known function. */
#define LOCK_FRAMES 2

/* True for a function of a script; Ruby's own call functions in C, which wait for other things. */
static bool is_of_script(const struct profile *p, stack_id id)
{
	const char *file = file_at(p, id);

	return *file && profile_frame_of(p, id)->module == NO_MODULE &&
	       !text_starts_with(file, "<internal:");
}

static bool takes_interpreter_lock(const struct profile *p, stack_id id,
				   const struct interpreter_lock *lock)
{
	const char *module = module_name_at(p, id);

	if (!text_starts_with(module + (text_starts_with(module, "lib") ? 3 : 0),
			      lock->interpreter))
		return false;
	for (int i = 0; i <= LOCK_FRAMES; i++) {
		const char *name;

		if (!profile_is_fde_frame(p, profile_frame_of(p, id)) ||
		    strcmp(module_name_at(p, id), module) != 0)
			return false;
		id = p->stacks.rows.items[id].parent;
		if (id == NO_STACK)
			return false;
		name = name_at(p, id);
		if (is_of_script(p, id) ||
		    array_find(lock->callers, it, *it && text_starts_with(name, *it)))
			return true;
	}
	return false;
}

/*
 * Names the function without a name that waits for an interpreter's lock at the end of a stack, so
 * that its callers are seen to wait for that lock.
 */
static void name_interpreter_lock(struct profile *p, stack_id id)
{
	while (id != NO_STACK && profile_frame_of(p, id)->kind == PROFILE_FRAME_KERNEL)
		id = p->stacks.rows.items[id].parent;
	if (!wait_frame_is_of_c_library(p, id))
		return;
	id = parked_call(p, id);
	for (int i = 0; i < 2; i++) {
		const char *callee = name_at(p, id);
		const struct interpreter_lock *lock;

		id = p->stacks.rows.items[id].parent;
		if (id == NO_STACK)
			return;
		lock = array_find(interpreter_locks, it,
				  text_starts_with(callee, it->callee) &&
					  takes_interpreter_lock(p, id, it));
		if (lock) {
			struct func *func = &p->funcs.rows.items[profile_frame_of(p, id)->func];

			func->name = strings_intern(&p->strings, lock->name);
			func->is_named = true;
			return;
		}
	}
}

/* True in Python's SimpleQueue.get(), whose functions may have no names: they have their own file.
 */
static bool is_in_queue(const struct profile *p, stack_id id)
{
	return text_starts_with(name_at(p, id), "_queue_SimpleQueue_get") ||
	       text_starts_with(module_name_at(p, id), "_queue.");
}

/*
 * Classifies a wait for one of Python's locks: in conditions, joins and queues, another thread
 * releases it as a signal. `id`: a caller of the function that takes the lock.
 */
static uint8_t meaning_of_python_lock(const struct profile *p, stack_id id)
{
	bool is_queue = false;

	for (int i = 0; i < USER_FRAMES && id != NO_STACK; i++) {
		const char *name = name_at(p, id), *file = file_at(p, id);

		is_queue |= is_in_queue(p, id);
		if (!text_ends_with(file, ".py")) {
			id = p->stacks.rows.items[id].parent;
			continue;
		}
		if (is_queue && ((strcmp(name, "_worker") == 0 &&
				  text_ends_with(file, "/concurrent/futures/thread.py")) ||
				 text_ends_with(file, "/gunicorn/arbiter.py")))
			return MEANS_WORK;
		if (text_ends_with(file, "/threading.py") &&
		    (text_ends_with(name, "wait") || text_ends_with(name, "_wait_for_tstate_lock")))
			return MEANS_CONDITION;
		break;
	}
	return is_queue ? MEANS_CONDITION : MEANS_LOCK;
}

/* Number of the innermost functions to check: those of locks call others. */
#define RUST_FRAMES 4

/* True for names that only Rust's functions have, or functions of crates that wait. */
static bool is_rust(const char *name)
{
	static const char *const crates[] = {
		"<",	   "std::sys::",   "std::sync::", "std::thread::",
		"tokio::", "rayon_core::", "crossbeam_",  "parking_lot"};

	return BEGINS_WITH_ONE(name, crates) || strstr(name, "::{closure") ||
	       strstr(name, "::{{closure");
}

/*
 * True if the function that made the system call itself, without the C library, does not take a
 * lock. One without a name mostly belongs to a thread without work. Rust waits for locks in
 * functions that are never inlined, such as lock_contended() and lock_slow().
 */
static bool is_own_condition(const struct profile *p, stack_id id)
{
	bool is_of_rust = false;

	if (wait_frame_is_of_c_library(p, id) && strcmp(name_at(p, id), "syscall") == 0)
		id = p->stacks.rows.items[id].parent;
	if (id == NO_STACK || wait_frame_is_of_c_library(p, id))
		return false;
	if (!is_named(p, id))
		return true;
	for (int i = 0; i < RUST_FRAMES && id != NO_STACK && is_rust(name_at(p, id)); i++) {
		const char *name = name_at(p, id);

		if (strstr(name, "_contended") || strstr(name, "_slow"))
			return false;
		is_of_rust = true;
		id = p->stacks.rows.items[id].parent;
	}
	return is_of_rust;
}

/* Classifies a futex wait by the program's functions, of which `id` is the innermost. */
static uint8_t meaning_of_futex(const struct profile *p, stack_id id)
{
	enum parked parked = parked_of_stack(p, id);
	uint8_t meaning = MEANS_LOCK;

	if (parked != PARKED_NOT)
		return parked == PARKED_FOR_TIME ? MEANS_TIMER : MEANS_WORK;
	if (parked_is_by_jump(p, id) || is_own_condition(p, id))
		meaning = MEANS_CONDITION;
	id = parked_call(p, id);
	for (int i = 0; i < USER_FRAMES && id != NO_STACK; i++) {
		const char *name = name_at(p, id);

		id = p->stacks.rows.items[id].parent;
		if (BEGINS_WITH_ONE(name, python_locks))
			return meaning_of_python_lock(p, id);
		if (BEGINS_WITH_ONE(name, locks))
			return MEANS_LOCK;
		/* Ruby sleeps in a condition, maybe in a block that holds a lock. */
		if (strcmp(name, "Kernel#sleep") == 0)
			return MEANS_TIMER;
		if (is_condition(name))
			meaning = MEANS_CONDITION;
	}
	return meaning;
}

/*
 * Functions that wait for an event caused by others: those of PostgreSQL; and those that wait for
 * the answer of a server, of glibc, Java, Python, Ruby, PHP, and clients of databases and of HTTP.
 */
static const struct {
	const char *prefix;
	uint8_t meaning;
} events[] = {
	{"ProcSleep", MEANS_LOCK},
	{"ProcWaitForSignal", MEANS_LOCK},
	{"ConditionVariableSleep", MEANS_CONDITION},
	{"ConditionVariableTimedSleep", MEANS_CONDITION},
	{"SyncRepWaitForLSN", MEANS_CONDITION},
	{"getaddrinfo", MEANS_SOCKET},
	{"gethostby", MEANS_SOCKET},
	{"getnameinfo", MEANS_SOCKET},
	{"res_", MEANS_SOCKET},
	{"sun.nio.ch.NioSocketImpl.implRead", MEANS_SOCKET},
	{"sun.nio.ch.NioSocketImpl.timedRead", MEANS_SOCKET},
	{"sun.nio.ch.NioSocketImpl.connect", MEANS_SOCKET},
	{"sock_connect", MEANS_SOCKET},
	{"sock_recv", MEANS_SOCKET},
	{"sock_send", MEANS_SOCKET},
	{"rsock_connect", MEANS_SOCKET},
	{"php_network_connect_socket", MEANS_SOCKET},
	{"std::net::tcp::TcpStream::connect", MEANS_SOCKET},
	{"PQexec", MEANS_SOCKET},
	{"PQgetResult", MEANS_SOCKET},
	{"PQconnect", MEANS_SOCKET},
	{"mysql_real_", MEANS_SOCKET},
	{"curl_easy_perform", MEANS_SOCKET},
};

/* True for Python's functions of sockets with time-outs, except those that wait for clients. */
static bool is_python_socket(const struct profile *p, stack_id id)
{
	const char *file = file_at(p, id);

	return (text_ends_with(file, "/socket.py") || text_ends_with(file, "/ssl.py")) &&
	       !text_ends_with(name_at(p, id), "accept");
}

/* Classifies a wait for an event by the program's functions. */
static uint8_t meaning_of_event(const struct profile *p, stack_id id)
{
	while (id != NO_STACK && profile_frame_of(p, id)->kind == PROFILE_FRAME_KERNEL)
		id = p->stacks.rows.items[id].parent;
	id = parked_call(p, id);
	for (int i = 0; i < USER_FRAMES && id != NO_STACK; i++) {
		const char *name = name_at(p, id);

		for (size_t e = 0; e < sizeof(events) / sizeof(*events); e++) {
			if (text_starts_with(name, events[e].prefix))
				return events[e].meaning;
		}
		if (is_python_socket(p, id))
			return MEANS_SOCKET;
		id = p->stacks.rows.items[id].parent;
	}
	return MEANS_WORK;
}

/* SQLite sleeps for nothing but the lock of a database that others hold. */
static uint8_t meaning_of_sleep(const struct profile *p, stack_id id)
{
	const char *name, *module;

	while (id != NO_STACK && (profile_frame_of(p, id)->kind == PROFILE_FRAME_KERNEL ||
				  wait_frame_is_of_c_library(p, id)))
		id = p->stacks.rows.items[id].parent;
	if (id == NO_STACK)
		return MEANS_TIMER;
	name = name_at(p, id);
	module = module_name_at(p, id);
	if (text_starts_with(name, "sqlite3_sleep"))
		return MEANS_TIMER;
	return text_starts_with(name, "unixSleep") || text_starts_with(module, "libsqlite3.so")
		       ? MEANS_LOCK
		       : MEANS_TIMER;
}

static uint8_t find_meaning(const char *name)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		if (text_starts_with(name, prefixes[i].prefix))
			return prefixes[i].meaning;
	}
	return MEANS_NOTHING;
}

/*
 * Classifies a wait for a pipe: Python's processes of pools, and the tracker of their resources,
 * read their next task from one. So do those of packages that began as copies of multiprocessing.
 * Bash reads the output of a child until it ends.
 */
static uint8_t meaning_of_pipe(const struct profile *p, stack_id id)
{
	static const char *const pools[] = {"/multiprocessing/pool.py", "/billiard/pool.py",
					    "/multiprocess/pool.py", "/loky/process_executor.py",
					    "/concurrent/futures/process.py"};
	static const char *const folders[] = {"/multiprocessing/", "/billiard/", "/multiprocess/",
					      "/loky/"};
	bool is_in_connection = false;

	for (int i = 0; i < 3 * USER_FRAMES && id != NO_STACK; i++) {
		const char *file = file_at(p, id);
		bool is_in_folder = array_find(folders, it, strstr(file, *it));

		if (strcmp(name_at(p, id), "command_substitute") == 0)
			return MEANS_CHILD;
		is_in_connection |= is_in_folder && text_ends_with(file, "/connection.py");
		if (text_ends_with(file, "/multiprocessing/resource_tracker.py") ||
		    (is_in_connection && array_find(pools, it, text_ends_with(file, *it))))
			return MEANS_WORK;
		if (*file && profile_frame_of(p, id)->module == NO_MODULE && !is_in_folder)
			break;
		id = p->stacks.rows.items[id].parent;
	}
	return MEANS_PIPE;
}

/* Classifies a kernel frame. `known`: results by function, or NULL. */
static uint8_t meaning_of(const struct profile *p, const struct frame *frame, uint8_t *known)
{
	if (frame->func == NO_FUNC)
		return MEANS_NOTHING;
	if (!known)
		return find_meaning(parked_frame_name(p, frame));
	if (known[frame->func] == NOT_ASKED)
		known[frame->func] = find_meaning(parked_frame_name(p, frame));
	return known[frame->func];
}

/*
 * The innermost kernel function decides, except that a fault that reads from disk is a wait for the
 * disk.
 */
static uint8_t meaning_of_stack(const struct profile *p, stack_id id, uint8_t *known)
{
	uint8_t meaning, found = MEANS_NOTHING;

	for (; id != NO_STACK; id = p->stacks.rows.items[id].parent) {
		const struct frame *frame = profile_frame_of(p, id);

		if (frame->kind != PROFILE_FRAME_KERNEL)
			break;
		meaning = meaning_of(p, frame, known);
		if (meaning == MEANS_NOTHING || (found && meaning != MEANS_FAULT))
			continue;
		found = meaning;
		if (found != MEANS_DISK && found != MEANS_FUTEX)
			break;
	}
	return found == MEANS_FUTEX ? meaning_of_futex(p, id) : found;
}

static func_id page_fault(struct profile *p)
{
	const struct func func = {
		.name = strings_intern(&p->strings, "[page fault]"),
		.module = NO_MODULE,
		.file = NO_SOURCE_FILE,
		.is_named = true,
	};

	return funcs_intern(&p->funcs, &func);
}

static void refine(struct profile *p, struct frame *label, uint8_t meaning)
{
	static const uint8_t subcategories[] = {
		[MEANS_WORK] = IDLE_FOR_WORK,	    [MEANS_TIMER] = IDLE_TIMER,
		[MEANS_LOCK] = IDLE_LOCK,	    [MEANS_DISK] = IDLE_DISK,
		[MEANS_FAULT] = IDLE_FAULT,	    [MEANS_PIPE] = IDLE_PIPE,
		[MEANS_SOCKET] = IDLE_SOCKET,	    [MEANS_CHILD] = IDLE_CHILD,
		[MEANS_CONDITION] = IDLE_CONDITION,
	};

	if (meaning == MEANS_NOTHING)
		return;
	label->subcategory = subcategories[meaning];
	if (meaning == MEANS_FAULT)
		label->func = page_fault(p);
}

/*
 * Scheduler functions between the waiting function and the end of the stack. The kernel omits them
 * from the stack of a thread that is already asleep.
 */
static const char *const scheduler[] = {
	"__schedule",
	"schedule",
	"schedule_timeout",
	"schedule_preempt_disabled",
	"schedule_hrtimeout_range",
	"schedule_hrtimeout_range_clock",
	"io_schedule",
	"io_schedule_timeout",
	"do_nanosleep",
};

static bool is_scheduler(const struct profile *p, const struct frame *frame)
{
	const char *name = parked_frame_name(p, frame);

	if (frame->kind != PROFILE_FRAME_KERNEL)
		return false;
	return array_find(scheduler, it, strcmp(name, *it) == 0);
}

/* Returns the stack without the scheduler's innermost functions. */
static stack_id leave_scheduler(const struct profile *p, stack_id id)
{
	while (id != NO_STACK) {
		if (!is_scheduler(p, profile_frame_of(p, id)))
			break;
		id = p->stacks.rows.items[id].parent;
	}
	return id;
}

/* Refines a label on a stack. Returns the stack below the refined label. */
static stack_id refine_label(struct profile *p, stack_id stack, struct frame *label, uint8_t *known)
{
	uint8_t meaning;

	if (label->category == CATEGORY_IDLE && !idle_is_runnable(label->subcategory)) {
		meaning = meaning_of_stack(p, stack, known);
		/*
		 * Without names of kernel functions, only the system call shows that the wait is
		 * for an event. It also distinguishes a socket that waits for connections.
		 */
		if (meaning == MEANS_WORK ||
		    ((meaning == MEANS_NOTHING || meaning == MEANS_SOCKET) &&
		     label->subcategory == IDLE_FOR_WORK))
			meaning = meaning_of_event(p, stack);
		else if (meaning == MEANS_TIMER)
			meaning = meaning_of_sleep(p, stack);
		else if (meaning == MEANS_PIPE)
			meaning = meaning_of_pipe(p, stack);
		refine(p, label, meaning);
	}
	return leave_scheduler(p, stack);
}

stack_id wait_frames_add(struct profile *p, stack_id stack, frame_id label)
{
	struct frame frame = *frames_get(&p->frames, label);

	name_interpreter_lock(p, stack);
	stack = refine_label(p, stack, &frame, NULL);
	return stacks_intern(&p->stacks, stack, frames_intern(&p->frames, &frame));
}

/* True for methods of classes such as Mutex and LockGuard, and for functions of mutexes. */
static bool is_of_lock(const char *name)
{
	static const char *const words[] = {"Mutex", "Lock", "Guard", "Latch", "Semaphore"};
	size_t size = strcspn(name, "(");
	_cleanup_free_ char *class = xstrndup(name, size);
	char *method = strstr(class, "::"), *next;

	if (!method)
		return strstr(class, "mutex") || strstr(class, "rwlock");
	while ((next = strstr(method + 2, "::")))
		method = next;
	*method = '\0';
	return array_find(words, it, strstr(class, *it));
}

bool wait_frames_only_waits(const char *name)
{
	static const char *const waiters[] = {
		"WaitEventSetWait",  "WaitLatch",   "ProcSleep",     "ProcWaitForSignal",
		"WaitOnLock",	     "LockAcquire", "LWLockAcquire", "PGSemaphoreLock",
		"ConditionVariable", "my_cond_",    "psi_cond_",     "inline_mysql_",
	};

	return array_find(waiters, it, text_starts_with(name, *it)) || is_of_lock(name);
}

void wait_frames_refine(struct profile *p)
{
	struct frames frames = {0};
	struct stacks stacks = {0};
	uint8_t *known;
	stack_id *map;

	if (!vec_find(&p->frames.rows, frame, frame->kind == PROFILE_FRAME_LABEL)) {
		slow_waits_classify(p);
		return;
	}
	for (stack_id id = 0; id < p->stacks.rows.count; id++) {
		const struct stack *stack = &p->stacks.rows.items[id];

		if (p->frames.rows.items[stack->frame].kind == PROFILE_FRAME_LABEL)
			name_interpreter_lock(p, stack->parent);
	}
	known = memset(xmalloc(p->funcs.rows.count + 1), NOT_ASKED, p->funcs.rows.count + 1);
	map = xcalloc(p->stacks.rows.count + 1, sizeof(*map));
	for (stack_id id = 0; id < p->stacks.rows.count; id++) {
		const struct stack *stack = &p->stacks.rows.items[id];
		struct frame frame = p->frames.rows.items[stack->frame];
		stack_id parent = stack->parent;

		if (frame.kind == PROFILE_FRAME_LABEL)
			parent = refine_label(p, parent, &frame, known);
		map[id] = stacks_intern(&stacks, parent == NO_STACK ? NO_STACK : map[parent],
					frames_intern(&frames, &frame));
	}
	profile_replace_stacks(p, &frames, &stacks, map);
	parked_mark_java(p);
	helper_threads_mark(p);
	slow_waits_classify(p);
	free(map);
	free(known);
}
