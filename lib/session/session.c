/* SPDX-License-Identifier: MIT */
#include "lib/session/session.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "lib/session/arguments.h"
#include "lib/session/counter_feed.h"
#include "lib/session/marker_feed.h"
#include "lib/session/code_frames.h"
#include "lib/session/tick_stats.h"
#include "lib/session/losses.h"
#include "lib/session/module_map.h"
#include "lib/session/module_users.h"
#include "lib/session/pending.h"
#include "lib/session/resolve.h"
#include "lib/session/tasks.h"
#include "lib/record/record.h"

/* Changes of CPU state that are listed one by one. */
#define CPU_CHANGES_MAX 32

struct cpu_change {
	uint64_t time;
	uint16_t cpu;
	bool is_online;
};

struct session {
	struct profile *profile;
	struct tasks tasks;
	struct module_map modules;
	struct resolver resolver;
	struct pending pending;
	struct code_table code;
	struct losses losses;
	struct marker_feed markers;
	struct counter_feed counters;
	VEC(struct cpu_change) cpu_changes;
	uint64_t cpu_change_count;
	uint64_t last_time;
};

struct session *session_new(struct profile *profile)
{
	struct session *s = xcalloc(1, sizeof(*s));

	s->profile = profile;
	own_markers_register(profile);
	tasks_init(&s->tasks, profile);
	module_map_init(&s->modules, profile);
	resolver_init(&s->resolver, profile);
	losses_init(&s->losses, profile);
	marker_feed_init(&s->markers, profile, &s->tasks);
	counter_feed_init(&s->counters, profile, &s->tasks);
	return s;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	code_table_release(&s->code);
	pending_release(&s->pending);
	resolver_release(&s->resolver);
	module_map_release(&s->modules);
	tasks_release(&s->tasks);
	losses_release(&s->losses);
	marker_feed_release(&s->markers);
	counter_feed_release(&s->counters);
	vec_release(&s->cpu_changes);
	free(s);
}

static void feed_map(struct session *s, const struct rec_map *rec)
{
	bool is_kernel = rec->rec.flags & MAP_KERNEL_SPACE;
	struct mapping mapping = {
		.start = rec->start,
		.end = rec->end,
		.file_offset = rec->file_offset,
		.module = module_map_find(&s->modules, rec->module_id),
	};

	if (rec->module_id == NO_REC_MODULE && !is_kernel)
		mapping.module = MAPPING_ANON;
	/* Without file and offset, the frame is known by its address. */
	if (mapping.module == NO_MODULE || mapping.module == MAPPING_ANON)
		mapping.file_offset = rec->start;
	if (!is_kernel)
		tasks_map(&s->tasks, &rec->rec, &mapping);
	else if (mapping_table_insert(&s->resolver.kernel, &mapping, s->tasks.last_stamp + 1))
		s->tasks.last_stamp++;
}

static bool has_user_frame(const struct rec_sample *rec, const struct stack_extent *extent)
{
	return extent->has_user_frame || !(rec->rec.flags & (SAMPLE_NO_LEAF | SAMPLE_LEAF_KERNEL));
}

/* The kernel completes no stack of a 32-bit program, so most samples need no check. */
static bool may_be_32bit(const struct tick_stats_entry *entry)
{
	return !(entry->sample_flags & (SAMPLE_KERNEL_THREAD | SAMPLE_EXITING)) &&
	       (entry->stack_flags & (STACK_WHOLE | STACK_LATER)) != STACK_WHOLE;
}

/* Weighs the sample by its period, at least 1: a weight of 0 would be taken for a gap. */
static void count_event(struct session *s, const struct pending_sample *pending,
			struct sample *sample)
{
	struct event_count *count = event_counts_get(&s->profile->events, pending->event);

	sample->weight = 1;
	if (pending->period)
		sample->weight = pending->period < UINT32_MAX ? (uint32_t)pending->period
							      : UINT32_MAX;
	count->samples++;
	count->weight += sample->weight;
}

/*
 * Resolves the stack of a sample or marker and what is known of it. raw: the stack below the leaf,
 * NO_RAW_STACK for none.
 */
static stack_id resolve_pending(struct session *s, const struct pending_sample *pending,
				raw_stack_id raw, struct tick_stats_entry *entry,
				struct stack_extent *extent)
{
	const struct rec_sample *rec = &pending->rec;
	struct process *process = tasks_process_of(&s->tasks, pending->thread);
	stack_id id = NO_STACK;

	if (raw != NO_RAW_STACK) {
		const struct raw_stack *stack = &s->resolver.raw.rows.items[raw];

		id = resolver_stack(&s->resolver, raw, process, pending->mappings, extent);
		entry->stack_flags = stack->flags;
		entry->is_cut = extent->user_depth < raw_stack_user_depth(stack);
		entry->has_unknown_kind = extent->unknown_depth;
	}
	if (!(rec->rec.flags & SAMPLE_NO_LEAF))
		id = resolver_leaf(&s->resolver, id, rec->leaf, rec->rec.flags & SAMPLE_LEAF_KERNEL,
				   process, pending->mappings);
	return id;
}

static void place_sample(struct session *s, const struct pending_sample *pending, raw_stack_id raw)
{
	const struct rec_sample *rec = &pending->rec;
	struct sample sample = {
		.time = tasks_time(&s->tasks, rec->rec.time),
		.weight = rec->rec.weight ? rec->rec.weight : 1,
		.cpu_delta = pending->cpu_delta,
		.cpu = rec->rec.cpu,
		.event = (uint8_t)pending->event,
	};
	struct tick_stats_entry entry = {.sample_flags = rec->rec.flags, .ticks = sample.weight};
	struct stack_extent extent = {0};

	sample.stack = resolve_pending(s, pending, raw, &entry, &extent);
	if (pending->marker_value) {
		struct marker_value *value =
			&s->profile->markers.values.items[pending->marker_value - 1];

		value->stack = sample.stack;
		value->time = sample.time;
		return;
	}
	s->profile->stats.user_stacks += has_user_frame(rec, &extent);
	entry.is_32bit = may_be_32bit(&entry) && pending->mappings &&
			 resolver_is_32bit(&s->resolver, pending->mappings);
	if (pending->event)
		count_event(s, pending, &sample);
	else
		tick_stats_count(&s->profile->stats, &entry);
	thread_add_sample(&s->tasks.threads, pending->thread, &sample);
}

/* Stack lost: drop the sample, or the marker's value, but keep its CPU time. */
static void lose_sample(struct session *s, const struct pending_sample *pending)
{
	const struct rec *rec = &pending->rec.rec;
	uint64_t time = tasks_time(&s->tasks, rec->time);
	struct rec_lost lost = {
		.rec.cpu = rec->cpu,
		.cause = LOST_STACK,
		.event = pending->event,
		.count = rec->weight ? rec->weight : 1,
	};

	if (pending->marker_value) {
		s->profile->stats.lost_marker_values++;
		return;
	}
	if (pending->event)
		lost.count = pending->period;
	else
		thread_carry_cpu(&s->tasks.threads, pending->thread, time, pending->cpu_delta);
	losses_add(&s->losses, &lost, time);
}

static void feed_pending(struct session *s, struct pending_sample *pending)
{
	const struct rec_sample *rec = &pending->rec;
	raw_stack_id raw = NO_RAW_STACK;

	pending->mappings = tasks_process_of(&s->tasks, pending->thread)->mappings;
	if (!(rec->rec.flags & SAMPLE_NO_STACK)) {
		raw = raw_stacks_find(&s->resolver.raw, rec->stack_id);
		if (raw == NO_RAW_STACK) {
			if (!pending_add(&s->pending, pending))
				lose_sample(s, pending);
			return;
		}
	}
	place_sample(s, pending, raw);
}

static void feed_sample(struct session *s, const struct rec_sample *rec)
{
	thread_id thread = tasks_sampled(&s->tasks, &rec->rec);
	struct pending_sample pending = {
		.rec = *rec,
		.thread = thread,
		.cpu_delta = thread_cpu_delta(&s->tasks.threads, thread, rec->cpu_time),
	};

	feed_pending(s, &pending);
}

/* Events with an unknown id are ignored and do not mark the task alive. */
static void feed_event(struct session *s, const struct rec_event *rec)
{
	struct pending_sample pending = {
		.rec = rec->sample,
		.event = rec->event,
		.period = rec->period,
	};

	if (!rec->event || rec->event >= EVENT_COUNTS_MAX)
		return;
	pending.thread = tasks_sampled(&s->tasks, &rec->sample.rec);
	feed_pending(s, &pending);
}

static void feed_marker_stack(void *ctx, uint32_t value, const struct rec_marker_stack *stack)
{
	struct session *s = ctx;
	process_id process = process_table_find(&s->tasks.processes, stack->pid);
	struct pending_sample pending = {
		.rec = {.leaf = stack->leaf, .stack_id = stack->stack_id},
		.marker_value = value + 1,
	};

	/* A marker about a task that was never recorded does not introduce it. */
	if (process == NO_PROCESS) {
		s->profile->stats.lost_marker_values++;
		return;
	}
	record_init(&pending.rec.rec, REC_SAMPLE, sizeof(pending.rec), stack->time, stack->pid,
		    stack->tid);
	pending.rec.rec.flags = stack->flags;
	pending.thread = s->tasks.processes.rows.items[process].main_thread;
	feed_pending(s, &pending);
}

static void feed_event_name(struct session *s, const struct rec_event_name *rec)
{
	struct event_count *count = event_counts_get(&s->profile->events, rec->event);
	size_t size = strnlen(rec->name, rec->name_size);

	if (count && rec->event && size)
		count->name = strings_intern_sized(&s->profile->strings, rec->name, size);
}

static void feed_stack(struct session *s, const struct rec_stack *rec)
{
	raw_stack_id raw = raw_stacks_add(&s->resolver.raw, rec);
	struct pending_sample pending;
	struct rec_stack *next;

	if (raw == NO_RAW_STACK) {
		pending_add_stack(&s->pending, rec);
		return;
	}
	while (pending_take(&s->pending, rec->stack_id, &pending)) {
		place_sample(s, &pending, raw);
		mapping_table_drop(pending.mappings);
	}
	while ((next = pending_take_stack(&s->pending, rec->stack_id))) {
		feed_stack(s, next);
		free(next);
	}
}

static void feed_name(struct session *s, const struct rec_name *rec)
{
	tasks_name(&s->tasks, rec);
	if (rec->rec.flags & NAME_NEW_SPACE)
		code_table_exec(&s->code, tasks_process(&s->tasks, &rec->rec),
				tasks_time(&s->tasks, rec->rec.time));
}

static void feed_code(struct session *s, const struct rec_code *rec)
{
	process_id process = tasks_process(&s->tasks, &rec->rec);

	code_table_add(&s->code, process, s->tasks.processes.rows.items[process].space_start, rec);
}

static void feed_cpu(struct session *s, const struct rec_cpu *rec)
{
	struct cpu_change change = {
		.time = tasks_time(&s->tasks, rec->rec.time),
		.cpu = rec->rec.cpu,
		.is_online = rec->rec.flags & CPU_ONLINE,
	};

	s->cpu_change_count++;
	if (s->cpu_changes.count < CPU_CHANGES_MAX)
		vec_push(&s->cpu_changes, change);
}

static void feed_loss(struct session *s, const struct rec *rec)
{
	uint64_t time = tasks_time(&s->tasks, rec->time);

	if (rec->kind == REC_LOST)
		losses_add(&s->losses, (const struct rec_lost *)rec, time);
	else
		losses_throttled(&s->losses, (const struct rec_throttled *)rec, time);
}

/* Feeds markers and counters. */
static void feed_shown(struct session *s, const struct rec *rec)
{
	if (rec->kind == REC_SCHEMA)
		marker_feed_schema(&s->markers, (const struct rec_schema *)rec);
	else if (rec->kind == REC_MARKER)
		marker_feed_marker(&s->markers, (const struct rec_marker *)rec, feed_marker_stack,
				   s);
	else if (rec->kind == REC_COUNTER_INFO)
		counter_feed_info(&s->counters, (const struct rec_counter_info *)rec);
	else
		counter_feed_count(&s->counters, (const struct rec_counter *)rec);
}

void session_feed(struct session *s, const struct rec *rec)
{
	if (rec->time < s->last_time)
		s->profile->stats.late_records++;
	else
		s->last_time = rec->time;

	switch (rec->kind) {
	case REC_SAMPLE:
		feed_sample(s, (const struct rec_sample *)rec);
		break;
	case REC_STACK:
		feed_stack(s, (const struct rec_stack *)rec);
		break;
	case REC_FORK:
		tasks_fork(&s->tasks, (const struct rec_fork *)rec);
		break;
	case REC_NAME:
		feed_name(s, (const struct rec_name *)rec);
		break;
	case REC_EXIT:
		tasks_exit(&s->tasks, (const struct rec_exit *)rec);
		break;
	case REC_ARGUMENTS:
		arguments_enter(&s->tasks, (const struct rec_arguments *)rec);
		break;
	case REC_CONTAINER:
		tasks_set_container(&s->tasks, (const struct rec_container *)rec);
		break;
	case REC_USER:
		tasks_user(&s->tasks, (const struct rec_user *)rec);
		break;
	case REC_MAP:
		feed_map(s, (const struct rec_map *)rec);
		break;
	case REC_MODULE:
		module_map_add(&s->modules, (const struct rec_module *)rec);
		break;
	case REC_SECTION:
		module_map_add_section(&s->modules, (const struct rec_section *)rec);
		break;
	case REC_SYMBOL:
		module_map_add_symbol(&s->modules, (const struct rec_symbol *)rec);
		break;
	case REC_LOST:
	case REC_THROTTLED:
		feed_loss(s, rec);
		break;
	case REC_EVENT:
		feed_event(s, (const struct rec_event *)rec);
		break;
	case REC_EVENT_NAME:
		feed_event_name(s, (const struct rec_event_name *)rec);
		break;
	case REC_CODE:
		feed_code(s, (const struct rec_code *)rec);
		break;
	case REC_SCHEMA:
	case REC_MARKER:
	case REC_COUNTER_INFO:
	case REC_COUNTER:
		feed_shown(s, rec);
		break;
	case REC_CPU:
		feed_cpu(s, (const struct rec_cpu *)rec);
		break;
	}
}

static void finish_cpu_changes(struct session *s)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	if (!s->cpu_change_count)
		return;
	vec_for_each(&s->cpu_changes, const struct cpu_change *, change) {
		double seconds = (double)(change->time - s->profile->meta.start_ns) / 1e9;

		strbuf_addf(&text, "%sCPU %u %s at %.3f s", text.size ? ", " : "", change->cpu,
			    change->is_online ? "online" : "offline", seconds);
	}
	if (s->cpu_change_count > s->cpu_changes.count)
		strbuf_addf(&text, " and %" PRIu64 " more",
			    s->cpu_change_count - s->cpu_changes.count);
	profile_add_extra(s->profile, "Recording", "CPU changes", "string", strbuf_text(&text));
}

void session_finish(struct session *s, uint64_t end_ns)
{
	struct pending_sample pending;
	uint32_t cursor = 0;

	while (pending_take_next(&s->pending, &cursor, &pending)) {
		lose_sample(s, &pending);
		mapping_table_drop(pending.mappings);
	}
	if (!s->profile->meta.end_ns)
		s->profile->meta.end_ns = end_ns;
	tasks_finish(&s->tasks);
	thread_table_finish(&s->tasks.threads);
	module_users_find(&s->tasks);
	tasks_drop_unwanted(&s->tasks);
	/* Needs all samples in the profile. */
	code_frames_name(s->profile, &s->code, &s->tasks.processes);
	marker_feed_finish(&s->markers);
	losses_finish(&s->losses);
	finish_cpu_changes(s);
}
