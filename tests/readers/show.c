/* SPDX-License-Identifier: MIT */
/*
 * show FILE...                what prof reads of profiles, as text: the same that show.py prints
 * show --again FILE OUTPUT    writes what was read; what could not be kept goes to stderr
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/format/format.h"

#define FILE_MAX ((size_t)1 << 30)
/* Set in ids that are not numbers: the rest is a string. */
#define NAMED_ID (1u << 31)

struct lines {
	VEC(char *) rows; /* owned */
};

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Prints the lines and empties the list. */
static void print_sorted(struct lines *lines)
{
	if (lines->rows.count)
		qsort(lines->rows.items, lines->rows.count, sizeof(char *), compare);
	vec_for_each(&lines->rows, char **, line) {
		puts(*line);
		free(*line);
	}
	vec_release(&lines->rows);
}

static const char *text_of(const struct profile *p, string_id id)
{
	return strings_get(&p->strings, id);
}

static void add_stack(const struct profile *p, stack_id id, struct strbuf *text)
{
	const struct stack *stack;
	const struct frame *frame;

	if (id == NO_STACK)
		return;
	stack = &p->stacks.rows.items[id];
	frame = &p->frames.rows.items[stack->frame];
	add_stack(p, stack->parent, text);
	strbuf_addf(text, "%s%s", stack->parent == NO_STACK ? "" : ";",
		    text_of(p, p->funcs.rows.items[frame->func].name));
}

static char *stack_line(const struct profile *p, const struct sample *sample)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	add_stack(p, sample->stack, &text);
	if (sample->event)
		strbuf_addf(&text, " event %s",
			    text_of(p, p->events.rows.items[sample->event].name));
	return xstrdup(strbuf_text(&text));
}

struct weighed {
	char *line; /* owned */
	uint64_t weight;
};

static int compare_weighed(const void *a, const void *b)
{
	return strcmp(((const struct weighed *)a)->line, ((const struct weighed *)b)->line);
}

/* Merges stacks with equal names. */
static void print_stacks(const struct profile *p, const struct profile_thread *thread)
{
	struct weighed *rows = xcalloc(samples_count(&thread->samples) + 1, sizeof(*rows));
	struct lines lines = {0};
	size_t count = 0, row = 0;

	samples_for_each(&thread->samples, sample) {
		if (sample->weight)
			rows[count++] = (struct weighed){stack_line(p, sample), sample->weight};
	}
	qsort(rows, count, sizeof(*rows), compare_weighed);
	while (row < count) {
		size_t first = row;
		uint64_t weight = 0;

		for (; row < count && !strcmp(rows[row].line, rows[first].line); row++)
			weight += rows[row].weight;
		vec_push(&lines.rows, xasprintf("stack %" PRIu64 " %s", weight, rows[first].line));
	}
	print_sorted(&lines);
	for (size_t i = 0; i < count; i++)
		free(rows[i].line);
	free(rows);
}

static void print_samples(const struct profile *p, const struct profile_thread *thread)
{
	uint64_t start = p->meta.start_ns, first = start, last = start, cpu = 0;
	size_t count = 0;

	samples_for_each(&thread->samples, sample) {
		cpu += sample->cpu_delta;
		if (!sample->weight)
			continue;
		first = count++ ? first : sample->time;
		last = sample->time;
	}
	printf("samples %zu from %" PRIu64 " to %" PRIu64 ", CPU time %" PRIu64 "\n", count,
	       first - start, last - start, cpu);
	print_stacks(p, thread);
}

static void print_markers(const struct profile *p, const struct profile_thread *thread)
{
	struct lines lines = {0};

	vec_for_each(&thread->markers, const struct marker *, marker) {
		const struct schema *schema = schemas_get(&p->markers.schemas, marker->schema);
		_cleanup_(strbuf_release) struct strbuf cause = {0};

		add_stack(p, marker_cause(&p->markers, marker), &cause);
		vec_push(&lines.rows,
			 xasprintf("marker %s %s %" PRIu64 " %" PRIu64 " %s",
				   text_of(p, schema->name), text_of(p, marker->name),
				   marker->start - p->meta.start_ns, marker->end - p->meta.start_ns,
				   cause.size ? strbuf_text(&cause) : "-"));
	}
	print_sorted(&lines);
}

static void format_id(char *text, size_t size, const struct profile *p, uint32_t id)
{
	if (id & NAMED_ID)
		snprintf(text, size, "%s", text_of(p, id & ~NAMED_ID));
	else
		snprintf(text, size, "%" PRIu32, id);
}

static void print_thread(const struct profile *p, const struct profile_thread *thread)
{
	char pid[64], tid[64];

	format_id(pid, sizeof(pid), p, thread->pid);
	format_id(tid, sizeof(tid), p, thread->tid);
	printf("thread %s pid %s.%" PRIu32 " tid %s\n", text_of(p, thread->name), pid,
	       thread->incarnation, tid);
	print_samples(p, thread);
	print_markers(p, thread);
}

static void print_cpus(const struct profile *p)
{
	uint64_t *weights = xcalloc(NO_CPU, sizeof(*weights));

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			if (!sample->event && sample->cpu != NO_CPU)
				weights[sample->cpu] += sample->weight;
		}
	}
	for (unsigned int cpu = 0; cpu < NO_CPU; cpu++) {
		if (weights[cpu])
			printf("cpu %u weight %" PRIu64 "\n", cpu, weights[cpu]);
	}
	free(weights);
}

static void print_counters(const struct profile *p)
{
	vec_for_each(&p->counters.rows, const struct counter *, counter) {
		char pid[64];

		format_id(pid, sizeof(pid), p, counter->pid);
		printf("counter %s pid %s.%" PRIu32 ":", text_of(p, counter->name), pid,
		       counter->incarnation);
		vec_for_each(&counter->samples, const struct counter_sample *, sample) {
			if (sample->delta)
				printf(" %" PRId64 "@%" PRIu64, sample->delta,
				       sample->time - p->meta.start_ns);
		}
		printf("\n");
	}
}

/* Returns NULL after printing the reason. */
static struct profile *read_file(const char *path, struct import_counts *counts)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t file_size;
	size_t size = 0;
	_cleanup_free_ char *text = text_read_file(path, FILE_MAX, &size);
	const struct format *format = text ? format_of_text(text, size) : NULL;
	struct error err = {0};
	struct profile *p;

	if (format && format->read_file && format_of_file(fd, &file_size) == format) {
		if (!format->read_file(&p, fd, file_size, counts, &err))
			return p;
		fprintf(stderr, "%s: %s\n", path, err.text);
		return NULL;
	}
	if (!format)
		fprintf(stderr, "%s: no profile\n", path);
	else if (format->read(&p, text, size, counts, &err))
		fprintf(stderr, "%s: %s\n", path, err.text);
	else
		return p;
	return NULL;
}

static int show(const char *path)
{
	struct profile *p = read_file(path, NULL);

	if (!p)
		return -1;
	printf("file %s\n", path);
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread)
		print_thread(p, thread);
	print_cpus(p);
	print_counters(p);
	profile_free(p);
	return 0;
}

static bool has_cpus(const struct profile *p)
{
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			if (sample->cpu != NO_CPU)
				return true;
		}
	}
	return false;
}

static int write_again(const char *path, const char *output)
{
	const struct outfile_options options = {.path = output, .fd = -1};
	struct import_counts counts = {0};
	struct profile *p = read_file(path, &counts);
	struct outfile *out = NULL;
	struct error err = {0};
	int ret = p ? outfile_open(&out, &options, &err) : -1;

	for (size_t i = 0; i < UNREAD_KIND_COUNT; i++) {
		if (counts.unread[i])
			fprintf(stderr, "%s: %" PRIu64 " %s are not read\n", path, counts.unread[i],
				unread_names[i]);
	}
	if (!ret) {
		const struct export_options how = {.all_threads = true, .cpus = has_cpus(p)};

		ret = format_firefox.write(p, &how, out, NULL, &err);
	}
	if (!ret)
		ret = outfile_commit(out, &err);
	if (ret && *err.text)
		fprintf(stderr, "%s: %s\n", output, err.text);
	outfile_free(out);
	profile_free(p);
	return ret;
}

int main(int argc, char **argv)
{
	int result = 0;

	if (argc == 4 && strcmp(argv[1], "--again") == 0)
		return write_again(argv[2], argv[3]) ? 1 : 0;
	for (int i = 1; i < argc; i++)
		result |= show(argv[i]);
	return result ? 1 : 0;
}
