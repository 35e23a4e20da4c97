/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/sample_store.h"

#include <pthread.h>

#include "lib/base/open_file.h"

/* Properties of the clock that took the rows of a chunk. */

/* Shorter intervals, in ns, do not predict later times. */
#define INTERVAL_MIN 1024u
#define INTERVAL_MAX (1u << 31)
/* While recording, CPU time is a reading in units of 16 ns, later a difference in ns. */
#define READING_SHIFT 4

/* Returns the approximate length of most steps between rows. */
static uint64_t usual_step(const struct sample *rows, size_t count)
{
	uint64_t usual = INTERVAL_MIN;
	int votes = 0;

	for (size_t i = 1; i < count; i++) {
		uint64_t passed = rows[i].time - rows[i - 1].time;

		if (passed < INTERVAL_MIN || passed > INTERVAL_MAX)
			continue;
		if (!votes)
			usual = passed;
		votes += !votes || (passed > usual - usual / 8 && passed < usual + usual / 8) ? 1
											      : -1;
	}
	return usual;
}

/* Returns the mean of all steps that differ from this one by at most a fraction of it. */
static uint64_t mean_step(const struct sample *rows, size_t count, uint64_t step, int part_shift)
{
	uint64_t most = step >> part_shift, sum = 0, steps = 0;

	for (size_t i = 1; i < count; i++) {
		uint64_t passed = rows[i].time - rows[i - 1].time;

		if (passed + most < step || passed > step + most)
			continue;
		sum += passed;
		steps++;
	}
	return steps ? sum / steps : step;
}

/*
 * Returns the clock's interval in ns. Precision matters: the phase follows the ticks by an eighth
 * of the distance, so an error accumulates to eight times its size.
 */
static uint64_t sample_clock_interval(const struct sample *rows, size_t count)
{
	uint64_t interval = usual_step(rows, count);

	/* Take the mean of ever closer steps. */
	for (int part_shift = 3; part_shift <= 9; part_shift += 2)
		interval = mean_step(rows, count, interval, part_shift);
	return interval;
}

static uint64_t distance(uint32_t a, uint32_t b)
{
	return a - b < b - a ? a - b : b - a;
}

/*
 * True if the CPU times are readings. Rows vote, because a few after long pauses resemble neither:
 * readings grow with the elapsed time, differences are about as long.
 */
static bool sample_clock_has_readings(const struct sample *rows, size_t count)
{
	int64_t votes = 0;

	for (size_t i = 1; i < count; i++) {
		uint32_t passed = (uint32_t)(rows[i].time - rows[i - 1].time);
		uint64_t reading = distance(rows[i].cpu_delta,
					    rows[i - 1].cpu_delta + (passed >> READING_SHIFT));
		uint64_t difference = distance(rows[i].cpu_delta, passed);

		reading <<= READING_SHIFT;
		if (reading != difference)
			votes += reading < difference ? 1 : -1;
	}
	return votes > 0;
}

/* One function both packs and unpacks a row, so that both directions make the same predictions. */
#define BOTH_WAYS static inline __attribute__((always_inline))

/*
 * Numbers are in adaptive Rice codes: as many low bits as recent numbers had on average, the rest
 * in unary. Numbers that would take more are escaped.
 */
#define UNARY_MAX 12
#define LOW_BITS_MAX 40
/* The mean follows the numbers by a sixteenth of their distance. */
#define MEAN_SHIFT 4
/* Limits the effect of a single number, for example after a long pause, on the mean. */
#define MEAN_STEP 16
#define NUMBER_MAX (1ull << 48)
#define KINDS 8
/* The clock's phase follows the ticks by an eighth of their distance. */
#define PHASE_SHIFT 3
/* Differences from the prediction, as coded by code_signed(). */
#define FAR_CPU_TIME 32

/* A bit stream, lowest bit first. */
struct bits {
	unsigned char *to; /* destination when packing */
	const unsigned char *from, *end; /* source when unpacking */
	uint64_t word;
	unsigned int count; /* number of bits in `word` */
	unsigned int missing; /* zero bytes read past the end */
};

/* Scaled mean of recent numbers. */
struct rice {
	uint64_t mean;
};

/* Rows with equal values of these members come at times that predict each other. */
struct kind {
	uint16_t cpu;
	uint8_t event;
	bool has_cpu_time, weighs_one;
	uint64_t phase; /* approximate time of the latest such row; 0: none yet */
	struct rice times[2]; /* tick intervals in step, and after a gap */
};

/*
 * Stacks of the rows, most frequent first. Class n has 2^n stacks in ascending order; a stack is
 * coded as its class and its position in the class.
 */
struct dictionary {
	uint32_t count;
	unsigned int class_bits; /* bits of a class number */
	stack_id *stacks; /* owned */
};

/* Predicts a row from the previous ones. */
struct model {
	struct bits bits;
	struct dictionary stacks;
	const struct stack_ranks *ranks; /* used when packing */
	uint64_t interval;
	bool are_readings, has_failed;
	bool has_gap; /* a gap precedes the current row, which is not the next tick */
	struct rice steps, weights, new_stacks;
	struct rice cpu_times[3]; /* close to the prediction; far, in step; far, after a gap */
	struct kind kinds[KINDS]; /* latest kinds, most recent first */
	uint64_t time, cpu_time_at; /* time of the last row, and of the last row with CPU time */
	uint32_t cpu_time; /* CPU time of the row at cpu_time_at */
};

static void put_bits(struct bits *b, uint64_t value, unsigned int count)
{
	b->word |= value << b->count;
	b->count += count;
	memcpy(b->to, &b->word, sizeof(b->word));
	b->to += b->count / 8;
	b->word = b->count < 64 ? b->word >> (b->count & ~7u) : 0;
	b->count %= 8;
}

static void fill(struct bits *b)
{
	uint64_t word;

	if (b->end - b->from >= (ptrdiff_t)sizeof(word)) {
		memcpy(&word, b->from, sizeof(word));
		b->word |= word << b->count;
		b->from += (63 - b->count) / 8;
		b->count |= 56;
		return;
	}
	while (b->count <= 56) {
		bool has_more = b->from < b->end;

		b->word |= (uint64_t)(has_more ? *b->from : 0) << b->count;
		b->from += has_more;
		b->missing += !has_more;
		b->count += 8;
	}
}

static uint64_t take_bits(struct bits *b, unsigned int count)
{
	uint64_t value = b->word & ((1ull << count) - 1);

	b->word >>= count;
	b->count -= count;
	return value;
}

/* `count` is at most LOW_BITS_MAX. */
BOTH_WAYS uint64_t code_bits(struct model *m, uint64_t value, unsigned int count, bool is_packing)
{
	if (is_packing) {
		put_bits(&m->bits, value, count);
		return value;
	}
	fill(&m->bits);
	return take_bits(&m->bits, count);
}

/* Codes a number as its length and its bits. */
BOTH_WAYS uint64_t code_escaped(struct model *m, uint64_t value, bool is_packing)
{
	unsigned int length = is_packing && value ? 63 - (unsigned int)__builtin_clzll(value) : 0;
	unsigned int low_bits;

	length = (unsigned int)code_bits(m, length, 6, is_packing) + 1;
	low_bits = length < 32 ? length : 32;
	value = code_bits(m, value & ((1ull << low_bits) - 1), low_bits, is_packing) |
		code_bits(m, value >> low_bits, length - low_bits, is_packing) << low_bits;
	return value;
}

static uint64_t take_number(struct model *m, unsigned int low_bits)
{
	struct bits *b = &m->bits;
	unsigned int high;

	fill(b);
	high = (unsigned int)__builtin_ctzll(~b->word | 1ull << UNARY_MAX);
	if (high == UNARY_MAX) {
		take_bits(b, UNARY_MAX);
		return code_escaped(m, 0, false);
	}
	take_bits(b, high + 1);
	if (b->count < low_bits)
		fill(b);
	return (uint64_t)high << low_bits | take_bits(b, low_bits);
}

static void put_number(struct model *m, uint64_t value, unsigned int low_bits)
{
	uint64_t high = value >> low_bits;

	if (high >= UNARY_MAX) {
		put_bits(&m->bits, (1ull << UNARY_MAX) - 1, UNARY_MAX);
		code_escaped(m, value, true);
		return;
	}
	put_bits(&m->bits, (1ull << high) - 1, (unsigned int)high + 1);
	put_bits(&m->bits, value & ((1ull << low_bits) - 1), low_bits);
}

BOTH_WAYS uint64_t code_number(struct model *m, struct rice *rice, uint64_t value, bool is_packing)
{
	uint64_t mean = rice->mean >> MEAN_SHIFT, known = (mean + 1) * MEAN_STEP;
	unsigned int low_bits = mean ? 63 - (unsigned int)__builtin_clzll(mean) : 0;

	low_bits = MIN(low_bits, LOW_BITS_MAX);
	if (is_packing)
		put_number(m, value, low_bits);
	else
		value = take_number(m, low_bits);
	known = MIN(known, value);
	known = MIN(known, NUMBER_MAX);
	rice->mean += known - mean;
	return value;
}

static uint64_t zigzag(uint64_t value)
{
	return value << 1 ^ -(value >> 63);
}

static uint64_t unzigzag(uint64_t value)
{
	return value >> 1 ^ -(value & 1);
}

/* Codes a difference, which wraps around. */
BOTH_WAYS uint64_t code_signed(struct model *m, struct rice *rice, uint64_t value, bool is_packing)
{
	return unzigzag(code_number(m, rice, zigzag(value), is_packing));
}

/* Returns the nearest number of intervals; negative numbers wrap around. */
static uint64_t steps_between(const struct model *m, uint64_t from, uint64_t to)
{
	bool is_back = to < from;
	uint64_t passed = is_back ? from - to : to - from;
	uint64_t steps = passed / m->interval + (passed % m->interval > m->interval / 2);

	return is_back ? -steps : steps;
}

/*
 * Codes a time relative to the clock's phase: a tick is expected one interval after the last row.
 */
BOTH_WAYS void code_time(struct model *m, struct kind *kind, struct sample *row, bool is_packing)
{
	uint64_t phase = kind->phase ? kind->phase : m->time, steps, late;
	uint64_t expected = steps_between(m, phase, m->time + m->interval);

	steps = is_packing ? steps_between(m, phase, row->time) : 0;
	steps = expected + code_signed(m, &m->steps, steps - expected, is_packing);
	phase += steps * m->interval;
	m->has_gap = steps != expected;
	late = code_signed(m, &kind->times[m->has_gap], row->time - phase, is_packing);
	row->time = phase + late;
	kind->phase = phase + (uint64_t)((int64_t)late >> PHASE_SHIFT);
	m->time = row->time;
}

static bool is_same_kind(const struct kind *a, const struct kind *b)
{
	return a->cpu == b->cpu && a->event == b->event && a->has_cpu_time == b->has_cpu_time &&
	       a->weighs_one == b->weighs_one;
}

/* Codes the position among the latest kinds, or the kind itself, and moves it to the front. */
BOTH_WAYS struct kind *code_kind(struct model *m, struct kind kind, bool is_packing)
{
	unsigned int at = 0;

	while (is_packing && at < KINDS && !is_same_kind(&m->kinds[at], &kind))
		at++;
	if (!code_bits(m, at != 0, 1, is_packing))
		return &m->kinds[0];
	at = (unsigned int)code_bits(m, at - 1, 3, is_packing) + 1;
	if (at == KINDS) {
		kind.cpu = (uint16_t)code_bits(m, kind.cpu, 16, is_packing);
		kind.event = (uint8_t)code_bits(m, kind.event, 8, is_packing);
		kind.has_cpu_time = code_bits(m, kind.has_cpu_time, 1, is_packing);
		kind.weighs_one = code_bits(m, kind.weighs_one, 1, is_packing);
		memcpy(kind.times, m->kinds[0].times, sizeof(kind.times));
		at--;
	} else {
		kind = m->kinds[at];
	}
	memmove(m->kinds + 1, m->kinds, at * sizeof(kind));
	m->kinds[0] = kind;
	return &m->kinds[0];
}

BOTH_WAYS void code_cpu_time(struct model *m, struct sample *row, bool is_packing)
{
	uint64_t passed = m->time - m->cpu_time_at;
	uint32_t foretold = m->are_readings ? m->cpu_time + (uint32_t)(passed >> READING_SHIFT)
					    : (uint32_t)passed;
	uint64_t change = (uint64_t)(int64_t)(int32_t)(row->cpu_delta - foretold);
	/* Most match the prediction except for rounding; others deviate by any part of the time. */
	bool is_far = code_bits(m, zigzag(change) >= FAR_CPU_TIME, 1, is_packing);
	struct rice *rice = &m->cpu_times[is_far ? 1 + m->has_gap : 0];

	row->cpu_delta = foretold + (uint32_t)code_signed(m, rice, change, is_packing);
	m->cpu_time = row->cpu_delta;
	m->cpu_time_at = m->time;
}

/* Stacks with their ranks, by hash. */
struct stack_ranks {
	struct stack_rank {
		uint64_t count; /* number of rows; 0: free slot */
		stack_id stack;
		uint32_t rank;
	} * slots;
	size_t mask;
};

static struct stack_rank *slot_of(const struct stack_ranks *r, stack_id stack)
{
	size_t at = hash_u64(stack) & r->mask;

	while (r->slots[at].count && r->slots[at].stack != stack)
		at = (at + 1) & r->mask;
	return &r->slots[at];
}

static unsigned int class_of(uint32_t rank)
{
	return 31 - (unsigned int)__builtin_clz(rank + 1);
}

/* Lists the stacks in ascending order, NO_STACK before all others. */
static void sort_stacks(const struct stack_ranks *r, struct radix_row *sorted, size_t count)
{
	size_t at = 0;

	for (size_t i = 0; i <= r->mask; i++) {
		if (r->slots[i].count)
			sorted[at++] = (struct radix_row){(stack_id)(r->slots[i].stack + 1),
							  (uint32_t)i};
	}
	if (count)
		radix_sort(sorted, count);
}

/* Gives each stack its class by frequency, and its position in the class by its number. */
static void place_stacks(struct stack_ranks *r, struct dictionary *d, size_t rows)
{
	struct radix_row *sorted = xcalloc((size_t)d->count + 1, sizeof(*sorted));
	uint32_t *ranks = xcalloc(rows + 2, sizeof(*ranks)); /* next rank, by frequency */
	uint32_t next[32];

	sort_stacks(r, sorted, d->count);
	for (uint32_t i = 0; i < d->count; i++)
		ranks[r->slots[sorted[i].value].count - 1]++;
	for (size_t i = rows + 1; i-- > 0;)
		ranks[i] += ranks[i + 1];
	for (uint32_t i = 0; i < 32; i++)
		next[i] = (1u << i) - 1;
	for (uint32_t i = 0; i < d->count; i++) {
		struct stack_rank *slot = &r->slots[sorted[i].value];

		slot->rank = next[class_of(ranks[slot->count]++)]++;
		d->stacks[slot->rank] = slot->stack;
	}
	free(ranks);
	free(sorted);
}

/* Makes the dictionary of the rows' stacks. */
static void rank_stacks(struct stack_ranks *r, struct dictionary *d, const struct sample *rows,
			size_t count)
{
	for (r->mask = 1; r->mask < 2 * count; r->mask *= 2)
		;
	r->slots = xcalloc(r->mask--, sizeof(*r->slots));
	for (size_t i = 0; i < count; i++) {
		struct stack_rank *slot = slot_of(r, rows[i].stack);

		slot->stack = rows[i].stack;
		d->count += !slot->count++;
	}
	d->stacks = xcalloc(d->count, sizeof(*d->stacks));
	place_stacks(r, d, count);
}

BOTH_WAYS void code_stack(struct model *m, struct sample *row, bool is_packing)
{
	uint32_t rank = is_packing ? slot_of(m->ranks, row->stack)->rank : 0;
	unsigned int class = is_packing ? class_of(rank) : 0;

	class = (unsigned int)code_bits(m, class, m->stacks.class_bits, is_packing);
	rank = (1u << class) - 1 +
	       (uint32_t)code_bits(m, rank - ((1u << class) - 1), class, is_packing);
	if (rank < m->stacks.count)
		row->stack = m->stacks.stacks[rank];
	else
		m->has_failed = true;
}

BOTH_WAYS void code_row(struct model *m, struct sample *row, bool is_packing)
{
	const struct kind own = {row->cpu,	   row->event, row->cpu_delta != 0,
				 row->weight == 1, 0,	       {{0}}};
	struct kind *kind = code_kind(m, own, is_packing);

	row->cpu = kind->cpu;
	row->event = kind->event;
	code_time(m, kind, row, is_packing);
	if (kind->has_cpu_time)
		code_cpu_time(m, row, is_packing);
	if (kind->weighs_one)
		row->weight = 1;
	else
		row->weight = (uint32_t)code_number(m, &m->weights, row->weight, is_packing);
	code_stack(m, row, is_packing);
}

/* Codes the values common to all rows. */
BOTH_WAYS void code_head(struct model *m, bool is_packing)
{
	uint64_t low;

	m->interval = code_bits(m, m->interval, 32, is_packing);
	m->interval += m->interval < INTERVAL_MIN ? INTERVAL_MIN : 0;
	m->are_readings = code_bits(m, m->are_readings, 1, is_packing);
	low = code_bits(m, m->time & UINT32_MAX, 32, is_packing);
	m->time = low | code_bits(m, m->time >> 32, 32, is_packing) << 32;
	m->cpu_time = (uint32_t)code_bits(m, m->cpu_time, 32, is_packing);
	m->cpu_time_at = m->time;
	m->kinds[0].times[0].mean = m->interval >> 6 << MEAN_SHIFT;
	m->kinds[0].times[1].mean = m->interval >> 4 << MEAN_SHIFT;
}

/* Codes the stacks, class by class. NO_STACK, the highest, comes first. */
BOTH_WAYS void code_stacks(struct model *m, bool is_packing)
{
	struct dictionary *d = &m->stacks;

	m->new_stacks.mean = 1 << MEAN_SHIFT << 4;
	for (uint32_t i = 0; i < d->count; i++) {
		uint32_t before = i & (i + 1) ? d->stacks[i - 1] + 1 : 0;

		d->stacks[i] = before - 1 +
			       (uint32_t)code_number(m, &m->new_stacks,
						     (uint32_t)(d->stacks[i] + 1 - before),
						     is_packing);
	}
	d->class_bits = d->count > 1 ? class_of(class_of(d->count - 1)) + 1 : 0;
}

size_t sample_pack(const struct sample *rows, size_t count, unsigned char *out)
{
	struct stack_ranks ranks;
	struct model m = {.bits.to = out, .ranks = &ranks};

	rank_stacks(&ranks, &m.stacks, rows, count);
	if (count) {
		m.interval = sample_clock_interval(rows, count);
		m.are_readings = sample_clock_has_readings(rows, count);
		m.time = rows->time;
		m.cpu_time = rows->cpu_delta;
	}
	code_bits(&m, m.stacks.count, 32, true);
	code_head(&m, true);
	code_stacks(&m, true);
	for (size_t i = 0; i < count; i++) {
		struct sample row = rows[i];

		code_row(&m, &row, true);
	}
	free(ranks.slots);
	free(m.stacks.stacks);
	return (size_t)(m.bits.to - out) + (m.bits.count != 0);
}

bool sample_unpack(const unsigned char *bytes, size_t size, struct sample *rows, size_t count)
{
	struct model m = {.bits.from = bytes, .bits.end = bytes + size};

	m.stacks.count = (uint32_t)code_bits(&m, 0, 32, false);
	if (m.stacks.count > count || (count && !m.stacks.count))
		return false;
	m.stacks.stacks = xcalloc(m.stacks.count, sizeof(*m.stacks.stacks));
	code_head(&m, false);
	code_stacks(&m, false);
	for (size_t i = 0; i < count; i++) {
		rows[i] = (struct sample){0};
		code_row(&m, &rows[i], false);
	}
	free(m.stacks.stacks);
	return !m.has_failed && m.bits.missing <= sizeof(m.bits.word);
}

/* Exit status if stored rows cannot be read. */
#define EXIT_REFUSED 125

static struct {
	pthread_mutex_t lock;
	uint64_t in_memory, in_file; /* bytes */
	uint64_t end; /* end of the file */
	uint64_t max;
	uint64_t room, taken; /* bytes for unpacked rows: limit, and in use */
	int fd;
	bool is_set;
} store = {.lock = PTHREAD_MUTEX_INITIALIZER,
	   .max = SAMPLE_STORE_MAX,
	   .room = SAMPLE_STORE_ROOM,
	   .fd = -1};

void sample_store_set_file(int fd, uint64_t max)
{
	pthread_mutex_lock(&store.lock);
	if (!store.in_file) {
		fd_close(store.fd);
		store.fd = fd;
		store.end = 0;
	} else if (fd >= 0) {
		close(fd);
	}
	store.max = max;
	store.is_set = true;
	pthread_mutex_unlock(&store.lock);
}

/* Reserves space in the file; false if there is none. */
static bool reserve(uint32_t size, uint64_t *offset)
{
	bool has_room;

	pthread_mutex_lock(&store.lock);
	if (store.fd < 0 && !store.is_set) {
		store.fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		store.is_set = true;
	}
	has_room = store.fd >= 0;
	*offset = store.end;
	if (has_room) {
		store.end += size;
		store.in_file += size;
	}
	pthread_mutex_unlock(&store.lock);
	return has_room;
}

static void count(uint64_t *sum, int64_t change)
{
	pthread_mutex_lock(&store.lock);
	*sum += (uint64_t)change;
	pthread_mutex_unlock(&store.lock);
}

/* If the disk is full, keep the bytes in memory. */
static bool put_in_file(struct stored_bytes *s, const unsigned char *bytes, uint32_t size)
{
	struct stored_bytes new = {.offset = s->offset, .size = size, .room = s->room};

	if (new.room < size) {
		/* Changed rows take a few bytes more or less. */
		new.room = size + size / 32;
		if (!reserve(new.room, &new.offset))
			return false;
	}
	if (write_at(store.fd, bytes, size, new.offset)) {
		if (new.room != s->room)
			count(&store.in_file, -(int64_t) new.room);
		return false;
	}
	if (new.room != s->room)
		sample_store_drop(s);
	*s = new;
	return true;
}

void sample_store_put(struct stored_bytes *s, const unsigned char *bytes, uint32_t size)
{
	bool is_full = sample_store_in_memory() + size > store.max;

	if ((s->room || (!s->bytes && is_full)) && put_in_file(s, bytes, size))
		return;
	sample_store_drop(s);
	s->bytes = xmalloc(size);
	memcpy(s->bytes, bytes, size);
	s->size = size;
	count(&store.in_memory, size);
}

static _Noreturn void read_failed(void)
{
	log_write("prof: cannot read samples back from the temporary file\n");
	_exit(EXIT_REFUSED);
}

const unsigned char *sample_store_get(const struct stored_bytes *s, unsigned char *buffer)
{
	if (s->bytes)
		return s->bytes;
	if (read_at(store.fd, buffer, s->size, s->offset) != (ssize_t)s->size)
		read_failed();
	return buffer;
}

void sample_store_drop(struct stored_bytes *s)
{
	if (s->bytes)
		count(&store.in_memory, -(int64_t)s->size);
	else
		count(&store.in_file, -(int64_t)s->room);
	free(s->bytes);
	*s = (struct stored_bytes){0};
}

uint64_t sample_store_in_memory(void)
{
	uint64_t value;

	pthread_mutex_lock(&store.lock);
	value = store.in_memory;
	pthread_mutex_unlock(&store.lock);
	return value;
}

void sample_store_set_room(uint64_t bytes)
{
	pthread_mutex_lock(&store.lock);
	store.room = bytes;
	pthread_mutex_unlock(&store.lock);
}

bool sample_store_take_room(uint64_t bytes)
{
	bool has_room;

	pthread_mutex_lock(&store.lock);
	has_room = store.taken < store.room && bytes <= store.room - store.taken;
	if (has_room)
		store.taken += bytes;
	pthread_mutex_unlock(&store.lock);
	return has_room;
}

void sample_store_give_room(uint64_t bytes)
{
	count(&store.taken, -(int64_t)bytes);
}
