/* SPDX-License-Identifier: MIT */
#include "lib/format/format.h"

#include "lib/base/open_file.h"

struct written {
	const struct format *format;
	const struct profile *profile;
	const struct export_options *options;
	struct export_counts *counts;
};

static int write_profile(void *ctx, struct outfile *out, struct error *err)
{
	const struct written *w = ctx;

	return w->format->write(w->profile, w->options, out, w->counts, err);
}

int written_file(const struct format *format, const struct profile *p,
		 const struct export_options *options, struct export_counts *counts, bool gzip,
		 uint64_t *size, struct error *err)
{
	struct written w = {format, p, options, counts};

	return memory_file_write("the profile", gzip, write_profile, &w, size, err);
}

int written_text(const struct format *format, const struct profile *p,
		 const struct export_options *options, struct export_counts *counts, char **text,
		 size_t *size, struct error *err)
{
	uint64_t bytes;
	_cleanup_close_ int fd = written_file(format, p, options, counts, false, &bytes, err);

	*text = NULL;
	*size = bytes;
	return fd < 0 ? fd : memory_file_read(fd, "the profile", bytes, text, err);
}

#define FORMAT_ROW(name) &format_##name,
static const struct format *const formats[] = {FORMATS(FORMAT_ROW)};

const char *const unread_names[UNREAD_KIND_COUNT] = {
	[UNREAD_MARKERS] = "markers",
	[UNREAD_COUNTERS] = "counters",
	[UNREAD_COUNTER_VALUES] = "additional counter values",
	[UNREAD_ALLOCATIONS] = "allocations",
	[UNREAD_SAMPLES] = "samples of additional events",
	[UNREAD_WEIGHTS] = "weights that are neither counts nor whole intervals",
	[UNREAD_CPU_TIMES] = "CPU times without a unit of time",
	[UNREAD_SAMPLE_VALUES] = "additional sample values",
	[UNREAD_FRAME_VALUES] = "additional frame values",
	[UNREAD_BUILD_IDS] = "incomplete build ids",
	[UNREAD_SOURCES] = "source files with the same name",
	[UNREAD_MEMBERS] = "other parts",
};

#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))
#define COMPRESSED_SUFFIX ".gz"

const struct format *format_find(const char *name)
{
	for (size_t i = 0; i < FORMAT_COUNT; i++) {
		if (formats[i]->write && strcmp(formats[i]->name, name) == 0)
			return formats[i];
	}
	return NULL;
}

/* Returns the length of the path's longest suffix in the list, 0 without one. */
static size_t suffix_size(const char *path, size_t size, const char *const *suffixes)
{
	size_t longest = 0;

	for (; *suffixes; suffixes++) {
		size_t length = strlen(*suffixes);

		if (length > longest && size >= length &&
		    !memcmp(path + size - length, *suffixes, length))
			longest = length;
	}
	return longest;
}

/* Chooses the longest suffix: ".speedscope.json" also ends in ".json". */
const struct format *format_of_path(const char *path)
{
	const struct format *found = NULL;
	size_t size = strlen(path), longest = 0;

	if (text_ends_with(path, COMPRESSED_SUFFIX))
		size -= strlen(COMPRESSED_SUFFIX);
	for (size_t i = 0; i < FORMAT_COUNT; i++) {
		size_t length = formats[i]->write ? suffix_size(path, size, formats[i]->suffixes)
						  : 0;

		if (length > longest) {
			longest = length;
			found = formats[i];
		}
	}
	return found;
}

const struct format *format_of_text(const char *text, size_t size)
{
	for (int is_last = 0; is_last < 2; is_last++) {
		for (size_t i = 0; i < FORMAT_COUNT; i++) {
			if (formats[i]->matches && formats[i]->is_asked_last == is_last &&
			    formats[i]->matches(text, size))
				return formats[i];
		}
	}
	return NULL;
}

const struct format *format_of_file(int fd, uint64_t *size)
{
	char head[16384];
	struct stat status;
	ssize_t got;

	if (fstat(fd, &status) || !S_ISREG(status.st_mode))
		return NULL;
	*size = (uint64_t)status.st_size;
	got = pread(fd, head, sizeof(head), 0);
	for (size_t i = 0; got > 0 && i < FORMAT_COUNT; i++) {
		if (formats[i]->read_file && formats[i]->matches(head, (size_t)got))
			return formats[i];
	}
	return NULL;
}

bool format_is_compressed(const struct format *format, const char *path)
{
	if (suffix_size(path, strlen(path), format->suffixes))
		return false;
	return !format->is_plain || text_ends_with(path, COMPRESSED_SUFFIX);
}

const char *const *format_names(void)
{
	static const char *names[FORMAT_COUNT + 1];
	size_t count = 0;

	for (size_t i = 0; i < FORMAT_COUNT; i++) {
		if (formats[i]->write)
			names[count++] = formats[i]->name;
	}
	return names;
}

/* Maximum of rows that are repetitions: about 150 MB. */
#define ROWS_MAX (1u << 22)

/* Returns the number of bits of a count. */
static unsigned size_of(uint64_t count)
{
	return count ? 64 - (unsigned)__builtin_clzll(count) : 0;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	uint64_t all;

	return __builtin_add_overflow(a, b, &all) ? UINT64_MAX : all;
}

void repeats_add(struct repeats *r, uint64_t count)
{
	unsigned size = size_of(count);

	r->samples[size]++;
	/* Samples are written once in any case. */
	r->rows[size] = sum(r->rows[size], count ? count - 1 : 0);
}

void repeats_limit(struct repeats *r)
{
	uint64_t smaller = 0, larger = 0;

	r->max = 1;
	for (size_t i = 0; i <= 64; i++)
		larger += r->samples[i];
	for (unsigned size = 0; size < 64; size++) {
		uint64_t rows, max = 1ull << size;

		smaller = sum(smaller, r->rows[size]);
		larger -= r->samples[size];
		if (__builtin_mul_overflow(larger, max - 1, &rows) || sum(smaller, rows) > ROWS_MAX)
			return;
		r->max = larger ? max : UINT64_MAX;
	}
}

uint64_t repeats_of(struct repeats *r, uint64_t count)
{
	uint64_t kept = count < r->max ? count : r->max;

	r->lost = sum(r->lost, count - kept);
	return kept ? kept : 1;
}

void repeats_tell(const struct repeats *r, const char *format)
{
	if (r->lost)
		log_warn("%s has no weights: %" PRIu64 " repetitions of samples are left out",
			 format, r->lost);
}

static void add_row(struct scope_rows *rows, struct scope_row row)
{
	rows->sum += row.weight;
	vec_push(&rows->list, row);
}

/* A difference of one tick is within the error of the clock. */
static void add_gap(struct scope_rows *rows, uint64_t until)
{
	if (until > rows->sum + 1)
		add_row(rows, (struct scope_row){NO_STACK, true, until - rows->sum});
}

void scope_rows_collect(struct scope_rows *rows, const struct profile *p,
			const struct profile_thread *thread, uint8_t event, bool has_times)
{
	uint64_t interval = p->meta.interval_ns;

	samples_for_each(&thread->samples, sample) {
		uint64_t before = p->meta.sample_ticks ? 0 : sample->weight - 1u, tick;

		if (sample->event != event || !sample->weight)
			continue;
		tick = has_times ? profile_since_start(p, sample->time) / interval : 0;
		if (tick > before)
			add_gap(rows, tick - before);
		add_row(rows, (struct scope_row){sample->stack, false, sample->weight});
	}
	if (has_times && p->meta.end_ns > p->meta.start_ns)
		add_gap(rows, (p->meta.end_ns - p->meta.start_ns) / interval);
}
