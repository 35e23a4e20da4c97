/* SPDX-License-Identifier: MIT */
/* Threads that wait for work, as recordings of real programs have them. */
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/profile/categories.h"
#include "lib/profile/label_frames.h"
#include "lib/profile/wait_frames.h"
#include "tests/unit/test.h"

static stack_id add_function(struct profile *p, stack_id parent, const char *name, uint8_t kind)
{
	const struct func func = {
		.name = strings_intern(&p->strings, name),
		.module = NO_MODULE,
		.file = NO_SOURCE_FILE,
		.is_named = true,
	};
	const struct frame frame = {
		.module = NO_MODULE,
		.func = funcs_intern(&p->funcs, &func),
		.symbol = NO_SYMBOL,
		.kind = kind,
	};

	return stacks_intern(&p->stacks, parent, frames_intern(&p->frames, &frame));
}

/* Adds a wait for a futex of a thread. `functions`: its own, outermost first, with ';' between. */
static void add_wait(struct profile *p, const char *thread, const char *functions)
{
	_cleanup_free_ char *text = xstrdup(functions);
	struct profile_thread row = {.name = strings_intern(&p->strings, thread)};
	stack_id id = NO_STACK;
	char *rest = text;

	for (char *name; (name = strsep(&rest, ";"));)
		id = add_function(p, id, name, PROFILE_FRAME_NATIVE);
	id = add_function(p, id, "futex_wait", PROFILE_FRAME_KERNEL);
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

#define CONDITION ";pthread_cond_wait;__pthread_cond_wait_common;__futex_abstimed_wait_common"

TEST(workers_wait_for_work)
{
	static const char *const stacks[] = {
		"runtime.findRunnable;runtime.stopm;runtime.mPark;runtime.notesleep;"
		"runtime.futexsleep;runtime.futex.abi0",
		"start_thread;worker;uv_cond_wait" CONDITION,
		"node::(anonymous namespace)::PlatformWorkerThread;uv_cond_wait" CONDITION,
		"Thread::call_run;GangWorker::run;GangWorker::loop;PosixSemaphore::wait;"
		"__new_sem_wait_slow64.constprop.0;__futex_abstimed_wait_common",
		"CompileBroker::compiler_thread_loop;CompileQueue::get;Monitor::wait;"
		"os::PlatformMonitor::wait" CONDITION,
		"Thread.run;_worker;PyObject_Vectorcall;_PyObject_VectorcallTstate;"
		"method_vectorcall_FASTCALL_KEYWORDS_METHOD;_queue_SimpleQueue_get;"
		"_queue_SimpleQueue_get_impl;PyThread_acquire_lock_timed;__new_sem_wait_slow64",
		"java.lang.Thread.run;java.util.concurrent.ThreadPoolExecutor.runWorker;"
		"java.util.concurrent.ThreadPoolExecutor.getTask;"
		"java.util.concurrent.LinkedBlockingQueue.take;"
		"java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await;"
		"java.util.concurrent.ForkJoinPool.managedBlock;"
		"java.util.concurrent.locks.LockSupport.park;jdk.internal.misc.Unsafe.park;"
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
	assert_int_equal(meaning("go", "runtime.lock2;runtime.futexsleep;runtime.futex.abi0"),
			 IDLE_LOCK);
	assert_int_equal(meaning("python3", "_worker;f;take_gil;PyCOND_TIMEDWAIT" CONDITION),
			 IDLE_LOCK);
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
