/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_source.h"

#include <elf.h>
#include <linux/perf_event.h>

#include "lib/recording/perf_data/perf_convert.h"
#include "lib/code/unwind/user_walk.h"

/* Descriptors reserved for other uses than modules. */
#define RESERVED_FILES 64
/* Parent of all kernel threads. */
#define KTHREADD 2
#define USUAL_INTERVAL_NS 1000000

struct perf_source {
	struct source source;
	struct perf_file file;
	struct perf_convert convert;
	size_t next;
};

static int next(struct source *source, const struct rec **rec, struct error *err)
{
	struct perf_source *s = (struct perf_source *)source;

	while (!(*rec = perf_out_next(&s->convert.out))) {
		if (s->next == s->file.store.order.count)
			return SOURCE_END;
		perf_convert_record(&s->convert, s->next++);
	}
	return SOURCE_RECORD;
}

static uint16_t machine_of(const struct perf_file *file)
{
	const char *arch = file->features.arch;

	if (!arch)
		return unwind_machine_own().arch->machine;
	if (strcmp(arch, "x86_64") == 0)
		return EM_X86_64;
	return strcmp(arch, "aarch64") == 0 ? EM_AARCH64 : EM_NONE;
}

static bool has_stacks(const struct perf_file *file)
{
	return vec_find(&file->attrs.rows, attr, attr->user_regs);
}

int perf_source_open(struct perf_source **out, int fd, const struct perf_source_options *options,
		     struct error *err)
{
	static const struct source_ops ops = {.next = next};
	struct perf_source *s = xcalloc(1, sizeof(*s));
	struct perf_convert *c = &s->convert;
	int ret = perf_file_read(&s->file, fd, err);
	uint32_t event;

	s->source.ops = &ops;
	event = perf_attrs_number(&s->file.attrs, options->max_event);
	perf_convert_init(c, &s->file);
	c->branch_event = options->branches && event <= options->max_event ? event : 0;
	c->modules.open_file = options->open_file;
	c->modules.ctx = options->ctx;
	if (has_stacks(&s->file)) {
		c->modules.files = file_set_new(RESERVED_FILES);
		perf_stacks_walk(&c->stacks, &c->modules, machine_of(&s->file));
	}
	if (ret) {
		perf_source_free(s);
		return ret;
	}
	perf_convert_begin(c);
	*out = s;
	return 0;
}

void perf_source_free(struct perf_source *s)
{
	if (!s)
		return;
	perf_convert_release(&s->convert);
	perf_file_release(&s->file);
	free(s);
}

struct source *perf_source_records(struct perf_source *s)
{
	return &s->source;
}

const struct perf_file *perf_source_file(const struct perf_source *s)
{
	return &s->file;
}

uint64_t perf_source_interval(const struct perf_source *s)
{
	return s->convert.interval_ns ? s->convert.interval_ns : USUAL_INTERVAL_NS;
}

/* A record that names a task. */
struct naming {
	uint32_t pid, tid;
	const char *name;
	bool is_exec;
};

static bool read_naming(const struct perf_file *file, const void *record, struct naming *naming)
{
	struct perf_head head = perf_file_head(file, record);
	struct ordered_bytes b = ordered_bytes_of(record, head.size, file->is_swapped);

	if (head.type != PERF_RECORD_COMM)
		return false;
	bytes_skip(&b.bytes, sizeof(struct perf_event_header));
	naming->pid = ordered_u32(&b);
	naming->tid = ordered_u32(&b);
	naming->name = bytes_cstr(&b.bytes);
	naming->is_exec = head.misc & PERF_RECORD_MISC_COMM_EXEC;
	return naming->name;
}

/*
 * Finds the subject. Names without times belong to tasks that ran before the recording. A single
 * process is the command, or the process attached to; its first exec names it. Kernel threads occur
 * if all processes were recorded.
 */
struct perf_origin perf_source_origin(const struct perf_source *s)
{
	const struct perf_store *store = &s->file.store;
	struct perf_origin origin = {.has_copies = has_stacks(&s->file)};
	bool is_one = true, has_exec = false;

	for (size_t i = 0; i < store->order.count && !has_exec; i++) {
		struct naming naming;

		if ((store->order.items[i].key && !is_one) ||
		    !read_naming(&s->file, perf_store_get(store, i), &naming))
			continue;
		origin.is_machine |= naming.pid == KTHREADD && !strcmp(naming.name, "kthreadd");
		if (!origin.root_pid)
			origin.root_pid = naming.pid;
		if (!store->order.items[i].key)
			is_one &= origin.root_pid == naming.pid;
		if (naming.pid != origin.root_pid || naming.tid != naming.pid)
			continue;
		snprintf(origin.name, sizeof(origin.name), "%s", naming.name);
		has_exec = naming.is_exec;
	}
	if (!is_one || origin.is_machine)
		origin = (struct perf_origin){.is_machine = origin.is_machine,
					      .has_copies = origin.has_copies};
	return origin;
}
