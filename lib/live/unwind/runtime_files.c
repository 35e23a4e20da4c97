/* SPDX-License-Identifier: MIT */
#include "lib/live/unwind/runtime_files.h"

#include "bpf/runtime_layout.h"

/*
 * Interval of checks whether a runtime has started: it grows by a quarter, so that few of the
 * program's first functions are missed.
 */
#define START_WAIT_NS 5000000
#define START_WAIT_MAX_NS 1000000000
#define START_SOON_NS 100000000
/* Maximum runtimes of a process to examine; more than SPACE_RUNTIMES. */
#define TOO_MANY "one more interpreter than the 4 of a process that are followed"
_Static_assert(SPACE_RUNTIMES == 4, "as the message says");

void runtime_files_release(struct runtime_files *f)
{
	vec_for_each(&f->found, struct new_runtime *, found)
		free(found->layout);
	vec_release(&f->found);
	vec_release(&f->waiting);
}

void runtime_files_take(struct runtime_files *f, const struct module_tables *modules,
			struct table_result *result)
{
	struct new_runtime found = {.module_id = result->module_id};

	if (result->refusal)
		f->hooks.refused(f->hooks.ctx, result->refusal);
	/* A dropped table is compiled again, and its file searched again. */
	if ((!result->layout && !result->refusal) || modules->rows.items[result->module_id].runtime)
		return;
	found.layout = steal(result->layout);
	vec_push(&f->found, found);
}

void runtime_files_expect(struct runtime_files *f, const struct runtime_layout *layout)
{
	uint32_t number;

	f->hooks.found(f->hooks.ctx, layout, &number);
	f->hooks.described(f->hooks.ctx);
}

static void add_started(struct runtime_files *f, struct module_tables *modules,
			const struct new_runtime *found)
{
	struct module_table *table = &modules->rows.items[found->module_id];

	f->has_found = true;
	table->runtime = RUNTIME_UNREAD;
	if (found->layout && f->hooks.found(f->hooks.ctx, found->layout, &table->layout))
		table->runtime = found->layout->kind;
}

bool runtime_files_add_started(struct runtime_files *f, struct module_tables *modules)
{
	bool has_any = f->found.count;

	vec_for_each(&f->found, struct new_runtime *, found) {
		add_started(f, modules, found);
		free(found->layout);
	}
	vec_clear(&f->found);
	return has_any;
}

void runtime_files_end(const struct runtime_files *f)
{
	f->hooks.described(f->hooks.ctx);
}

/* Adds the process to the waiting ones, once. */
static void await_start(struct runtime_files *f, struct live_process *process)
{
	if (vec_find(&f->waiting, waiting, *waiting == process))
		return;
	vec_push(&f->waiting, process);
}

/* Returns whether the runtime has started. Limits how often that is checked. */
static bool has_started(struct runtime_files *f, struct live_process *process,
			const struct space *space, struct runtime_state *runtime, uint64_t now)
{
	const struct starting_process starting = {process->pid, space->execs, runtime->mapped.bias};
	int result;

	if (runtime->mapped.kind == RUNTIME_UNREAD)
		return false;
	if (runtime->start == RUNTIME_STARTED || runtime->start == RUNTIME_REFUSED ||
	    !f->hooks.start)
		return runtime->start != RUNTIME_REFUSED;
	if (now < runtime->check_ns)
		return false;
	result = f->hooks.start(f->hooks.ctx, &starting, &runtime->mapped.layout);
	if (result) {
		runtime->start = result > 0 ? RUNTIME_STARTED : RUNTIME_REFUSED;
		return result > 0;
	}
	runtime->wait_ns += runtime->wait_ns / 4;
	runtime->wait_ns = MAX(runtime->wait_ns, START_WAIT_NS);
	runtime->wait_ns = MIN(runtime->wait_ns, START_WAIT_MAX_NS);
	runtime->check_ns = now + runtime->wait_ns;
	runtime->start = RUNTIME_STARTING;
	await_start(f, process);
	return false;
}

static struct runtime_state *find_state(const struct runtime_states *states,
					const struct mapped_runtime *mapped)
{
	return vec_find(&states->rows, state,
			state->mapped.module == mapped->module &&
				state->mapped.bias == mapped->bias);
}

/*
 * Returns the rank of a runtime among a process's: one that finds native frames comes before those
 * that insert functions among them, and labels come last.
 */
static unsigned int rank_of(uint32_t kind)
{
	if (!runtime_adds_frames(kind))
		return 0;
	if (runtime_has(kind, RUNTIME_WALK_FINDS))
		return 3;
	return runtime_has(kind, RUNTIME_WALK_RESUMES) ? 2 : 1;
}

/*
 * Orders runtimes by rank, then V8 before Python: it depends on which native frames have frame
 * pointers. Copies of one file are ordered by address.
 */
static int compare_states(const void *left, const void *right)
{
	const struct mapped_runtime *a = &((const struct runtime_state *)left)->mapped;
	const struct mapped_runtime *b = &((const struct runtime_state *)right)->mapped;
	unsigned int a_rank = rank_of(a->kind), b_rank = rank_of(b->kind);

	if (a_rank != b_rank)
		return a_rank > b_rank ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind > b->kind ? -1 : 1;
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return (a->bias > b->bias) - (a->bias < b->bias);
}

/*
 * Returns whether it is a part of a file mapped as a whole elsewhere. V8 maps its builtins a second
 * time, near its code.
 */
static bool is_second_part(const struct module_tables *modules,
			   const struct mapping_table *mappings, const struct mapped_runtime *part)
{
	struct mapped_runtime other;
	size_t at = 0;

	while (module_tables_next_runtime(modules, mappings, &at, &other)) {
		if (other.module == part->module && other.file_offset < part->file_offset)
			return true;
	}
	return false;
}

/* Lists the mapped runtimes in order. Those mapped before keep their state. */
static void list_mapped(const struct module_tables *modules, struct space *space)
{
	struct runtime_states states = {0};
	struct mapped_runtime mapped;
	size_t at = 0;

	while (module_tables_next_runtime(modules, space->mappings, &at, &mapped)) {
		const struct runtime_state *known = find_state(&space->runtimes, &mapped);

		if (!find_state(&states, &mapped) &&
		    !is_second_part(modules, space->mappings, &mapped))
			vec_push(&states.rows,
				 known ? *known : (struct runtime_state){.mapped = mapped});
	}
	vec_sort(&states.rows, compare_states);
	vec_release(&space->runtimes.rows);
	space->runtimes = states;
}

/*
 * Returns whether code of a runtime that was just found is mapped at another address as well. The
 * second part of a file is not: its place in the file differs.
 */
static bool is_new_copy(const struct module_tables *modules, const struct space *space,
			const struct mapped_runtime *mapped)
{
	struct mapped_runtime other;
	size_t at = 0;

	if (find_state(&space->runtimes, mapped))
		return false;
	while (module_tables_next_runtime(modules, space->mappings, &at, &other)) {
		if (other.module == mapped->module && other.file_offset == mapped->file_offset &&
		    other.bias != mapped->bias)
			return true;
	}
	return false;
}

void runtime_files_drop_unmapped(const struct module_tables *modules,
				 const struct live_process *process, struct space *space,
				 uint64_t *stamp)
{
	struct mapped_runtime mapped;
	size_t at = 0;

	while (module_tables_next_runtime(modules, space->mappings, &at, &mapped)) {
		if (!is_new_copy(modules, space, &mapped))
			continue;
		if (space_drop_unmapped(space, process->pid, mapped.module, stamp))
			at = 0;
	}
}

void runtime_files_describe(struct runtime_files *f, const struct module_tables *modules,
			    struct live_process *process, struct space *space, uint64_t now,
			    struct unwind_space *description)
{
	bool has_unread = false;
	uint8_t count = 0;

	if (!f->has_found)
		return;
	list_mapped(modules, space);
	vec_for_each(&space->runtimes.rows, struct runtime_state *, state) {
		if (!has_started(f, process, space, state, now)) {
			has_unread |= state->mapped.kind == RUNTIME_UNREAD ||
				      state->start == RUNTIME_REFUSED;
			continue;
		}
		if (count == SPACE_RUNTIMES) {
			f->hooks.refused(f->hooks.ctx, TOO_MANY);
			break;
		}
		description->runtimes[count] = (struct space_runtime){
			.kind = (uint8_t)state->mapped.kind,
			.at = count,
			.layout = (uint16_t)state->mapped.layout,
			.bias = state->mapped.bias,
		};
		count++;
	}
	if (has_unread && count < SPACE_RUNTIMES)
		description->runtimes[count] = (struct space_runtime){.kind = RUNTIME_UNREAD,
								      .at = count};
}

/*
 * Determines whether runtimes of a process may still start, and whether one may have started by
 * `now`.
 */
static bool is_starting(const struct space *space, uint64_t now, bool *is_due)
{
	bool is_any = false;

	*is_due = false;
	vec_for_each(&space->runtimes.rows, const struct runtime_state *, state) {
		is_any |= state->start == RUNTIME_STARTING;
		*is_due |= state->start == RUNTIME_STARTING && now >= state->check_ns;
	}
	return is_any;
}

void runtime_files_retry(struct runtime_files *f, struct spaces *spaces, uint64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->waiting.count; i++) {
		struct live_process *process = f->waiting.items[i];
		bool is_due;

		if (!is_starting(spaces_of(spaces, process), now, &is_due))
			continue;
		f->waiting.items[kept++] = process;
		if (is_due)
			spaces_mark_dirty(spaces, process);
	}
	f->waiting.count = kept;
}

uint64_t runtime_files_due(const struct runtime_files *f, const struct spaces *spaces)
{
	uint64_t due = UINT64_MAX;

	vec_for_each(&f->waiting, struct live_process *const *, process) {
		const struct space *space = spaces_of(spaces, *process);

		vec_for_each(&space->runtimes.rows, const struct runtime_state *, state) {
			/* Leave long waits to the recorder's usual rounds. */
			if (state->start == RUNTIME_STARTING && state->wait_ns < START_SOON_NS &&
			    state->check_ns < due)
				due = state->check_ns;
		}
	}
	return due;
}

void runtime_files_forget(struct runtime_files *f, const struct live_process *process)
{
	for (size_t i = 0; i < f->waiting.count; i++) {
		if (f->waiting.items[i] == process)
			f->waiting.items[i--] = f->waiting.items[--f->waiting.count];
	}
}
