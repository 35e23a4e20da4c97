/* SPDX-License-Identifier: MIT */
/* Threads that wait for work, as recordings of real programs have them. */
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/model/meaning/categories.h"
#include "lib/model/meaning/wait_frames.h"
#include "lib/stream/process/system_calls.h"
#include "tests/unit/stack_texts.h"
#include "tests/unit/test.h"

/* `module`, `path`: NULL for none. */
static stack_id add_function(struct profile *p, stack_id parent, const char *module,
			     const char *name, const char *path, uint8_t kind)
{
	string_id file = module ? strings_intern(&p->strings, module) : NO_STRING;
	const struct module *known = vec_find(&p->modules.rows, it, it->name == file);
	module_id id = !module ? NO_MODULE
		       : known ? (module_id)(known - p->modules.rows.items)
			       : modules_add(&p->modules, PROFILE_MODULE_FILE, file, file);
	const struct func func = {
		.name = strings_intern(&p->strings, name),
		.module = id,
		.file = path ? source_files_intern(&p->source_files,
						   strings_intern(&p->strings, path))
			     : NO_SOURCE_FILE,
		.is_named = strncmp(name, "fun_", 4) != 0 && strncmp(name, "0x", 2) != 0,
	};
	const struct frame frame = {
		.module = id,
		.func = funcs_intern(&p->funcs, &func),
		.symbol = NO_SYMBOL,
		.kind = kind,
	};

	return stacks_intern(&p->stacks, parent, frames_intern(&p->frames, &frame));
}

/*
 * Adds a wait for a futex of a thread. `functions`: its own, outermost first, with ';' between;
 * "library!function" for those of a library, "function@file" for those of a source file. After '|'
 * come the kernel's functions.
 */
static void add_wait(struct profile *p, const char *thread, const char *functions)
{
	_cleanup_free_ char *text = xstrdup(functions);
	struct profile_thread row = {.name = strings_intern(&p->strings, thread)};
	stack_id id = NO_STACK;
	char *kernel = text, *rest = strsep(&kernel, "|");

	for (char *name; (name = strsep(&rest, ";"));) {
		char *module = strchr(name, '!') ? strsep(&name, "!") : NULL;
		char *path = name;

		name = strsep(&path, "@");
		id = add_function(p, id, module, name, path, PROFILE_FRAME_NATIVE);
	}
	if (!kernel)
		id = add_function(p, id, NULL, "futex_wait", NULL, PROFILE_FRAME_KERNEL);
	for (char *name; (name = strsep(&kernel, ";"));)
		id = add_function(p, id, NULL, name, NULL, PROFILE_FRAME_KERNEL);
	id = stacks_intern(&p->stacks, id,
			   label_frames_intern(p, strings_intern(&p->strings, "[futex]"),
					       (struct frame_category){CATEGORY_IDLE, IDLE_LOCK}));
	vec_push(&row.samples.open, ((struct sample){.stack = id, .weight = 1}));
	threads_add(&p->threads, &row);
}

/* Returns what the wait of a thread with such functions is for. */
static uint8_t meaning(const char *thread, const char *functions)
{
	struct profile *p = profile_new();
	const struct sample *sample;
	const struct stack *stack;
	uint8_t found;

	add_wait(p, thread, functions);
	wait_frames_refine(p);
	sample = &p->threads.rows.items[0].samples.open.items[0];
	stack = &p->stacks.rows.items[sample->stack];
	found = p->frames.rows.items[stack->frame].subcategory;
	profile_free(p);
	return found;
}

#define JAVA_PARK \
	"java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await;" \
	"java.util.concurrent.ForkJoinPool.managedBlock;" \
	"java.util.concurrent.ForkJoinPool.unmanagedBlock;" \
	"java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionNode.block;" \
	"java.util.concurrent.locks.LockSupport.park;jdk.internal.misc.Unsafe.park;" \
	"Unsafe_Park;Parker::park" CONDITION
#define CONDITION ";pthread_cond_wait;__pthread_cond_wait_common;__futex_abstimed_wait_common"

TEST(workers_wait_for_work)
{
	static const char *const stacks[] = {
		"start_thread;tsl::(anonymous namespace)::PThread::ThreadFn;"
		"Eigen::ThreadPoolTempl<tsl::thread::EigenEnvironment>::WorkerLoop;"
		"Eigen::ThreadPoolTempl<tsl::thread::EigenEnvironment>::WaitForWork;"
		"Eigen::EventCount::CommitWait;std::condition_variable::wait" CONDITION,
		"<polars_async::executor::Executor>::runner;"
		"<polars_async::executor::park_group::ParkAttempt>::park_slow;"
		"<parking_lot::condvar::Condvar>::wait_until_internal;libc.so.6!syscall",
		"runtime.findRunnable;runtime.stopm;runtime.mPark;runtime.notesleep;"
		"runtime.futexsleep;runtime.futex.abi0",
		"start_thread;worker;uv_cond_wait" CONDITION,
		"node::(anonymous namespace)::PlatformWorkerThread;uv_cond_wait" CONDITION,
		"start_thread;libnode.so.108!fun_a90500;libuv.so.1!uv_cond_wait" CONDITION,
		"Thread::call_run;GangWorker::run;GangWorker::loop;PosixSemaphore::wait;"
		"__new_sem_wait_slow64.constprop.0;__futex_abstimed_wait_common",
		"Thread::call_run;ConcurrentGCThread::run;wait_init_completed;"
		"Monitor::wait_without_safepoint_check;os::PlatformMonitor::wait" CONDITION,
		"CompileBroker::compiler_thread_loop;CompileQueue::get;Monitor::wait;"
		"os::PlatformMonitor::wait" CONDITION,
		"Thread.run;_worker;PyObject_Vectorcall;_PyObject_VectorcallTstate;"
		"method_vectorcall_FASTCALL_KEYWORDS_METHOD;_queue_SimpleQueue_get;"
		"_queue_SimpleQueue_get_impl;PyThread_acquire_lock_timed;__new_sem_wait_slow64",
		"java.lang.Thread.run;java.util.concurrent.ThreadPoolExecutor.runWorker;"
		"java.util.concurrent.ThreadPoolExecutor.getTask;"
		"java.util.concurrent.LinkedBlockingQueue.take;" JAVA_PARK,
		"org.apache.tomcat.util.threads.ThreadPoolExecutor.getTask;"
		"org.apache.tomcat.util.threads.TaskQueue.take;"
		"org.apache.tomcat.util.threads.TaskQueue.take;"
		"java.util.concurrent.LinkedBlockingQueue.take;" JAVA_PARK,
		"org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.idleJobPoll;"
		"org.eclipse.jetty.util.BlockingArrayQueue.poll;" JAVA_PARK,
		"org.eclipse.jetty.util.thread.ReservedThreadExecutor$ReservedThread.waitForTask;"
		"java.util.concurrent.SynchronousQueue.poll;" JAVA_PARK,
		"kotlinx.coroutines.scheduling.CoroutineScheduler$Worker.park;"
		"java.util.concurrent.locks.LockSupport.parkNanos;jdk.internal.misc.Unsafe.park;"
		"Unsafe_Park;Parker::park" CONDITION,
	};

	for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++)
		assert_int_equal(meaning("node", stacks[i]), IDLE_FOR_WORK);
}

TEST(workers_that_work_are_held_up)
{
	assert_int_equal(meaning("node", "worker;do_work;pthread_mutex_lock;__lll_lock_wait"),
			 IDLE_LOCK);
	assert_int_equal(meaning("app", "worker;pop" CONDITION), IDLE_CONDITION);
	assert_int_equal(meaning("node", "worker;uv__fs_work;join;uv_cond_wait" CONDITION),
			 IDLE_CONDITION);
	assert_int_equal(meaning("node", "start_thread;fun_a90500;fun_12;uv_cond_wait" CONDITION),
			 IDLE_CONDITION);
	assert_int_equal(meaning("go", "runtime.lock2;runtime.futexsleep;runtime.futex.abi0"),
			 IDLE_LOCK);
	assert_int_equal(meaning("python3", "_worker;f;take_gil;PyCOND_TIMEDWAIT" CONDITION),
			 IDLE_LOCK);
}

#define ACQUIRE \
	";PyObject_Vectorcall;fun_150b00;PyThread_acquire_lock_timed;__new_sem_wait_slow64;" \
	"__futex_abstimed_wait_common"
#define QUEUE \
	"_queue.cpython-311-x86_64-linux-gnu.so!fun_2880;PyThread_acquire_lock_timed;" \
	"__new_sem_wait_slow64"
#define THREADING "@/usr/lib/python3.11/threading.py"

TEST(locks_of_python_are_told_from_conditions)
{
	assert_int_equal(meaning("python3", "f@/a/f.py" ACQUIRE), IDLE_LOCK);
	assert_int_equal(meaning("python3", "wait@/a/f.py" ACQUIRE), IDLE_LOCK);
	assert_int_equal(meaning("python3", "f@/a/f.py;_RLock.acquire" THREADING ACQUIRE),
			 IDLE_LOCK);
	assert_int_equal(meaning("python3", "f@/a/f.py;Event.wait" THREADING
					    ";Condition.wait" THREADING ACQUIRE),
			 IDLE_CONDITION);
	assert_int_equal(meaning("python3", "f@/a/f.py;wait" THREADING ACQUIRE), IDLE_CONDITION);
	assert_int_equal(meaning("python3", "f@/a/f.py;Thread.join" THREADING
					    ";Thread._wait_for_tstate_lock" THREADING ACQUIRE),
			 IDLE_CONDITION);
	assert_int_equal(meaning("python3", "f@/a/f.py;_queue_SimpleQueue_get;"
					    "_queue_SimpleQueue_get_impl;"
					    "PyThread_acquire_lock_timed;__new_sem_wait_slow64"),
			 IDLE_CONDITION);
	/* Without names, the queue's file tells it. */
	assert_int_equal(meaning("python3", "f@/a/f.py;PyObject_Vectorcall;fun_1deca0;" QUEUE),
			 IDLE_CONDITION);
	assert_int_equal(meaning("python3",
				 "_worker@/usr/lib/python3.11/concurrent/futures/thread.py;"
				 "PyObject_Vectorcall;fun_1deca0;" QUEUE),
			 IDLE_FOR_WORK);
	assert_int_equal(meaning("python3", "wait@/a/gunicorn/arbiter.py;fun_1deca0;" QUEUE),
			 IDLE_FOR_WORK);
	assert_int_equal(
		meaning("python3",
			"_worker@/usr/lib/python3.11/concurrent/futures/thread.py" ACQUIRE),
		IDLE_LOCK);
	/* Python 3.14. */
	assert_int_equal(meaning("python3", "f@/a/f.py;lock_PyThread_acquire_lock;"
					    "_PyMutex_LockTimed;_PyParkingLot_Park;"
					    "_PySemaphore_Wait;__new_sem_wait_slow64"),
			 IDLE_LOCK);
}

#define ABSL \
	"AbslInternalPerThreadSemWait;absl::synchronization_internal::FutexWaiter::Wait;" \
	"absl::synchronization_internal::FutexWaiter::WaitUntil;libc.so.6!syscall"

TEST(conditions_of_abseil_are_told_from_its_locks)
{
	assert_int_equal(
		meaning("node", "v8::internal::Barrier::Wait;absl::CondVar::WaitCommon;" ABSL),
		IDLE_CONDITION);
	assert_int_equal(meaning("node", "v8::base::Mutex::Lock;absl::Mutex::LockSlowLoop;"
					 "absl::Mutex::Block;" ABSL),
			 IDLE_LOCK);
	assert_int_equal(meaning("jax", "f;absl::lts_20260107::CondVar::WaitCommon;" ABSL),
			 IDLE_CONDITION);
	assert_int_equal(meaning("ray",
				 "f;std::future<int>::get;std::__atomic_futex_unsigned_base::"
				 "_M_futex_wait_until;libc.so.6!syscall"),
			 IDLE_CONDITION);
	/* gRPC's threads that fetch events, and its calls that wait for an answer. */
	assert_int_equal(meaning("ray", "cq_next;grpc_pollset_work;pollset_work;gpr_cv_wait;"
					"absl::lts_20230802::CondVar::WaitWithTimeout;"
					"absl::lts_20230802::CondVar::WaitCommon;" ABSL),
			 IDLE_FOR_WORK);
	assert_int_equal(meaning("ray", "cq_pluck;grpc_pollset_work;pollset_work;gpr_cv_wait;"
					"absl::lts_20230802::CondVar::WaitCommon;" ABSL),
			 IDLE_CONDITION);
	assert_int_equal(meaning("jax", "f;absl::lts_20260107::Notification::WaitForNotification;"
					"absl::lts_20260107::Mutex::LockSlowWithDeadline;"
					"absl::lts_20260107::Mutex::Block;" ABSL),
			 IDLE_CONDITION);
	assert_int_equal(meaning("jax", "f;absl::lts_20260107::Mutex::LockSlowLoop;"
					"absl::lts_20260107::Mutex::Block;" ABSL),
			 IDLE_LOCK);
}

#define READ "libpython3.11.so.1.0!os_read@Modules/posixmodule.c;libc.so.6!read|pipe_read"
#define RECEIVE "Connection._recv@/usr/lib/python3.11/multiprocessing/connection.py;" READ

TEST(processes_of_pools_wait_for_work)
{
	assert_int_equal(meaning("python",
				 "worker@/usr/lib/python3.11/multiprocessing/pool.py;"
				 "get@/usr/lib/python3.11/multiprocessing/queues.py;" RECEIVE),
			 IDLE_FOR_WORK);
	assert_int_equal(
		meaning("python",
			"_process_worker@/usr/lib/python3.11/concurrent/futures/process.py;"
			"Queue.get@/usr/lib/python3.11/multiprocessing/queues.py;" RECEIVE),
		IDLE_FOR_WORK);
	assert_int_equal(meaning("python", "receive@/a/site-packages/billiard/pool.py;"
					   "get@/a/site-packages/billiard/queues.py;"
					   "_recv@/a/site-packages/billiard/connection.py;" READ),
			 IDLE_FOR_WORK);
	assert_int_equal(meaning("python",
				 "_process_worker@/a/loky/process_executor.py;"
				 "get@/usr/lib/python3.11/multiprocessing/queues.py;" RECEIVE),
			 IDLE_FOR_WORK);
	assert_int_equal(meaning("python", "main@/usr/lib/python3.11/multiprocessing/"
					   "resource_tracker.py;" READ),
			 IDLE_FOR_WORK);
	assert_int_equal(
		meaning("python", "worker@/usr/lib/python3.11/multiprocessing/pool.py;" READ),
		IDLE_PIPE);
	assert_int_equal(meaning("python", "worker@/usr/lib/python3.11/multiprocessing/pool.py;"
					   "task@/a/task.py;" RECEIVE),
			 IDLE_PIPE);
}

TEST(shells_wait_for_children_whose_output_they_read)
{
	assert_int_equal(meaning("bash", "execute_command;command_substitute;zread;"
					 "libc.so.6!read|pipe_read"),
			 IDLE_CHILD);
	assert_int_equal(meaning("bash", "execute_command;read_builtin;zread;"
					 "libc.so.6!read|pipe_read"),
			 IDLE_PIPE);
}

TEST(schedulers_of_erlang_wait_for_conditions)
{
	assert_int_equal(meaning("1_scheduler", "start_thread;fun_1fdac0;ethr_event_wait;"
						"libc.so.6!syscall"),
			 IDLE_CONDITION);
}

#define PARK \
	"java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire;" \
	"java.util.concurrent.locks.LockSupport.park;jdk.internal.misc.Unsafe.park;" \
	"Unsafe_Park;Parker::park" CONDITION

TEST(locks_of_java_are_told_from_conditions)
{
	static const char *const monitor = "Main.work;SharedRuntime::complete_monitor_locking_C;"
					   "ObjectMonitor::enter;ObjectMonitor::EnterI;"
					   "os::PlatformEvent::park" CONDITION;

	assert_int_equal(meaning("main", monitor), IDLE_LOCK);
	assert_int_equal(meaning("pool-1-thread-2", monitor), IDLE_LOCK);
	assert_int_equal(meaning("pool-1-thread-2", "Main.work;java.util.concurrent.locks."
						    "ReentrantLock.lock;" PARK),
			 IDLE_LOCK);
	assert_int_equal(
		meaning("main", "Main.work;java.util.concurrent.CountDownLatch.await;" PARK),
		IDLE_CONDITION);
}

TEST(threads_of_java_are_known_by_name)
{
	static const char *const park = "Unsafe_Park;Parker::park" CONDITION;
	static const char *const wait = "JVM_MonitorWait;ObjectMonitor::wait;"
					"os::PlatformEvent::park" CONDITION;

	assert_int_equal(meaning("pool-1-thread-2", park), IDLE_FOR_WORK);
	assert_int_equal(meaning("ForkJoinPool.co", park), IDLE_FOR_WORK);
	assert_int_equal(meaning("Finalizer", wait), IDLE_FOR_WORK);
	assert_int_equal(meaning("main", park), IDLE_CONDITION);
	assert_int_equal(meaning("main", wait), IDLE_CONDITION);
	assert_int_equal(
		meaning("main", "Main.work;java.util.concurrent.locks.LockSupport.park;"
				"jdk.internal.misc.Unsafe.park;Unsafe_Park;Parker::park" CONDITION),
		IDLE_CONDITION);
	assert_int_equal(meaning("pool-1-thread-2", "f" CONDITION), IDLE_CONDITION);
	assert_int_equal(
		meaning("main", "JVM_Sleep;JavaThread::sleep;os::PlatformEvent::park" CONDITION),
		IDLE_TIMER);
}

/*
 * Returns what a condition wait is for in a thread that waited `waits` ms for it, ran `runs` ms,
 * and existed during the last `lives` ms of a recording of 2 s.
 */
static uint8_t meaning_of_thread(bool is_main, uint32_t waits, uint32_t runs, uint64_t lives)
{
	struct profile *p = profile_new();
	struct profile_thread *thread;
	uint8_t found;

	p->meta.interval_ns = 1000000;
	p->meta.start_ns = 5000000000;
	p->meta.end_ns = 7000000000;
	add_wait(p, "mariadbd", "start_thread;fun_1234" CONDITION);
	thread = &p->threads.rows.items[0];
	thread->is_main = is_main;
	thread->start = p->meta.end_ns - lives * 1000000;
	thread->samples.open.items[0].weight = waits;
	vec_push(&thread->samples.open,
		 ((struct sample){.stack = NO_STACK, .weight = runs, .cpu_delta = runs * 1000000}));
	wait_frames_refine(p);
	found = p->frames.rows
			.items[p->stacks.rows.items[thread->samples.open.items[0].stack].frame]
			.subcategory;
	profile_free(p);
	return found;
}

TEST(helpers_without_work_are_idle)
{
	assert_int_equal(meaning_of_thread(false, 1990, 1, 2000), IDLE_FOR_WORK);
	assert_int_equal(meaning_of_thread(false, 1850, 35, 2000), IDLE_FOR_WORK);
	assert_int_equal(meaning_of_thread(false, 1190, 1, 1200), IDLE_FOR_WORK);
	/* One that was there before the recording. */
	assert_int_equal(meaning_of_thread(false, 1990, 1, 6000), IDLE_FOR_WORK);
	/* It did other things, ran, was short, or is the thread that waits for the others. */
	assert_int_equal(meaning_of_thread(false, 1700, 1, 2000), IDLE_CONDITION);
	assert_int_equal(meaning_of_thread(false, 1900, 90, 2000), IDLE_CONDITION);
	assert_int_equal(meaning_of_thread(false, 800, 1, 800), IDLE_CONDITION);
	assert_int_equal(meaning_of_thread(true, 1990, 1, 2000), IDLE_CONDITION);
}

/*
 * Ends of waits in C libraries, as they were recorded: glibc 2.36, 2.41 and 2.43 with debug
 * information and without, glibc in programs that are linked statically, musl.
 */
struct c_library {
	const char *condition, *semaphore, *join, *lock, *rwlock, *call;
};

#define L ";libc.so.6!"
#define COMMON L "__futex_abstimed_wait_common" L "__futex_abstimed_wait_common64"
#define CANCEL L "__internal_syscall_cancel" L "__syscall_cancel_arch"
#define MUTEX L "pthread_mutex_lock" L "lll_mutex_lock_optimized" L "__lll_lock_wait" L "futex_wait"
#define RWLOCK \
	L "pthread_rwlock_wrlock" L "__pthread_rwlock_wrlock_full64" L \
	  "__futex_abstimed_wait_common"
#define M ";ld-musl-x86_64.so.1!"

static const struct c_library c_libraries[] = {
	{
		L "pthread_cond_wait" L "__pthread_cond_wait_common" COMMON,
		L "__new_sem_wait_slow64.constprop.0" COMMON,
		L "__pthread_clockjoin_ex" COMMON,
		MUTEX,
		RWLOCK,
		L "syscall",
	},
	{
		L "pthread_cond_wait" L "fun_85e50",
		L "fun_90d00" L "fun_85e50",
		L "fun_8abb0" L "fun_85e50",
		L "pthread_mutex_lock" L "fun_86100",
		L "pthread_rwlock_wrlock" L "fun_85e50",
		L "syscall",
	},
	{
		L "pthread_cond_timedwait" L "__pthread_cond_wait_common" COMMON CANCEL,
		L "__new_sem_wait_slow64.constprop.0" COMMON CANCEL,
		L "__pthread_clockjoin_ex" COMMON CANCEL,
		MUTEX,
		RWLOCK,
		L "syscall",
	},
	{
		L "pthread_cond_timedwait" L "fun_8f930" L "fun_8f340" L "fun_9a700",
		L "fun_9a5d0" L "fun_8f930" L "fun_8f340" L "fun_9a700",
		L "fun_94350" L "fun_8f930" L "fun_8f340" L "fun_9a700",
		L "pthread_mutex_lock" L "fun_8fb90",
		L "pthread_rwlock_wrlock" L "fun_8f930",
		L "syscall",
	},
	{
		";pthread_cond_wait;__futex_abstimed_wait_common;__internal_syscall_cancel;"
		"__syscall_cancel_arch",
		";__new_sem_wait_slow64;__futex_abstimed_wait_common;__internal_syscall_cancel;"
		"__syscall_cancel_arch",
		";__pthread_clockjoin_ex;__futex_abstimed_wait_common;__internal_syscall_cancel;"
		"__syscall_cancel_arch",
		";pthread_mutex_lock;__lll_lock_wait",
		";pthread_rwlock_wrlock;__futex_abstimed_wait_common",
		";syscall",
	},
	{
		M "pthread_cond_timedwait" M "0x76a79" M "0x77852" M "memset",
		M "sem_timedwait" M "prctl" M "0x76a79" M "0x77852" M "memset",
		M "pthread_timedjoin_np" M "0x76a79" M "0x77852" M "memset",
		M "pthread_mutex_timedlock" M "0x76bad" M "prctl" M "0x76a79" M "0x77890",
		M "pthread_rwlock_timedwrlock" M "0x76bad" M "0x76a79" M "0x77890",
		M "syscall",
	},
};

static uint8_t meaning_in(const char *functions, const char *end)
{
	_cleanup_free_ char *all = xasprintf("%s%s", functions, end);

	return meaning("app", all);
}

TEST(functions_of_the_c_library_are_passed_over)
{
	for (size_t i = 0; i < sizeof(c_libraries) / sizeof(*c_libraries); i++) {
		const struct c_library *c = &c_libraries[i];

		assert_int_equal(meaning_in("start;worker;uv_cond_wait", c->condition),
				 IDLE_FOR_WORK);
		assert_int_equal(meaning_in("g_async_queue_pop;uv_sem_wait", c->semaphore),
				 IDLE_FOR_WORK);
		assert_int_equal(meaning_in("GangWorker::loop;PosixSemaphore::wait", c->semaphore),
				 IDLE_FOR_WORK);
		assert_int_equal(meaning_in("g_thread_pool_wait;g_cond_wait", c->call),
				 IDLE_FOR_WORK);
		assert_int_equal(meaning_in("worker;pop", c->condition), IDLE_CONDITION);
		assert_int_equal(meaning_in("app;pop", c->semaphore), IDLE_CONDITION);
		assert_int_equal(meaning_in("main", c->join), IDLE_CONDITION);
		assert_int_equal(meaning_in("f;PyThread_acquire_lock_timed", c->semaphore),
				 IDLE_LOCK);
		assert_int_equal(meaning_in("f;take_gil", c->condition), IDLE_LOCK);
		assert_int_equal(meaning_in("gomp_thread_start", c->lock), IDLE_LOCK);
		assert_int_equal(meaning_in("worker;uv_cond_wait", c->lock), IDLE_LOCK);
		assert_int_equal(meaning_in("gomp_thread_start", c->rwlock), IDLE_LOCK);
		assert_int_equal(meaning_in("app;f", c->rwlock), IDLE_LOCK);
	}
}

TEST(frames_of_the_c_library_do_not_hide_callers)
{
	static const char *const lock =
		"Main.work;java.util.concurrent.locks.ReentrantLock.lock;"
		"java.util.concurrent.locks.ReentrantLock$Sync.lock;"
		"java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire;"
		"java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire;"
		"java.util.concurrent.locks.LockSupport.park;jdk.internal.misc.Unsafe.park;f;f;"
		"Unsafe_Park;Parker::park";

	for (size_t i = 0; i < 4; i++)
		assert_int_equal(meaning_in(lock, c_libraries[i].condition), IDLE_LOCK);
}

TEST(locks_of_rust_are_told_from_conditions)
{
	assert_int_equal(meaning("app",
				 "app::main;<std::sys::sync::mutex::futex::Mutex>::lock_contended" L
				 "syscall"),
			 IDLE_LOCK);
	assert_int_equal(meaning("app",
				 "app::main;std::sys::sync::rwlock::futex::RwLock::read_contended" L
				 "syscall"),
			 IDLE_LOCK);
	assert_int_equal(meaning("app",
				 "app::main;<std::sys::sync::mutex::futex::Mutex>::lock_contended;"
				 "std::sys::pal::unix::futex::futex_wait" L "syscall"),
			 IDLE_LOCK);
	assert_int_equal(meaning("app", "<std::sys::sync::condvar::futex::Condvar>::wait_timeout;"
					"std::sys::pal::unix::futex::futex_wait" L "syscall"),
			 IDLE_CONDITION);
	assert_int_equal(meaning("app", "f;<parking_lot::condvar::Condvar>::wait_until_internal" L
					"syscall"),
			 IDLE_CONDITION);
	assert_int_equal(
		meaning("app", "f;parking_lot::raw_mutex::RawMutex::lock_slow" L "syscall"),
		IDLE_LOCK);
	assert_int_equal(
		meaning("app", "f;<rayon_core::latch::LockLatch>::wait_and_reset" L "syscall"),
		IDLE_CONDITION);
	assert_int_equal(meaning("app", "<std::sync::mpmc::list::Channel<T>>::recv::{closure#1}" L
					"syscall"),
			 IDLE_CONDITION);
	assert_int_equal(meaning("app", "f::{{closure}}" L "syscall"), IDLE_CONDITION);
	assert_int_equal(
		meaning("app", "<tokio::runtime::scheduler::Context>::park_internal" L "syscall"),
		IDLE_FOR_WORK);
}

TEST(nameless_functions_that_wait_by_themselves_wait_for_a_condition)
{
	assert_int_equal(meaning("deno", "app;fun_1000"), IDLE_CONDITION);
	assert_int_equal(meaning("deno", "app;fun_1000" L "syscall"), IDLE_CONDITION);
	assert_int_equal(meaning("deno", "app;lock" L "syscall"), IDLE_LOCK);
	assert_int_equal(meaning("deno", "fun_1000;lock"), IDLE_LOCK);
	assert_int_equal(meaning("deno", "fun_1000" MUTEX), IDLE_LOCK);
}

TEST(a_c_library_without_any_names_tells_nothing)
{
	static const char *const end = L "0x91c10" L "0x91980";

	assert_int_equal(meaning_in("worker;uv_cond_wait", end), IDLE_FOR_WORK);
	assert_int_equal(meaning_in("gomp_thread_start", end), IDLE_LOCK);
	assert_int_equal(meaning_in("app;pop", end), IDLE_LOCK);
	/* The dynamic linker takes a lock of the C library. */
	assert_int_equal(meaning_in("app", ";ld-linux-x86-64.so.2!fun_1000" L "pthread_mutex_lock" L
					   "fun_86100"),
			 IDLE_LOCK);
}

/* Returns what becomes of the reason of a thread's waits, which lives for two seconds. */
static uint8_t reason_of_thread(uint32_t waits, uint32_t queued, const char *functions,
				uint8_t reason)
{
	struct profile *p = profile_new();
	struct profile_thread *thread;

	p->meta.interval_ns = 1000000;
	p->meta.end_ns = 2000000000;
	stack_texts_add_thread(p, "app");
	stack_texts_add_call(p, waits, functions, "[futex] - -", reason);
	stack_texts_add_call(p, queued, functions, "[queued] - -", IDLE_QUEUED);
	thread = threads_get(&p->threads, 0);
	thread->is_main = false;
	wait_frames_refine(p);
	samples_for_each(&thread->samples, sample) {
		reason = frames_get(&p->frames, p->stacks.rows.items[sample->stack].frame)
				 ->subcategory;
		break;
	}
	profile_free(p);
	return reason;
}

static uint8_t reason_in_thread(uint32_t waits, uint32_t queued, const char *functions)
{
	return reason_of_thread(waits, queued, functions, IDLE_CONDITION);
}

#define FIVE "a /app a.c\nb /app a.c\nc /app a.c\nd /app a.c\ne /app a.c\n"

TEST(helpers_that_wait_in_their_loop_are_idle)
{
	assert_int_equal(reason_in_thread(1990, 0, "start libc.so.6 -\n" FIVE), IDLE_FOR_WORK);
	/* On a busy machine, it takes until they wait again. */
	assert_int_equal(reason_in_thread(1500, 400, "start libc.so.6 -\n" FIVE), IDLE_FOR_WORK);
	assert_int_equal(reason_in_thread(1500, 0, "start libc.so.6 -\n" FIVE), IDLE_CONDITION);
	/* A session of a server that waits in the middle of a statement. */
	assert_int_equal(reason_in_thread(1990, 0, FIVE "f /app a.c\n" FIVE FIVE), IDLE_CONDITION);
	assert_int_equal(reason_in_thread(1990, 0, "f /lib/libruntime.so -\n" FIVE FIVE),
			 IDLE_FOR_WORK);
}

#define STARTED "clone3 libc.so.6 -\n"
#define COND "\npthread_cond_wait libc.so.6 -"
#define READS "\nread libc.so.6 -"
#define PACKAGE_FUNCTION(name) name " - /a/site-packages/i.py\n"
#define FOUR \
	PACKAGE_FUNCTION("a") \
	PACKAGE_FUNCTION("b") PACKAGE_FUNCTION("c") "d - /a/site-packages/i.py"

TEST(threads_of_libraries_wait_for_work_in_their_loop)
{
	assert_int_equal(
		reason_in_thread(900, 0, STARTED "fun_374810 /usr/lib/libopenblas.so.0 -" COND),
		IDLE_FOR_WORK);
	assert_int_equal(reason_in_thread(900, 0,
					  STARTED
					  "fun_2131 /usr/lib/libruby-3.1.so.3.1 -\n"
					  "spawn_thread - /usr/share/gems/puma/pool.rb\n"
					  "rb_mutex_sleep /usr/lib/libruby-3.1.so.3.1 -" COND),
			 IDLE_FOR_WORK);
	/* Functions of the user's, no start of the thread, a library in the middle of work. */
	assert_int_equal(reason_in_thread(900, 0,
					  STARTED "fun_2131 /usr/lib/libruby-3.1.so.3.1 -\n"
						  "spawn_thread - /app/pool.rb" COND),
			 IDLE_CONDITION);
	assert_int_equal(reason_in_thread(900, 0, "fun_374810 /usr/lib/libopenblas.so.0 -" COND),
			 IDLE_CONDITION);
	assert_int_equal(reason_in_thread(900, 0,
					  STARTED "a - /usr/share/gems/s/a.rb\n"
						  "b - /usr/share/gems/s/a.rb\n"
						  "c - /usr/share/gems/s/a.rb" COND),
			 IDLE_CONDITION);
	/* Pipes and sockets are read there, too; deeper, by threads that hardly do anything else.
	 */
	assert_int_equal(
		reason_of_thread(900, 0, STARTED "watch - /a/site-packages/i.py" READS, IDLE_PIPE),
		IDLE_FOR_WORK);
	assert_int_equal(reason_of_thread(900, 0, STARTED FOUR READS, IDLE_SOCKET), IDLE_SOCKET);
	assert_int_equal(reason_of_thread(1990, 0, STARTED FOUR READS, IDLE_SOCKET), IDLE_FOR_WORK);
	assert_int_equal(
		reason_of_thread(1990, 0, STARTED "query - /app/a.py\n" FOUR READS, IDLE_SOCKET),
		IDLE_SOCKET);
}

/*
 * Returns the reason for which 40 threads wait at a place, two of which at a time sleep elsewhere
 * for 100 ms, in rounds, but for `odd` ms of each round, in which none does.
 */
static uint8_t reason_in_rounds(const char *place, uint32_t odd)
{
	enum { THREADS = 40, ROUNDS = 100, ROUND = 100 };
	struct profile *p = profile_new();
	stack_id waits = NO_STACK, sleeps = NO_STACK;
	uint8_t reason;

	p->meta.interval_ns = 1000000;
	p->meta.end_ns = (uint64_t)ROUNDS * ROUND * 1000000;
	for (uint32_t i = 0; i < THREADS; i++) {
		struct profile_thread *thread;
		struct samples *samples;

		stack_texts_add_thread(p, "app");
		thread = &vec_last(&p->threads.rows);
		*thread = (struct profile_thread){.pid = 1, .tid = i + 1, .name = thread->name};
		samples = &thread->samples;
		if (!i) {
			stack_texts_add_call(p, 1, place, "[futex] - -", IDLE_CONDITION);
			waits = samples->open.items[0].stack;
			stack_texts_add_call(p, 1, "work /app a.c", "[sleep] - -", IDLE_TIMER);
			sleeps = samples->open.items[1].stack;
			vec_clear(&samples->open);
		}
		for (uint32_t round = 0; round < ROUNDS; round++) {
			bool is_at_work = (round * 2) % THREADS == i ||
					  (round * 2 + 1) % THREADS == i;
			uint32_t at = round * ROUND, works = is_at_work ? ROUND - odd : 0;

			if (works)
				vec_push(&samples->open,
					 ((struct sample){.time = (at + 1) * 1000000ull,
							  .stack = sleeps,
							  .weight = works}));
			if (works == ROUND)
				continue;
			vec_push(&samples->open, ((struct sample){.time = (at + works) * 1000000ull,
								  .stack = waits,
								  .weight = 1}));
			vec_push(&samples->open, ((struct sample){.time = (at + ROUND) * 1000000ull,
								  .stack = waits,
								  .weight = ROUND - works - 1}));
		}
	}
	wait_frames_refine(p);
	reason = frames_get(&p->frames,
			    p->stacks.rows
				    .items[vec_last(&p->threads.rows.items[5].samples.open).stack]
				    .frame)
			 ->subcategory;
	profile_free(p);
	return reason;
}

TEST(threads_that_wait_for_each_other_are_no_helpers)
{
	static const char *const place =
		"work /app a.c\nhandle /app a.c\npool_get /app a.c\nstart libc.so.6 -";

	assert_int_equal(reason_in_rounds(place, 0), IDLE_CONDITION);
	assert_int_equal(reason_in_rounds(place, 35), IDLE_CONDITION);
	/* Less of the time, in their loop, and for their next job. */
	assert_int_equal(reason_in_rounds(place, 45), IDLE_FOR_WORK);
	assert_int_equal(reason_in_rounds("work /app a.c\npool_get /app a.c", 0), IDLE_FOR_WORK);
	assert_int_equal(reason_in_rounds("work /app a.c\nhandle /app a.c\nnext_job /app a.c", 0),
			 IDLE_FOR_WORK);
}

#define SLEEPS ";libc.so.6!usleep;libc.so.6!clock_nanosleep|do_nanosleep"

TEST(sqlite_sleeps_while_others_hold_the_lock)
{
	assert_int_equal(
		meaning("app", "main;libsqlite3.so.0!sqlite3_step;libsqlite3.so.0!fun_1000" SLEEPS),
		IDLE_LOCK);
	assert_int_equal(meaning("app", "main;sqlite3_step;unixSleep" SLEEPS), IDLE_LOCK);
	assert_int_equal(meaning("app", "main;libsqlite3.so.0!sqlite3_sleep" SLEEPS), IDLE_TIMER);
	/* A function that a statement calls. */
	assert_int_equal(meaning("app", "main;libsqlite3.so.0!sqlite3_step;my_function" SLEEPS),
			 IDLE_TIMER);
}

TEST(kernel_helpers_of_all_waits_are_none_for_children)
{
	assert_int_equal(
		meaning("app", "main;libc.so.6!read|vfs_read;timerfd_read_iter;do_wait_intr_irq"),
		IDLE_TIMER);
	assert_int_equal(
		meaning("app", "main;libc.so.6!read|vfs_read;eventfd_read;do_wait_intr_irq"),
		IDLE_FOR_WORK);
	assert_int_equal(meaning("app", "main;libc.so.6!wait4|kernel_wait4;do_wait"), IDLE_CHILD);
}

#define RUBY_COND ";fun_2124;rb_native_cond_wait" CONDITION

TEST(locks_of_ruby_are_told_from_sleeps)
{
	assert_int_equal(
		meaning("ruby",
			"save@/a/a.rb;Thread::Mutex#synchronize;fun_2494;rb_mutex_synchronize" RUBY_COND),
		IDLE_LOCK);
	assert_int_equal(
		meaning("ruby", "save@/a/a.rb;Monitor#enter;fun_2494;rb_mutex_lock" RUBY_COND),
		IDLE_LOCK);
	assert_int_equal(
		meaning("ruby",
			"save@/a/a.rb;Thread::Mutex#synchronize;rb_yield;Kernel#sleep" RUBY_COND),
		IDLE_TIMER);
	assert_int_equal(meaning("ruby", "main@/a/a.rb;Thread#join;fun_20be" RUBY_COND),
			 IDLE_CONDITION);
}

#define PYTHON "python3.11!"
#define TIMED ";libc.so.6!pthread_cond_timedwait;libc.so.6!__pthread_cond_wait_common"
#define RUBY "libruby-3.1.so.3.1.2!"
#define NATIVE ";" RUBY "rb_native_cond_wait;libc.so.6!pthread_cond_wait"

TEST(locks_of_stripped_interpreters_are_found_by_their_callers)
{
	assert_int_equal(meaning("python3", "spin@/a/f.py;" PYTHON "fun_f92c0" TIMED), IDLE_LOCK);
	assert_int_equal(
		meaning("python3", "spin@/a/f.py;" PYTHON "fun_1;" PYTHON "fun_f92c0" TIMED),
		IDLE_LOCK);
	assert_int_equal(meaning("python3", "f@/a/f.py;" PYTHON "fun_1897a0;" PYTHON
					    "PyEval_RestoreThread;" PYTHON "fun_f92c0" TIMED),
			 IDLE_LOCK);
	assert_int_equal(meaning("ruby",
				 "spin@/a/a.rb;" RUBY "rb_threadptr_execute_interrupts;" RUBY
				 "fun_210fd0;" RUBY "fun_20f6f0" NATIVE),
			 IDLE_LOCK);
	assert_int_equal(meaning("ruby", "IO#write;" RUBY "rb_thread_io_blocking_region;" RUBY
					 "fun_20f6f0" NATIVE),
			 IDLE_LOCK);
	assert_int_equal(
		meaning("python3", "spin@/a/f.py;" PYTHON "fun_f9;libc.so.6!pthread_cond_wait"),
		IDLE_LOCK);
	/* Conditions of other libraries, of Ruby's own functions, and of its threads. */
	assert_int_equal(meaning("python3", "spin@/a/f.py;_x.so!fun_f92c0" TIMED), IDLE_CONDITION);
	assert_int_equal(
		meaning("python3", "start_thread;" PYTHON "fun_12;" PYTHON "fun_f92c0" TIMED),
		IDLE_CONDITION);
	assert_int_equal(meaning("ruby", "Thread::Queue#pop@<internal:thread_sync>;" RUBY
					 "fun_20fd80" NATIVE),
			 IDLE_CONDITION);
	assert_int_equal(meaning("ruby", "Thread#join;" RUBY "fun_20be;" RUBY "fun_20fd80" NATIVE),
			 IDLE_CONDITION);
}

TEST(a_lock_without_a_name_gets_one_in_all_stacks)
{
	struct profile *p = profile_new();
	const struct frame *frame;
	stack_id runs;

	add_wait(p, "ruby", "spin@/a/a.rb;" RUBY "rb_thread_schedule;" RUBY "fun_20f6f0" NATIVE);
	/* The same function in a wait with a time-out, after another one, and while it runs. */
	add_wait(p, "ruby",
		 "Thread#join;" RUBY "fun_20fd80;" RUBY "fun_20f6f0;" RUBY "fun_20a240" TIMED);
	runs = add_function(p, NO_STACK, "libruby-3.1.so.3.1.2", "fun_20f6f0", NULL,
			    PROFILE_FRAME_NATIVE);
	vec_push(&p->threads.rows.items[0].samples.open,
		 ((struct sample){.stack = runs, .weight = 1}));
	wait_frames_refine(p);
	frame = profile_frame_of(p, p->threads.rows.items[1].samples.open.items[0].stack);
	assert_int_equal(frame->subcategory, IDLE_LOCK);
	frame = profile_frame_of(p, p->threads.rows.items[0].samples.open.items[1].stack);
	assert_string_equal(strings_get(&p->strings, p->funcs.rows.items[frame->func].name),
			    "gvl_acquire");
	assert_true(profile_frame_is_named(p, frame));
	profile_free(p);
}

/* Returns what a wait is for whose system call says `first`. */
static uint8_t meaning_of_call(const char *call, uint8_t first, const char *kernel)
{
	struct profile *p = profile_new();
	stack_id id = add_function(p, NO_STACK, NULL, kernel, NULL, PROFILE_FRAME_KERNEL);
	uint8_t found;

	id = wait_frames_add(p, id,
			     label_frames_intern(p, strings_intern(&p->strings, call),
						 (struct frame_category){CATEGORY_IDLE, first}));
	found = p->frames.rows.items[p->stacks.rows.items[id].frame].subcategory;
	profile_free(p);
	return found;
}

TEST(servers_wait_for_connections_as_for_work)
{
	assert_int_equal(system_call_find(CALLS_X86_64, 43)->waits_for, CALL_WAIT_EVENT);
	assert_int_equal(meaning_of_call("[accept]", IDLE_FOR_WORK, "inet_csk_accept"),
			 IDLE_FOR_WORK);
	assert_int_equal(meaning_of_call("[accept4]", IDLE_FOR_WORK, "__skb_wait_for_more_packets"),
			 IDLE_FOR_WORK);
	assert_int_equal(meaning_of_call("[connect]", IDLE_SOCKET, "inet_wait_for_connect"),
			 IDLE_SOCKET);
	assert_int_equal(meaning_of_call("[read]", IDLE_OTHER, "sk_wait_data"), IDLE_SOCKET);
}

#define POLL "|do_sys_poll"

TEST(clients_wait_for_answers)
{
	assert_int_equal(
		meaning("app",
			"main;lookup;libc.so.6!getaddrinfo;libc.so.6!fun_1;libc.so.6!poll" POLL),
		IDLE_SOCKET);
	assert_int_equal(meaning("app", "main;fetch@app.py;readinto@/usr/lib/python3.11/socket.py;"
					"fun_2;libc.so.6!poll" POLL),
			 IDLE_SOCKET);
	assert_int_equal(meaning("app",
				 "main;serve@app.py;socket.accept@/usr/lib/python3.11/socket.py;"
				 "fun_2;libc.so.6!poll" POLL),
			 IDLE_FOR_WORK);
	assert_int_equal(meaning("java", "Shop.load;sun.nio.ch.NioSocketImpl.implRead;"
					 "sun.nio.ch.NioSocketImpl.park;sun.nio.ch.Net.poll;"
					 "libnet.so!NET_Poll;libc.so.6!poll" POLL),
			 IDLE_SOCKET);
	assert_int_equal(meaning("java", "Shop.serve;sun.nio.ch.NioSocketImpl.accept;"
					 "sun.nio.ch.NioSocketImpl.park;sun.nio.ch.Net.poll;"
					 "libnet.so!NET_Poll;libc.so.6!poll" POLL),
			 IDLE_FOR_WORK);
	assert_int_equal(
		meaning("app", "main;find;libpq.so.5!PQexec;libpq.so.5!fun_3;libc.so.6!poll" POLL),
		IDLE_SOCKET);
	assert_int_equal(
		meaning("app",
			"main;call;sock_connect;internal_connect;sock_call_ex;libc.so.6!poll" POLL),
		IDLE_SOCKET);
	assert_int_equal(meaning("app", "main;serve;sock_accept;sock_call_ex;libc.so.6!poll" POLL),
			 IDLE_FOR_WORK);
}

TEST(threads_that_wait_for_a_result_are_no_helpers)
{
	assert_int_equal(reason_in_thread(1990, 0,
					  "Shop.serve /shop.jar -\n"
					  "java.util.concurrent.FutureTask.get - -\n"
					  "java.util.concurrent.FutureTask.awaitDone - -"),
			 IDLE_CONDITION);
}
