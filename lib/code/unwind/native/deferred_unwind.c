/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/native/deferred_unwind.h"

#include "bpf/runtime_layout.h"
#include "lib/stream/record/records.h"

struct waiting {
	struct rec_copy *copy; /* owned */
	struct mapping_table *mappings; /* held; NULL: none */
	struct jit_code *code; /* held; NULL: none */
	uint64_t until; /* ns; not to be finished earlier */
};

struct deferred_unwind {
	struct native_tables *tables;
	struct stack_finisher *finisher;
	record_sink_fn *sink;
	void *ctx;
	VEC(struct waiting) waiting;
	uint64_t bytes;
	uint64_t early;
};

struct deferred_unwind *deferred_unwind_new(const struct stack_finisher_options *options,
					    record_sink_fn *sink, void *ctx)
{
	struct deferred_unwind *l = xcalloc(1, sizeof(*l));

	l->tables = options->tables;
	l->finisher = stack_finisher_new(options);
	l->sink = sink;
	l->ctx = ctx;
	return l;
}

static void drop(struct deferred_unwind *l, struct waiting *w)
{
	l->bytes -= sizeof(*w) + record_size(&w->copy->rec);
	if (w->mappings)
		l->bytes -= mapping_table_settle(w->mappings);
	jit_tables_drop(&l->tables->jit, w->code);
	free(w->copy);
}

void deferred_unwind_free(struct deferred_unwind *l)
{
	if (!l)
		return;
	vec_for_each(&l->waiting, struct waiting *, w)
		drop(l, w);
	vec_release(&l->waiting);
	stack_finisher_free(l->finisher);
	free(l);
}

static bool is_ready(const struct deferred_unwind *l, const struct waiting *w)
{
	const struct module_tables *modules = &l->tables->modules;

	if (!w->mappings)
		return true;
	return !vec_find(&w->mappings->rows, mapping,
			 mapping->module < modules->rows.count &&
				 modules->rows.items[mapping->module].state == TABLE_PENDING);
}

/* Returns true if runtime functions may be missing because the runtime was found later. */
static bool is_early(const struct deferred_unwind *l, const struct waiting *w)
{
	struct mapped_runtime runtime;
	size_t at = 0;

	if (!w->mappings || w->copy->rec.flags & COPY_KNOWS_RUNTIME)
		return false;
	while (module_tables_next_runtime(&l->tables->modules, w->mappings, &at, &runtime)) {
		if (runtime_adds_frames(runtime.kind))
			return true;
	}
	return false;
}

static void finish(struct deferred_unwind *l, const struct waiting *w, uint64_t now)
{
	struct rec_stack *stack = stack_finisher_finish(l->finisher, w->copy, w->mappings, w->code,
							now);

	l->early += is_early(l, w);
	l->sink(l->ctx, &stack->rec);
	free(stack);
}

/*
 * Finishes the copies whose tables are ready, and the oldest others until at most max_bytes wait.
 */
static void finish_ready(struct deferred_unwind *l, uint64_t now, uint64_t max_bytes)
{
	const struct mapping_table *last = NULL;
	bool last_is_ready = false;
	size_t kept = 0;

	if (!l->waiting.count)
		return;
	stack_finisher_forget(l->finisher); /* tables may have been added since */
	for (size_t i = 0; i < l->waiting.count; i++) {
		struct waiting *w = &l->waiting.items[i];

		if (!i || w->mappings != last)
			last_is_ready = is_ready(l, w);
		last = w->mappings;
		if (l->bytes <= max_bytes && (!last_is_ready || w->until > now)) {
			l->waiting.items[kept++] = *w;
			continue;
		}
		finish(l, w, now);
		drop(l, w);
	}
	l->waiting.count = kept;
	stack_finisher_forget(l->finisher); /* its mappings may be freed from here on */
}

void deferred_unwind_flush(struct deferred_unwind *l, uint64_t now, bool all)
{
	finish_ready(l, now, all ? 0 : DEFERRED_BYTES_MAX);
}

uint64_t deferred_unwind_finish(struct deferred_unwind *l, uint32_t pid, uint64_t before,
				uint64_t now)
{
	uint64_t oldest = 0;

	vec_for_each(&l->waiting, struct waiting *, w) {
		uint64_t time = w->copy->rec.time;

		if (w->copy->rec.pid != pid)
			continue;
		if (time < before)
			w->until = 0;
		else if (!oldest || time < oldest)
			oldest = time;
	}
	finish_ready(l, now, DEFERRED_BYTES_MAX);
	return oldest;
}

void deferred_unwind_add(struct deferred_unwind *l, const struct rec_copy *copy,
			 struct mapping_table *mappings, struct jit_code *code, uint64_t until,
			 uint64_t now)
{
	struct waiting w = {
		.copy = xmemdup(copy, record_size(&copy->rec)),
		.mappings = mappings,
		.code = jit_code_hold(code),
		.until = until,
	};

	vec_push(&l->waiting, w);
	l->bytes += sizeof(w) + record_size(&copy->rec);
	if (mappings)
		l->bytes += mapping_table_await(mappings);
	/* Halve them, because each call examines all waiting copies. */
	if (l->bytes > DEFERRED_BYTES_MAX)
		finish_ready(l, now, DEFERRED_BYTES_MAX / 2);
}

uint64_t deferred_unwind_early(const struct deferred_unwind *l)
{
	return l->early;
}
