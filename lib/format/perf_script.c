/* SPDX-License-Identifier: MIT */
/*
 * Text output of perf script and prof script. A sample is a line with the thread, the time and the
 * event, then a line for each frame, innermost first. Addresses are the process's, and mappings are
 * not included: unnamed code keeps its address.
 */
#include "lib/format/format.h"

#include "lib/format/foreign.h"

#define NS_DIGITS 9
#define NAME_MAX_SIZE 256
/* Maximum comment and header lines before the first sample. */
#define LINES_JUDGED 2000
#define DEFAULT_INTERVAL_NS 1000000
/* The event of samples that name none. */
#define NO_EVENT "samples"

/* The first line of a sample: "comm pid/tid [cpu] 12.345678: 1000 event:". */
struct head {
	const char *comm, *comm_end;
	uint32_t pid, tid;
	uint16_t cpu;
	uint64_t time; /* CLOCK_NO_TIME: beyond the range of a clock */
	uint64_t period; /* 0 if missing */
	const char *event, *event_end; /* equal if missing */
	const char *rest; /* frame on the same line, if any */
	bool has_time;
};

/* The lines of a sample's frames, and the resulting stack. */
struct frame_lines {
	const char *text;
	size_t size;
	stack_id stack;
};

struct script_reader {
	struct foreign f;
	VEC(struct frame_lines) known; /* lines seen so far, as most samples repeat earlier lines */
	struct index known_index;
	struct strings lines; /* distinct lines of frames */
	VEC(frame_id) frames; /* frame by line */
	VEC(frame_id) stack; /* stack of the current sample, innermost first */
	char shown[NAME_MAX_SIZE]; /* name of the event to show by default */
	uint64_t start; /* CLOCK_NO_TIME: unknown */
	uint64_t interval;
	bool has_sample, has_times;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && is_blank(*at))
		at++;
	return at;
}

static const char *word_end(const char *at, const char *end)
{
	while (at < end && !is_blank(*at))
		at++;
	return at;
}

/* Parses any number of digits. Too large numbers become UINT64_MAX. */
static bool scan_seconds(const char **at, const char *end, uint64_t *seconds)
{
	const char *first = *at;

	if (text_scan_decimal(at, end, seconds))
		return true;
	while (*at < end && isdigit((unsigned char)**at))
		++*at;
	*seconds = UINT64_MAX;
	return *at > first;
}

/* Parses a time in the form "12.345678:" as ns. */
static bool scan_time(const char *at, const char *end, uint64_t *time)
{
	bool is_negative = at < end && *at == '-';
	uint64_t seconds, fraction = 0;
	unsigned int digits = 0;

	at += is_negative;
	if (!scan_seconds(&at, end, &seconds) || at == end || *at++ != '.')
		return false;
	for (; at < end && isdigit((unsigned char)*at); at++) {
		if (digits == NS_DIGITS)
			continue;
		fraction = 10 * fraction + (uint64_t)(*at - '0');
		digits++;
	}
	if (!digits || at == end || *at != ':')
		return false;
	for (; digits < NS_DIGITS; digits++)
		fraction *= 10;
	*time = CLOCK_NO_TIME;
	if (!is_negative && seconds < CLOCK_TIME_MAX / 1000000000)
		*time = 1000000000 * seconds + fraction;
	return true;
}

static const char *trim(const char *at, const char *end)
{
	while (end > at && is_blank(end[-1]))
		end--;
	return end;
}

static const char *last_word(const char *at, const char *end)
{
	const char *word = end;

	while (word > at && !is_blank(word[-1]))
		word--;
	return word;
}

/* Parses the last word, "pid/tid" or "tid", after the name. */
static bool scan_ids(struct head *head, const char *at, const char *end)
{
	const char *word = last_word(at, end), *scan = word;
	uint64_t first, second;

	if (word == end || !text_scan_decimal(&scan, end, &first) || first > INT32_MAX)
		return false;
	second = first;
	if (scan < end && *scan == '/') {
		scan++;
		if (!text_scan_decimal(&scan, end, &second) || second > INT32_MAX)
			return false;
	}
	head->pid = (uint32_t)first;
	head->tid = (uint32_t)second;
	head->comm_end = trim(at, word);
	head->comm = skip_blanks(at, head->comm_end);
	return scan == end && head->comm < head->comm_end;
}

/* Reads the words before the time: name, ids, the CPU in brackets, and the mode of -F +misc. */
static bool scan_task(struct head *head, const char *at, const char *end)
{
	const char *open, *mode;
	uint64_t cpu;

	head->cpu = NO_CPU;
	end = trim(at, end);
	for (mode = end; mode > at && isupper((unsigned char)mode[-1]);)
		mode--;
	if (mode > at && is_blank(mode[-1]))
		end = trim(at, mode);
	if (end > at && end[-1] == ']') {
		for (open = end - 1; open > at && *open != '['; open--)
			;
		if (*open == '[') {
			const char *scan = open + 1;

			if (!text_scan_decimal(&scan, end, &cpu) || scan != end - 1)
				return false;
			head->cpu = cpu < NO_CPU ? (uint16_t)cpu : NO_CPU;
			end = trim(at, open);
		}
	}
	return scan_ids(head, at, end);
}

/* Parses the words after the time: period, event, and an optional frame. */
static void scan_event(struct head *head, const char *at, const char *end)
{
	const char *scan, *word;

	at = scan = skip_blanks(at, end);
	head->period = 0;
	if (text_scan_decimal(&scan, end, &head->period) && scan < end && is_blank(*scan))
		at = skip_blanks(scan, end);
	else
		head->period = 0;
	word = word_end(at, end);
	head->event = head->event_end = head->rest = at;
	if (word > at && word[-1] == ':') {
		head->event_end = word - 1;
		head->rest = skip_blanks(word, end);
	}
}

/*
 * Parses "comm pid/tid [cpu] 1000 event:", a head without a time. The number before the event is
 * a period only if ids precede it.
 */
static bool parse_head_without_time(struct text_line line, struct head *head)
{
	const char *end = trim(line.text, line.end), *event = last_word(line.text, end), *number;
	const char *scan;

	if (is_blank(*line.text) || event == end || end[-1] != ':' || event + 1 == end)
		return false;
	head->time = CLOCK_NO_TIME;
	head->has_time = false;
	head->period = 0;
	head->event = event;
	head->event_end = end - 1;
	head->rest = line.end;
	end = trim(line.text, event);
	scan = number = last_word(line.text, end);
	if (text_scan_decimal(&scan, end, &head->period) && scan == end &&
	    scan_task(head, line.text, number))
		return true;
	head->period = 0;
	return scan_task(head, line.text, event);
}

static bool parse_head(struct text_line line, struct head *head)
{
	const char *at = skip_blanks(line.text, line.end);

	if (at == line.end || *at == '#')
		return false;
	for (at = word_end(at, line.end); at < line.end; at = word_end(at, line.end)) {
		const char *word = skip_blanks(at, line.end);

		at = word;
		if (word == line.end || (!isdigit((unsigned char)*word) && *word != '-') ||
		    !scan_time(word, word_end(word, line.end), &head->time))
			continue;
		if (!scan_task(head, line.text, word))
			return false;
		head->has_time = true;
		scan_event(head, word_end(word, line.end), line.end);
		return true;
	}
	return parse_head_without_time(line, head);
}

/* Lines about mappings and the like: --show-mmap-events and others. */
static bool is_record(const struct head *head, const char *end)
{
	static const char prefix[] = "PERF_RECORD_";
	size_t size = strlen(prefix);

	return (size_t)(end - head->event) >= size && !memcmp(head->event, prefix, size);
}

/* Returns the first or last '(' that follows a blank and precedes the text, or NULL. */
static const char *find_blank_open(const char *at, const char *end, bool is_first, char next)
{
	const char *found = NULL;

	for (const char *c = at + 1; c + 1 < end && !(found && is_first); c++) {
		if (*c == '(' && is_blank(c[-1]) && (!next || c[1] == next))
			found = c;
	}
	return found;
}

/*
 * Returns the '(' of a file name, or NULL: that of the first path, or else the one that matches the
 * ')' at the end, since names may contain parentheses as well.
 */
static const char *find_open(const char *at, const char *end)
{
	const char *path = find_blank_open(at, end, true, '/');
	size_t depth = 0;

	if (end == at || end[-1] != ')')
		return NULL;
	if (path)
		return path;
	for (const char *c = end; c-- > at + 1;) {
		depth += *c == ')';
		if (*c == '(' && !--depth)
			return is_blank(c[-1]) ? c : find_blank_open(at, end, false, '\0');
	}
	return NULL;
}

/* "/tmp/program (deleted)" → "/tmp/program". */
static char *module_name(const char *text, const char *end)
{
	static const char deleted[] = " (deleted)";
	char *name = xstrndup(text, (size_t)(end - text));

	if (text_ends_with(name, deleted))
		name[strlen(name) - strlen(deleted)] = '\0';
	return name;
}

/* Parses "  7f12 name+0x34 (/lib/x.so)", perhaps without the file. False for other lines. */
static bool parse_frame(const char *at, const char *end, struct foreign_frame *frame, char **name,
			char **module)
{
	const char *open, *plus;

	at = skip_blanks(at, end);
	end = trim(at, end);
	if (!text_scan_hex(&at, end, &frame->address) || at == end || !is_blank(*at))
		return false;
	open = find_open(at, end);
	at = skip_blanks(at, end);
	*module = open ? module_name(open + 1, end - 1) : xstrdup("");
	open = open ? trim(at, open) : end;
	for (plus = open; plus > at && isxdigit((unsigned char)plus[-1]); plus--)
		;
	if (plus - at > 3 && plus[-1] == 'x' && plus[-2] == '0' && plus[-3] == '+')
		open = plus - 3;
	*name = open > at ? xstrndup(at, (size_t)(open - at)) : xstrdup("");
	return true;
}

static bool is_kernel(const char *module)
{
	return strstr(module, "kallsyms") || text_ends_with(module, "/vmlinux") ||
	       text_ends_with(module, ".ko");
}

/* Parses "  /src/x.c:12", which perf script -F +srcline writes below a frame. */
static char *parse_place(const char *at, const char *end, uint32_t *line)
{
	const char *colon = memrchr(at, ':', (size_t)(end - at)), *scan = colon ? colon + 1 : end;
	uint64_t number;

	at = skip_blanks(at, end);
	if (!colon || colon <= at || !text_scan_decimal(&scan, end, &number) || scan != end ||
	    !number || number > INT32_MAX)
		return NULL;
	*line = (uint32_t)number;
	return xstrndup(at, (size_t)(colon - at));
}

/* The text is a line, or two if its place follows. */
static frame_id make_frame(struct script_reader *r, const char *text, const char *end)
{
	_cleanup_free_ char *name = NULL, *module = NULL, *file = NULL;
	struct foreign_frame frame = {.module = NO_MODULE};
	const char *below = memchr(text, '\n', (size_t)(end - text));

	if (!parse_frame(text, below ? below : end, &frame, &name, &module))
		return NO_FRAME;
	if (below)
		file = parse_place(below + 1, end, &frame.line);
	frame.file = file;
	frame.inline_depth = strcmp(module, "inlined") == 0;
	frame.is_kernel = is_kernel(module);
	if (!frame.inline_depth)
		frame.module = foreign_module(&r->f, module, "");
	if (strcmp(name, "[unknown]") != 0)
		frame.name = name;
	/*
	 * Too large for a file offset: it is an address in the process, which is meaningless here.
	 */
	if (frame.name && frame.address > INT32_MAX)
		frame.address = 0;
	return foreign_frame(&r->f, &frame);
}

static void add_frame(struct script_reader *r, const char *text, const char *end)
{
	string_id line = strings_intern_sized(&r->lines, text, (size_t)(end - text));

	if (line == r->frames.count)
		vec_push(&r->frames, make_frame(r, text, end));
	if (r->frames.items[line] != NO_FRAME)
		vec_push(&r->stack, r->frames.items[line]);
}

/* Ranks events: the highest one is shown. */
static int rank_of(const char *event)
{
	return text_starts_with(event, "cpu-clock") || text_starts_with(event, "task-clock") ? 3
	       : text_starts_with(event, "cycles") || strstr(event, "/cycles")		     ? 2
											     : 1;
}

/* True for all spellings of the clock, for the kernel or user space only. Its samples are ticks. */
static bool is_clock(const char *event)
{
	return rank_of(event) == 3 || strcmp(event, "clock") == 0 || strcmp(event, NO_EVENT) == 0;
}

static void event_name(const struct head *head, char name[NAME_MAX_SIZE])
{
	size_t size = (size_t)(head->event_end - head->event);

	size = size < NAME_MAX_SIZE ? size : NAME_MAX_SIZE - 1;
	memcpy(name, head->event, size);
	name[size] = '\0';
	if (!size)
		strcpy(name, NO_EVENT);
}

static bool parse_sample(struct text_line line, struct head *head)
{
	return line.text < line.end && *line.text != '\t' && parse_head(line, head) &&
	       !is_record(head, line.end);
}

/* Finds the event to show, the clock's shortest period, and the first time. */
static void find_clock(struct script_reader *r, const char *text, size_t size)
{
	struct text_lines lines = text_lines_of(text, size);
	char name[NAME_MAX_SIZE];
	struct text_line line;
	struct head head;
	int best = 0;

	while (text_lines_next(&lines, &line)) {
		if (!parse_sample(line, &head))
			continue;
		if (head.time < r->start)
			r->start = head.time;
		r->has_sample = true;
		r->has_times |= head.has_time;
		event_name(&head, name);
		if (rank_of(name) > best) {
			best = rank_of(name);
			memcpy(r->shown, name, sizeof(name));
		}
		if (rank_of(name) == 3 && head.period &&
		    (!r->interval || head.period < r->interval))
			r->interval = head.period;
	}
}

static stack_id find_stack(struct script_reader *r)
{
	stack_id stack = NO_STACK;

	while (r->stack.count)
		stack = stacks_intern(&r->f.profile->stacks, stack,
				      r->stack.items[--r->stack.count]);
	return stack;
}

INDEX_EQUAL(lines_equal, struct script_reader, known,
	    a->size == b->size && memcmp(a->text, b->text, a->size) == 0)

/* Reads the following lines with frames, which begin with a tab, and with their places. */
static struct frame_lines take_frames(struct text_lines *lines)
{
	struct frame_lines frames = {.text = lines->at};
	struct text_lines next = *lines;
	struct text_line line;
	struct head head;

	while (next.at < next.end && is_blank(*next.at) && text_lines_next(&next, &line) &&
	       !parse_sample(line, &head))
		*lines = next;
	frames.size = (size_t)(lines->at - frames.text);
	return frames;
}

/* Returns whether the line is that of a frame's place, not of the next frame. */
static bool is_place(struct text_line line)
{
	_cleanup_free_ char *file = NULL;
	uint32_t number;

	if (line.text == line.end || *line.text == '\t')
		return false;
	file = parse_place(line.text, line.end, &number);
	return file != NULL;
}

/* Returns the stack of the frames on the following lines. */
static stack_id read_frames(struct script_reader *r, struct text_lines *lines)
{
	struct frame_lines frames = take_frames(lines);
	uint64_t hash = hash_bytes(frames.text, frames.size, 0);
	uint32_t at = index_find(&r->known_index, hash, lines_equal, r, &frames);
	struct text_lines own = text_lines_of(frames.text, frames.size);
	struct text_line line;

	if (at != INDEX_NONE)
		return r->known.items[at].stack;
	while (text_lines_next(&own, &line)) {
		struct text_lines below = own;
		struct text_line place;

		if (text_lines_next(&below, &place) && is_place(place)) {
			own = below;
			line.end = place.end;
		}
		add_frame(r, line.text, line.end);
	}
	frames.stack = find_stack(r);
	index_add(&r->known_index, hash, (uint32_t)r->known.count);
	vec_push(&r->known, frames);
	return frames.stack;
}

static void add_sample(struct script_reader *r, const struct head *head, stack_id stack)
{
	_cleanup_free_ char *comm = xstrndup(head->comm, (size_t)(head->comm_end - head->comm));
	char name[NAME_MAX_SIZE];
	struct sample sample = {.cpu = head->cpu, .weight = 1};
	uint64_t weight = 1;
	thread_id thread = foreign_thread(&r->f, head->pid, head->tid,
					  head->pid == head->tid ? comm : NULL, comm, false);

	event_name(head, name);
	sample.time = head->time == CLOCK_NO_TIME ? CLOCK_NO_TIME : head->time - r->start;
	if (!r->has_times)
		sample.time = r->f.now;
	sample.stack = stack;
	if (is_clock(name)) {
		if (r->interval && head->period)
			weight = (head->period + r->interval / 2) / r->interval;
	} else {
		sample.event = foreign_event(&r->f, name);
		weight = head->period ? head->period : 1;
		if (!sample.event)
			return;
		if (strcmp(name, r->shown) == 0)
			r->f.profile->events.rows.items[sample.event].is_default = true;
	}
	foreign_add(&r->f, thread, &sample, weight);
	foreign_pass(&r->f, sample.event ? 1 : weight);
}

static int read_lines(struct script_reader *r, const char *text, size_t size, struct error *err)
{
	struct text_lines lines = text_lines_of(text, size);
	stack_id stack = NO_STACK; /* stack from lines that begin with a tab */
	bool is_open = false;
	struct head head, next;
	struct text_line line;

	while (text_lines_next(&lines, &line)) {
		bool is_head = parse_sample(line, &next);
		bool has_stack = stack != NO_STACK || r->stack.count;

		/* An empty line may come before the stack. */
		if (is_open && (is_head || (line.text == line.end && has_stack))) {
			add_sample(r, &head, r->stack.count ? find_stack(r) : stack);
			is_open = false;
		}
		if (is_head) {
			head = next;
			is_open = true;
			stack = NO_STACK;
			if (head.rest < line.end)
				add_frame(r, head.rest, line.end);
			else
				stack = read_frames(r, &lines);
		} else if (is_open && line.text < line.end) {
			add_frame(r, line.text, line.end);
		}
	}
	if (is_open)
		add_sample(r, &head, r->stack.count ? find_stack(r) : stack);
	if (!r->has_sample)
		return error_text(err, -EBADMSG, "no samples in perf script's format");
	if (!r->interval && r->has_times)
		foreign_guess_interval(&r->f);
	return foreign_finish(&r->f, r->has_times, err);
}

static int script_read(struct profile **p, const char *text, size_t size,
		       struct import_counts *counts, struct error *err)
{
	struct script_reader r = {.start = CLOCK_NO_TIME};
	int ret;

	foreign_init(&r.f, counts);
	find_clock(&r, text, size);
	r.f.profile->meta.product = xstrdup("perf script");
	r.f.profile->meta.interval_ns = r.interval ? r.interval : DEFAULT_INTERVAL_NS;
	ret = read_lines(&r, text, size, err);
	foreign_name_processes(&r.f);
	foreign_end(&r.f, ret, p);
	strings_release(&r.lines);
	vec_release(&r.known);
	index_release(&r.known_index);
	vec_release(&r.frames);
	vec_release(&r.stack);
	return ret;
}

/* True if the next line is a frame. */
static bool has_frame(struct text_lines *lines)
{
	_cleanup_free_ char *name = NULL, *module = NULL;
	struct foreign_frame frame = {0};
	struct text_line line;

	do {
		if (!text_lines_next(lines, &line))
			return false;
	} while (line.text == line.end);
	return parse_frame(line.text, line.end, &frame, &name, &module) &&
	       (is_blank(*line.text) || *module);
}

/*
 * The first line that is not a comment must begin a sample. Without a time, it could be many other
 * things, unless a frame follows.
 */
static bool script_matches(const char *text, size_t size)
{
	struct text_lines lines = text_lines_of(text, size);
	struct text_line line;
	struct head head;

	while (lines.number < LINES_JUDGED && text_lines_next(&lines, &line)) {
		if (line.text == line.end || *line.text == '#')
			continue;
		if (line.end - line.text >= 4096 || !parse_head(line, &head))
			return false;
		return head.has_time || has_frame(&lines);
	}
	return false;
}

const struct format format_perf_script = {
	.name = "perf-script",
	.suffixes = (const char *const[]){NULL},
	.is_timeline = true,
	.has_linker_names = true,
	.matches = script_matches,
	.read = script_read,
};
