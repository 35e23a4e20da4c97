/* SPDX-License-Identifier: MIT */
/* Weights of samples on a critical path that markers describe. */
#include <string.h>

#include "lib/model/meaning/categories.h"
#include "lib/model/tables/markers.h"
#include "lib/path/path_weights.h"
#include "tests/unit/test.h"

#define MS UINT64_C(1000000)

static stack_id add_label(struct profile *p, const char *name)
{
	return stacks_intern(&p->stacks, NO_STACK,
			     label_frames_intern(p, strings_intern(&p->strings, name),
						 (struct frame_category){CATEGORY_IDLE, 0}));
}

static stack_id add_code(struct profile *p, uint32_t offset)
{
	const struct frame frame = {
		.module = NO_MODULE,
		.func = NO_FUNC,
		.symbol = NO_SYMBOL,
		.offset = offset,
	};

	return stacks_intern(&p->stacks, NO_STACK, frames_intern(&p->frames, &frame));
}

static void add_part(struct profile *p, thread_id thread, uint64_t start, uint64_t end,
		     uint64_t time, const char *does)
{
	schema_id schema = schema_text_intern(marker_schema(MARKER_CRITICAL_PATH),
					      &p->markers.schemas, &p->strings);
	struct marker marker = markers_make(&p->markers, schema, start * MS, end * MS);

	*marker_value(&p->markers, &marker,
		      CRITICAL_PATH_DOES) = marker_string(strings_intern(&p->strings, does));
	*marker_value(&p->markers, &marker, CRITICAL_PATH_TIME) =
		(struct marker_value){.type = FIELD_DURATION, .number = time};
	vec_push(&p->threads.rows.items[thread].markers, marker);
}

static void add_sample(struct profile *p, thread_id thread, uint64_t time, stack_id stack)
{
	const struct sample sample = {.time = time * MS, .stack = stack, .weight = 1};

	samples_add(&p->threads.rows.items[thread].samples, &sample);
}

static struct profile *make_profile(void)
{
	const struct profile_thread thread = {.name = NO_STRING};
	struct profile *p = profile_new();

	p->meta.interval_ns = MS;
	threads_add(&p->threads, &thread);
	threads_add(&p->threads, &thread);
	return p;
}

/* Returns the weight of a thread's rows with that stack. */
static uint64_t weight_of(const struct profile *p, thread_id thread, stack_id stack)
{
	uint64_t weight = 0;

	samples_for_each(&p->threads.rows.items[thread].samples, sample)
		weight += sample->stack == stack ? sample->weight : 0;
	return weight;
}

/* Returns the stack of the thread's first row with that label. */
static stack_id find_label(const struct profile *p, thread_id thread, const char *label)
{
	samples_for_each(&p->threads.rows.items[thread].samples, sample) {
		frame_id frame = p->stacks.rows.items[sample->stack].frame;
		func_id func = p->frames.rows.items[frame].func;

		if (func != NO_FUNC &&
		    strcmp(strings_get(&p->strings, p->funcs.rows.items[func].name), label) == 0)
			return sample->stack;
	}
	return NO_STACK;
}

TEST(time_on_the_path_is_spread_over_the_samples_there)
{
	struct profile *p = make_profile();
	stack_id code = add_code(p, 1), other = add_code(p, 2);
	stack_id read = add_label(p, "[read]");

	for (uint64_t time = 1; time <= 30; time++)
		add_sample(p, 0, time, time <= 5 ? code : other);
	add_sample(p, 1, 12, code);
	add_sample(p, 1, 25, read);
	/* Samples 1 to 10 of the first thread are on the path, and the second one's wait. */
	add_part(p, 0, 0, 10, 10 * MS + 7, "running");
	add_part(p, 1, 10, 20, 10 * MS, "[queued]");
	add_part(p, 1, 20, 30, 10 * MS, "[read]");
	assert_true(path_weights_apply(p, false));
	assert_int_equal(p->meta.interval_ns, 1000);
	assert_int_equal(weight_of(p, 0, code), 5000);
	assert_int_equal(weight_of(p, 0, other), 5000);
	assert_int_equal(weight_of(p, 1, code), 0);
	assert_int_equal(weight_of(p, 1, read), 10000);
	assert_int_equal(weight_of(p, 1, find_label(p, 1, "[queued]")), 10000);
	profile_free(p);
}

/* Files have the rows of a process together. */
TEST(rows_of_files_return_to_their_threads)
{
	struct profile *p = make_profile();
	stack_id code = add_code(p, 1);
	const struct sample row = {.time = 12 * MS,
				   .stack = code,
				   .weight = 10000,
				   .event = profile_event(p, PATH_EVENT)};

	add_sample(p, 0, 1, code);
	samples_add(&p->threads.rows.items[0].samples, &row);
	add_sample(p, 1, 12, code);
	add_part(p, 1, 10, 20, 10 * MS, "running");
	path_weights_add(p);
	path_weights_add(p);
	assert_int_equal(weight_of(p, 0, code), 1);
	assert_int_equal(weight_of(p, 1, code), 10001);
	profile_free(p);
}

TEST(parts_without_samples_count)
{
	struct profile *p = make_profile();

	add_part(p, 0, 0, 10, 3 * MS, "running");
	add_part(p, 0, 0, 10, 2 * MS, "[futex]");
	add_part(p, 1, 10, 11, MS / 2, "[wakes up]");
	assert_true(path_weights_apply(p, false));
	assert_int_equal(weight_of(p, 0, NO_STACK), 3000);
	assert_int_equal(profile_sample_count(p), 3);
	profile_free(p);
}

static void add_ns(void *ctx, const struct path_weight *weight)
{
	*(uint64_t *)ctx += weight->ns;
}

/* Files may hold anything. */
TEST(no_part_takes_longer_than_it_lasts)
{
	struct profile *p = make_profile();
	uint64_t sum = 0;

	add_part(p, 0, 0, 10, UINT64_MAX, "running");
	add_part(p, 0, 20, 10, MS, "[futex]");
	add_part(p, 0, 20, UINT64_MAX / MS, MS, "running");
	assert_true(path_weights_each(p, add_ns, &sum));
	assert_int_equal(sum, 10 * MS);
	profile_free(p);
}

TEST(most_profiles_have_no_path)
{
	struct profile *p = make_profile();

	add_sample(p, 0, 1, add_code(p, 1));
	assert_false(path_weights_apply(p, false));
	assert_int_equal(profile_sample_count(p), 1);
	profile_free(p);
}
