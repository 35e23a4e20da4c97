/* SPDX-License-Identifier: MIT */
/*
 * golden FILE                   the profile that a file of events (events.h) makes, on stdout
 * golden --into FOLDER CASE...  the profiles of CASE/in.events, as FOLDER/CASE.json; in each other
 *                               format that can be written, as FOLDER/CASE.FORMAT
 * golden --records FILE         the records of a file as they are on the wire
 */
#include <stdbool.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/cleanup.h"
#include "lib/stream/capture/capture_reader.h"
#include "lib/stream/capture/capture_writer.h"
#include "lib/format/format.h"
#include "lib/model/tables/expand_inlines.h"
#include "lib/model/meaning/titles.h"
#include "lib/model/meaning/wait_frames.h"
#include "lib/recording/recording.h"
#include "lib/stream/session/session.h"
#include "lib/stream/record/records.h"
#include "tests/golden/events.h"
#include "tests/golden/text_source.h"

#define FILE_MAX (1u << 20)

/* Must not depend on the machine or the day. */
static struct profile *new_profile(void)
{
	struct profile *p = profile_new();
	struct profile_meta *meta = &p->meta;

	meta->product = xstrdup("golden");
	meta->command_line = xstrdup("golden in.events");
	meta->os = xstrdup("Linux 6.1.0 x86_64");
	meta->distribution = xstrdup("Debian GNU/Linux 12 (bookworm)");
	meta->abi = xstrdup("x86_64-linux");
	meta->cpu_name = xstrdup("A processor");
	meta->physical_cpus = 2;
	meta->logical_cpus = 4;
	meta->memory_bytes = 1ull << 33;
	meta->start_ns = EVENTS_START_NS;
	meta->start_realtime_ns = 1700000000000000000ull;
	meta->interval_ns = 1000000;
	meta->buffer_bytes = 1 << 20;
	meta->symbolicated = true;
	vec_push(&meta->features, xstrdup("stackwalk"));
	vec_push(&meta->filters, xstrdup("golden"));
	return p;
}

static bool is_meant(struct profile *p, const struct events_answer *answer,
		     const struct frame *frame)
{
	if (frame->offset != answer->offset)
		return false;
	if (frame->module == NO_MODULE || !answer->module)
		return frame->module == NO_MODULE && !answer->module;
	return strcmp(strings_get(&p->strings, modules_get(&p->modules, frame->module)->name),
		      answer->module) == 0;
}

static string_id intern(struct profile *p, const char *text)
{
	return text ? strings_intern(&p->strings, text) : NO_STRING;
}

static void answer_frame(struct expand_inlines *e, struct profile *p, frame_id id,
			 const struct events_answer *answer)
{
	struct frame_name chain[EVENTS_CHAIN_MAX];
	symbol_id native = NO_SYMBOL;

	if (answer->symbol) {
		struct symbol symbol = {
			.module = frames_get(&p->frames, id)->module,
			.name = intern(p, answer->symbol),
			.rva = answer->symbol_start,
			.size = answer->symbol_size,
		};

		native = symbols_intern(&p->symbols, &symbol);
	}
	for (size_t i = 0; i < answer->depth; i++) {
		const struct events_name *name = &answer->chain[i];

		chain[i] = (struct frame_name){
			.func = intern(p, name->func),
			.file = intern(p, name->file),
			.line = name->line,
			.start_line = name->start_line,
			.is_named = true,
		};
	}
	expand_inlines_answer(e, id, native, chain, answer->depth);
}

static void name_frames(struct profile *p, const struct events *events)
{
	struct expand_inlines *e = expand_inlines_new(p);

	vec_for_each(&events->answers, const struct events_answer *, answer) {
		for (size_t i = 0; i < p->frames.rows.count; i++) {
			if (is_meant(p, answer, &p->frames.rows.items[i]))
				answer_frame(e, p, (frame_id)i, answer);
		}
	}
	expand_inlines_apply(e);
	expand_inlines_free(e);
}

static int write_as(const struct format *format, const struct profile *p, bool cpus,
		    const char *path, struct error *err)
{
	struct outfile_options options = {.path = path ? path : "-",
					  .fd = path ? -1 : dup(STDOUT_FILENO)};
	const struct export_options how = {.cpus = cpus};
	struct outfile *out = NULL;
	int result = outfile_open(&out, &options, err);

	if (!result)
		result = format->write(p, &how, out, NULL, err);
	if (!result)
		result = outfile_commit(out, err);
	outfile_free(out);
	return result;
}

/* Exports to a path, or to stdout without one. */
static int export(const struct profile *p, bool cpus, const char *path, struct error *err)
{
	return write_as(&format_firefox, p, cpus, path, err);
}

/* Exports next to the file `path`. */
static int export_others(const struct profile *p, bool cpus, const char *path, struct error *err)
{
#define FORMAT_ROW(name) &format_##name,
	static const struct format *const formats[] = {FORMATS(FORMAT_ROW)};
	int stem = (int)(strrchr(path, '.') - path), result = 0;

	for (size_t i = 0; !result && i < sizeof(formats) / sizeof(formats[0]); i++) {
		_cleanup_free_ char *other = xasprintf("%.*s.%s", stem, path, formats[i]->name);

		if (formats[i]->write && formats[i] != &format_firefox)
			result = write_as(formats[i], p, cpus, other, err);
	}
	return result;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns the titles of all threads, a line each; NULL if some share a row. The caller frees. */
static char *list_titles(const struct profile *p)
{
	size_t count = p->threads.rows.count;
	_cleanup_free_ char **lines = xcalloc(count + 1, sizeof(*lines));
	struct thread_titles titles;
	struct strbuf text = {0};
	bool is_merged = false;

	thread_titles_find(&titles, p);
	for (thread_id id = 0; id < count; id++) {
		is_merged |= p->threads.rows.items[id].is_folded;
		lines[id] = xasprintf("%" PRIu32 " %s, %s\n", p->threads.rows.items[id].tid,
				      thread_title(&titles, id), process_title(&titles, id));
	}
	thread_titles_release(&titles);
	qsort(lines, count, sizeof(*lines), compare_texts);
	for (size_t i = 0; i < count; i++) {
		/* Bytes that are no UTF-8 are others in a file. */
		for (const char *at = lines[i]; *at; at++) {
			if (!(*at & 0x80))
				strbuf_addch(&text, *at);
		}
		free(lines[i]);
	}
	if (is_merged)
		strbuf_release(&text);
	return is_merged ? NULL : strbuf_take(&text);
}

/* Titles of the latest profile that was made of records. */
static char *titles_of_records;

/* Sets the number of threads in the profile. */
static int run(const struct events *events, const char *output, size_t *threads, struct error *err)
{
	struct profile *p = new_profile();
	struct session *session = session_new(p);
	const struct rec *rec;
	size_t word = 0;
	int result;

	/* Invalid records go no further, as with real readers. */
	while ((rec = events_next(events, &word))) {
		if (record_is_valid(rec, record_size(rec)))
			session_feed(session, rec);
	}
	session_finish(session, events->end_ns);
	session_free(session);
	name_frames(p, events);
	wait_frames_refine(p);
	*threads = p->threads.rows.count;
	free(titles_of_records);
	titles_of_records = list_titles(p);
	result = export(p, events->cpus, output, err);
	if (!result && output)
		result = export_others(p, events->cpus, output, err);
	profile_free(p);
	return result;
}

static int expect_record(struct source *source, const struct rec *wanted, struct error *err)
{
	const struct rec *got;
	int result = source_next(source, &got, err);

	if (result < 0)
		return result;
	if (result != SOURCE_RECORD || record_size(got) != record_size(wanted) ||
	    memcmp(got, wanted, record_size(wanted)) != 0)
		return error_text(err, -EBADMSG, "a record of kind %u is another in a capture",
				  wanted->kind);
	return 0;
}

static int read_capture(const struct events *events, int fd, struct error *err)
{
	struct capture_reader *reader;
	struct capture_counts counts;
	const struct rec *rec;
	size_t word = 0;
	int result = capture_reader_open(&reader, fd, err);

	if (result)
		return result;
	while (!result && (rec = events_next(events, &word))) {
		if (record_is_valid(rec, record_size(rec)))
			result = expect_record(capture_reader_source(reader), rec, err);
	}
	if (!result && source_next(capture_reader_source(reader), &rec, err) != SOURCE_END)
		result = error_text(err, -EBADMSG, "a capture has more records than written");
	capture_reader_count(reader, &counts);
	if (!result && !counts.is_complete)
		result = error_text(err, -EBADMSG, "a capture has no end");
	capture_reader_free(reader);
	return result;
}

/* Checks that the records are the same after a stay in a capture file. */
static int check_capture(const struct events *events, struct error *err)
{
	_cleanup_close_ int fd = memfd_create("capture", MFD_CLOEXEC);
	const struct capture_writer_options options = {.fd = dup(fd)};
	const struct capture_start start = {.start_ns = EVENTS_START_NS};
	struct capture_writer *writer = capture_writer_new(&options, &start, err);
	const struct rec *rec;
	size_t word = 0;

	if (!writer)
		return err->code;
	while ((rec = events_next(events, &word))) {
		if (record_is_valid(rec, record_size(rec)))
			capture_writer_add(writer, rec);
	}
	capture_writer_finish(writer, true);
	capture_writer_free(writer);
	return read_capture(events, fd, err);
}

static void say_nothing(const char *line)
{
}

/* Checks that a recording of a source has as many threads as a session that is fed by hand. */
static int check_source(const char *path, size_t threads, struct error *err)
{
	const struct recording_options options = {.no_symbols = true, .say = say_nothing};
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct recording recording = {0};
	int result;

	if (fd < 0 || !text_source.matches(fd))
		return error_text(err, -EBADMSG, "it is not a source of recordings");
	result = recording_load(&recording, &text_source, fd, path, &options, err);
	/* A case about files alone has no other record. */
	if (result == -ENODATA && !threads)
		return 0;
	if (!result && recording.profile->threads.rows.count != threads)
		result = error_text(err, -EBADMSG, "a recording has %zu threads, not %zu",
				    (size_t)recording.profile->threads.rows.count, threads);
	recording_release(&recording);
	return result;
}

static int write_records(const struct events *events)
{
	size_t count = events->words.count;

	return fwrite(events->words.items, 8, count, stdout) == count && !fflush(stdout) ? 0 : -1;
}

/* Prints failures. */
static int run_file(const char *path, const char *output, bool records)
{
	_cleanup_free_ char *text = text_read_file(path, FILE_MAX, NULL);
	struct events events = {0};
	struct error err = {0};
	size_t threads = 0;
	int result;

	if (!text) {
		fprintf(stderr, "%s: cannot be read\n", path);
		return -1;
	}
	result = events_parse(&events, text, &err);
	if (!result)
		result = events_check_text(&events, &err);
	if (!result)
		result = records ? write_records(&events) : run(&events, output, &threads, &err);
	if (!result && !records)
		result = check_capture(&events, &err);
	if (!result && !records)
		result = check_source(path, threads, &err);
	if (result)
		fprintf(stderr, "%s: %s\n", path, err.text);
	events_release(&events);
	return result;
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

/* Checks that a file shows the titles that prof report shows of the records. */
static int check_titles(const struct profile *p, struct error *err)
{
	_cleanup_free_ char *titles = list_titles(p);

	if (!titles || strcmp(titles, titles_of_records) == 0)
		return 0;
	return error_text(err, -EBADMSG, "the file's titles:\n%sbut of the records:\n%s", titles,
			  titles_of_records);
}

static int read_again(const char *text, size_t size, const char *path, struct error *err)
{
	struct import_counts counts = {0};
	struct profile *p;
	int result = format_of_text(text, size)->read(&p, text, size, &counts, err);

	if (result)
		return result;
	for (size_t i = 0; i < UNREAD_KIND_COUNT && !result; i++) {
		if (counts.unread[i])
			result = error_text(err, -EBADMSG, "%" PRIu64 " %s are not read",
					    counts.unread[i], unread_names[i]);
	}
	if (!result)
		result = check_titles(p, err);
	if (!result)
		result = export(p, has_cpus(p), path, err);
	profile_free(p);
	return result;
}

/* Checks that a profile equals itself after being read and written again. */
static int check_again(const char *path, const char *again)
{
	_cleanup_free_ char *text = text_read_file(path, FILE_MAX, NULL), *other = NULL;
	struct error err = {0};
	size_t at = 0;

	if (read_again(text, strlen(text), again, &err)) {
		fprintf(stderr, "%s: read again: %s\n", path, err.text);
		return -1;
	}
	other = text_read_file(again, FILE_MAX, NULL);
	unlink(again);
	while (text[at] && text[at] == other[at])
		at++;
	if (text[at] == other[at])
		return 0;
	at -= at < 40 ? at : 40;
	fprintf(stderr, "%s: read and written again, another: at byte %zu\n  %.100s\n  %.100s\n",
		path, at, text + at, other + at);
	return -1;
}

static int run_case(const char *folder, const char *name)
{
	_cleanup_free_ char *input = xasprintf("%s/in.events", name);
	_cleanup_free_ char *output = xasprintf("%s/%s.json", folder, name);
	_cleanup_free_ char *again = xasprintf("%s/%s.again", folder, name);
	int result = run_file(input, output, false);

	return result ? result : check_again(output, again);
}

int main(int argc, char **argv)
{
	int result = 0;

	if (argc > 3 && strcmp(argv[1], "--into") == 0) {
		for (int i = 3; i < argc; i++)
			result |= run_case(argv[2], argv[i]);
	} else if (argc == 3 && strcmp(argv[1], "--records") == 0) {
		result = run_file(argv[2], NULL, true);
	} else if (argc == 2) {
		result = run_file(argv[1], NULL, false);
	} else {
		fprintf(stderr, "usage: golden FILE | --into FOLDER CASE... | --records FILE\n");
		return 2;
	}
	return result ? 1 : 0;
}
