/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/parked.h"

#include <fnmatch.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/model/meaning/categories.h"

/* Innermost functions of a program that are looked at. */
#define USER_FRAMES 16

/* A function that does not wait itself but serves those that do. */
#define SERVES UINT8_MAX

/* By how names begin, the first that fits. */
static const struct {
	const char *prefix;
	uint8_t parked;
} prefixes[] = {
	{"__futex_abstimed_wait", SERVES},
	{"__internal_syscall_c", SERVES},
	{"__syscall_c", SERVES},
	{"__timedwait", SERVES},
	{"pthread_cond_", SERVES},
	{"__pthread_cond_", SERVES},
	{"___pthread_cond_", SERVES},
	{"__pthread_clockjoin", SERVES},
	{"__new_sem_", SERVES},
	{"sem_", SERVES},
	{"cnd_", SERVES},
	{"syscall", SERVES},
	{"uv_cond_", SERVES},
	{"uv_sem_", SERVES},
	{"uv__sem_", SERVES},
	{"v8::base::ConditionVariable", SERVES},
	{"v8::base::Semaphore", SERVES},
	{"std::condition_variable", SERVES},
	{"std::sys::", SERVES},
	{"std::thread::park", SERVES},
	{"parking_lot::", SERVES},
	{"parking_lot_core::", SERVES},
	{"g_cond_wait", SERVES},
	{"runtime.futex", SERVES},
	{"runtime.note", SERVES},
	{"runtime.mPark", SERVES},
	{"PosixSemaphore::", SERVES},
	{"os::PlatformMonitor::", SERVES},
	{"os::PlatformEvent::", SERVES},
	{"PlatformMonitor::", SERVES},
	{"PlatformEvent::", SERVES},
	{"Monitor::wait", SERVES},
	{"Parker::park", SERVES},
	{"Unsafe_Park", SERVES},
	{"jdk.internal.misc.Unsafe.park", SERVES},
	{"ObjectMonitor::wait", SERVES},
	{"ObjectSynchronizer::wait", SERVES},
	{"JVM_MonitorWait", SERVES},
	{"java.lang.Object.wait", SERVES},
	{"java.util.concurrent.locks.", SERVES},
	{"java.util.concurrent.ForkJoinPool.managedBlock", SERVES},
	{"java.util.concurrent.ForkJoinPool.unmanagedBlock", SERVES},
	{"java.util.concurrent.LinkedBlocking", SERVES},
	{"java.util.concurrent.ArrayBlockingQueue", SERVES},
	{"java.util.concurrent.SynchronousQueue", SERVES},
	{"java.util.concurrent.LinkedTransferQueue", SERVES},
	{"java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue", SERVES},
	{"PyThread_acquire_lock", SERVES},
	{"_queue_SimpleQueue_get", SERVES},
	{"method_vectorcall", SERVES},
	{"PyObject_Vectorcall", SERVES},
	{"_PyObject_Vectorcall", SERVES},
	{"runtime.stopm", PARKED_FOR_WORK},
	{"runtime.sysmon", PARKED_FOR_WORK},
	{"runtime.templateThread", PARKED_FOR_WORK},
	{"node::(anonymous namespace)::PlatformWorkerThread", PARKED_FOR_WORK},
	{"node::TaskQueue<", PARKED_FOR_WORK},
	{"node::inspector::(anonymous namespace)::StartIoThreadMain", PARKED_FOR_WORK},
	{"v8::platform::", PARKED_FOR_WORK},
	{"GangWorker::", PARKED_FOR_WORK},
	{"WorkerThread::", PARKED_FOR_WORK},
	{"WorkerTaskDispatcher::", PARKED_FOR_WORK},
	{"ConcurrentGCThread::", PARKED_FOR_WORK},
	{"G1ConcurrentMarkThread::", PARKED_FOR_WORK},
	{"G1ConcurrentRefineThread", PARKED_FOR_WORK},
	{"G1ServiceThread::", PARKED_FOR_WORK},
	{"VMThread::", PARKED_FOR_WORK},
	{"WatcherThread::", PARKED_FOR_WORK},
	{"NMethodSweeper::", PARKED_FOR_WORK},
	{"MonitorDeflationThread::", PARKED_FOR_WORK},
	{"ServiceThread::", PARKED_FOR_WORK},
	{"NotificationThread::", PARKED_FOR_WORK},
	{"CompileQueue::get", PARKED_FOR_WORK},
	{"os::signal_wait", PARKED_FOR_WORK},
	{"JVM_WaitForReferencePendingList", PARKED_FOR_WORK},
	{"CallJavaMainInNewThread", PARKED_FOR_WORK},
	{"JavaThread::sleep", PARKED_FOR_TIME},
	{"java.util.concurrent.ThreadPoolExecutor.getTask", PARKED_FOR_WORK},
	{"java.util.concurrent.ForkJoinPool.awaitWork", PARKED_FOR_WORK},
	{"java.util.concurrent.ForkJoinPool.runWorker", PARKED_FOR_WORK},
	{"java.util.TimerThread.mainLoop", PARKED_FOR_WORK},
	{"java.lang.ref.ReferenceQueue.remove", PARKED_FOR_WORK},
	{"g_async_queue_pop", PARKED_FOR_WORK},
	{"g_thread_pool_", PARKED_FOR_WORK},
	{"tokio::runtime::", PARKED_FOR_WORK},
	{"rayon_core::sleep", PARKED_FOR_WORK},
	{"gomp_thread_start", PARKED_FOR_WORK},
	{"QThreadPoolThread::", PARKED_FOR_WORK},
};

static uint8_t find_prefix(const char *name)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		if (text_starts_with(name, prefixes[i].prefix))
			return prefixes[i].parked;
	}
	return PARKED_NOT;
}

static const struct frame *frame_at(const struct profile *p, stack_id id)
{
	return &p->frames.rows.items[p->stacks.rows.items[id].frame];
}

const char *parked_frame_name(const struct profile *p, const struct frame *frame)
{
	return frame->func == NO_FUNC
		       ? ""
		       : strings_get(&p->strings, p->funcs.rows.items[frame->func].name);
}

static const char *name_at(const struct profile *p, stack_id id)
{
	return parked_frame_name(p, frame_at(p, id));
}

static bool is_named(const struct profile *p, stack_id id)
{
	func_id func = frame_at(p, id)->func;

	return func != NO_FUNC && p->funcs.rows.items[func].is_named;
}

static bool is_of_c_library(const struct profile *p, stack_id id)
{
	module_id module = id == NO_STACK ? NO_MODULE : frame_at(p, id)->module;

	return module != NO_MODULE && module_name_is_c_library(strings_get(
					      &p->strings, p->modules.rows.items[module].name));
}

stack_id parked_call(const struct profile *p, stack_id id)
{
	while (is_of_c_library(p, id) && is_of_c_library(p, p->stacks.rows.items[id].parent))
		id = p->stacks.rows.items[id].parent;
	return id;
}

bool parked_is_by_jump(const struct profile *p, stack_id id)
{
	bool has_frames = false;

	for (; is_of_c_library(p, id); id = p->stacks.rows.items[id].parent) {
		if (!profile_is_fde_frame(p, frame_at(p, id)))
			return false;
		has_frames = true;
	}
	return has_frames;
}

/* Short names say it only together with what they call: libuv's, and Python's pool of threads. */
static bool is_pool_of_library(const char *name, const char *callee)
{
	return (strcmp(name, "worker") == 0 && text_starts_with(callee, "uv_cond_")) ||
	       (strcmp(name, "_worker") == 0 && strstr(callee, "ectorcall"));
}

enum parked parked_of_stack(const struct profile *p, stack_id id)
{
	const char *name, *callee = "";

	id = parked_call(p, id);
	/* Only a caller that does nothing else tells what a function without a name does. */
	if (is_of_c_library(p, id) && !is_named(p, id)) {
		id = p->stacks.rows.items[id].parent;
		if (id == NO_STACK || find_prefix(name_at(p, id)) != SERVES)
			return PARKED_NOT;
	}
	for (int i = 0; i < USER_FRAMES && id != NO_STACK; i++) {
		uint8_t parked;

		name = name_at(p, id);
		parked = is_pool_of_library(name, callee) ? PARKED_FOR_WORK : find_prefix(name);
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

	for (size_t i = 0; i < sizeof(globs) / sizeof(*globs); i++) {
		if (fnmatch(globs[i], name, 0) == 0)
			return true;
	}
	return false;
}

/* True for a condition that code of Java waits for. */
static bool is_java_wait(const struct profile *p, stack_id id)
{
	const struct stack *stack = &p->stacks.rows.items[id];
	const struct frame *label = &p->frames.rows.items[stack->frame];

	if (label->kind != PROFILE_FRAME_LABEL || label->category != CATEGORY_IDLE ||
	    label->subcategory != IDLE_CONDITION)
		return false;
	id = stack->parent;
	for (int i = 0; i < 2 * USER_FRAMES && id != NO_STACK; i++) {
		const char *name = name_at(p, id);

		if (strcmp(name, "Parker::park") == 0 || strcmp(name, "ObjectMonitor::wait") == 0)
			return true;
		id = p->stacks.rows.items[id].parent;
	}
	return false;
}

static stack_id mark(struct profile *p, stack_id id)
{
	struct stack stack = p->stacks.rows.items[id];
	struct frame label = p->frames.rows.items[stack.frame];

	label.subcategory = IDLE_FOR_WORK;
	return stacks_intern(&p->stacks, stack.parent, frames_intern(&p->frames, &label));
}

void parked_mark_java(struct profile *p)
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
				marked = is_java_wait(p, before) ? mark(p, before) : before;
			}
			sample->stack = marked;
		}
	}
}
