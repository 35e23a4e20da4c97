/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/tasks/tasks.h"

#include "lib/base/program.h"
#include "lib/model/tables/markers.h"

#define STATUS_SIZE (SIGNAL_NAME_SIZE + 32)

/* Returns false if the profile has too many schemas, or another schema of that name. */
static bool begin(struct tasks *t, enum marker_id id, uint64_t start, uint64_t end,
		  struct marker *marker)
{
	struct profile *p = t->profile;
	schema_id schema = schema_text_intern(marker_schema(id), &p->markers.schemas, &p->strings);

	if (schema == NO_SCHEMA)
		return false;
	*marker = markers_make(&p->markers, schema, start, end);
	return true;
}

static struct marker_value *value_of(struct tasks *t, const struct marker *marker, uint32_t field)
{
	return marker_value(&t->profile->markers, marker, field);
}

/* Parse a status as returned by wait(2). */
static int signal_of(uint32_t status)
{
	return status & 0x7f;
}

static bool has_core(uint32_t status)
{
	return status & 0x80;
}

static int64_t exit_code_of(uint32_t status)
{
	return status >> 8 & 0xff;
}

/* Returns "exit 1", "SIGSEGV, core dumped". */
static string_id status_text(struct tasks *t, const struct process *process)
{
	char text[STATUS_SIZE] = "unknown", name[SIGNAL_NAME_SIZE];

	if (!process->has_ended) {
		snprintf(text, sizeof(text), "still runs");
	} else if (process->has_status && signal_of(process->status)) {
		signal_name(signal_of(process->status), name);
		snprintf(text, sizeof(text), "%s%s", name,
			 process->was_oom_killed     ? ", out of memory"
			 : has_core(process->status) ? ", core dumped"
						     : "");
	} else if (process->has_status) {
		snprintf(text, sizeof(text), "exit %d", (int)exit_code_of(process->status));
	}
	return strings_intern(&t->profile->strings, text);
}

static void add_killed(struct tasks *t, const struct process *process, enum marker_id id)
{
	struct marker marker;

	if (!begin(t, id, process->end, process->end, &marker))
		return;
	if (id == MARKER_KILLED)
		*value_of(t, &marker, KILLED_SIGNAL) = marker_string(status_text(t, process));
	thread_add_marker(&t->threads, process->main_thread, &marker);
}

static void add_exit(struct tasks *t, const struct process *process)
{
	struct marker marker;

	if (!begin(t, MARKER_EXIT, process->end, process->end, &marker))
		return;
	*value_of(t, &marker, EXIT_STATUS) = marker_integer(exit_code_of(process->status));
	thread_add_marker(&t->threads, process->main_thread, &marker);
}

void life_markers_exit(struct tasks *t, process_id id, const struct rec_exit *end)
{
	struct process *process = &t->processes.rows.items[id];

	process->status = end->status;
	process->has_status = true;
	/* A process that the kernel selected to kill may have exited on its own before. */
	process->was_oom_killed = end->rec.flags & EXIT_OOM_KILLED && signal_of(end->status);
	if (process->was_oom_killed)
		add_killed(t, process, MARKER_OOM_KILL);
	else if (signal_of(end->status))
		add_killed(t, process, MARKER_KILLED);
	else
		add_exit(t, process);
	/* No more markers come. */
	vec_fit(&threads_get(t->threads.profile, process->main_thread)->markers);
}

void life_markers_stopped(struct tasks *t, thread_id thread, uint64_t start, uint64_t end)
{
	struct marker marker;

	if (begin(t, MARKER_STOPPED, start, end, &marker))
		thread_add_marker(&t->threads, thread, &marker);
}

void life_markers_cpu(struct tasks *t, thread_id id, uint64_t time, uint16_t cpu)
{
	struct thread *thread = &t->threads.rows.items[id];
	uint16_t before = thread->last_cpu;
	struct marker marker;

	/* Records of other recorders may lack it. */
	if (cpu == NO_CPU)
		return;
	thread->last_cpu = cpu;
	if (before == NO_CPU || before == cpu || !begin(t, MARKER_CPU_CHANGE, time, time, &marker))
		return;
	*value_of(t, &marker, CHANGE_FROM) = marker_integer(before);
	*value_of(t, &marker, CHANGE_TO) = marker_integer(cpu);
	thread_add_marker(&t->threads, id, &marker);
}

static uint64_t cpu_time_of(const struct tasks *t, const struct process *process)
{
	thread_id id = process->last_thread;
	uint64_t sum = 0;

	for (; id != NO_THREAD; id = t->threads.rows.items[id].next)
		sum += t->threads.rows.items[id].cpu.used_ns;
	return sum;
}

static void add_child(struct tasks *t, const struct process *process, thread_id parent,
		      uint64_t end)
{
	string_id name = threads_get(&t->profile->threads, process->main_thread)->process_name;
	struct marker marker;

	if (end < process->start || !begin(t, MARKER_CHILD, process->start, end, &marker))
		return;
	*value_of(t, &marker, CHILD_PROCESS) = marker_string(name);
	*value_of(t, &marker, CHILD_PID) = (struct marker_value){.type = FIELD_PROCESS_ID,
								 .number = process->pid};
	*value_of(t, &marker, CHILD_STATUS) = marker_string(status_text(t, process));
	*value_of(t, &marker, CHILD_CPU) = (struct marker_value){
		.type = FIELD_DURATION,
		.number = cpu_time_of(t, process),
	};
	thread_add_marker(&t->threads, parent, &marker);
}

void life_markers_children(struct tasks *t, uint64_t end_ns)
{
	vec_for_each(&t->processes.rows, const struct process *, process) {
		thread_id parent = process->parent_thread;

		if (process->parent == NO_PROCESS || !process_is_wanted(process))
			continue;
		if (parent == NO_THREAD)
			parent = t->processes.rows.items[process->parent].main_thread;
		add_child(t, process, parent, process->has_ended ? process->end : end_ns);
	}
}
