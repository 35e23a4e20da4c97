/* SPDX-License-Identifier: MIT */
/*
 * tour: a second of work with something to see in every part of a profile: three named threads, a
 * child process, recursion, inlined functions, system calls, and pauses.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/workloads/burn.h"

enum { WORDS = 40000, LETTERS = 12, RUN = 400, ROUNDS = 25 };

struct word {
	uint64_t hash;
	char text[LETTERS];
};

struct batch {
	struct word words[WORDS], spare[WORDS];
	uint8_t letters[WORDS * LETTERS], packed[WORDS * LETTERS];
};

static NOINLINE void read_letters(struct batch *batch)
{
	int fd = open("/dev/urandom", O_RDONLY);

	if (fd < 0 || raw_syscall(SYS_read, fd, (long)batch->letters, sizeof(batch->letters)) < 0)
		exit(1);
	close(fd);
}

static ALWAYS_INLINE uint64_t mix(uint64_t hash, uint8_t byte)
{
	hash ^= byte;
	return hash * 1099511628211u;
}

static NOINLINE void hash_words(struct batch *batch)
{
	for (int i = 0; i < WORDS; i++) {
		struct word *word = &batch->words[i];

		word->hash = 14695981039346656037u;
		for (int k = 0; k < LETTERS; k++) {
			word->text[k] = (char)('a' + batch->letters[i * LETTERS + k] % 26);
			word->hash = mix(word->hash, (uint8_t)word->text[k]);
		}
	}
}

static ALWAYS_INLINE int is_before(const struct word *a, const struct word *b)
{
	for (int i = 0; i < LETTERS; i++) {
		if (a->text[i] != b->text[i])
			return a->text[i] < b->text[i];
	}
	return a->hash < b->hash;
}

static NOINLINE void insert_words(struct word *words, int count)
{
	for (int i = 1; i < count; i++) {
		struct word word = words[i];
		int k = i;

		for (; k > 0 && is_before(&word, &words[k - 1]); k--)
			words[k] = words[k - 1];
		words[k] = word;
	}
}

static NOINLINE void merge_words(struct word *words, struct word *spare, int half, int count)
{
	int left = 0, right = half;

	for (int i = 0; i < count; i++) {
		if (right == count || (left < half && is_before(&words[left], &words[right])))
			spare[i] = words[left++];
		else
			spare[i] = words[right++];
	}
	for (int i = 0; i < count; i++)
		words[i] = spare[i];
}

static NOINLINE void sort_words(struct word *words, struct word *spare, int count)
{
	if (count <= RUN) {
		insert_words(words, count);
		return;
	}
	sort_words(words, spare, count / 2);
	sort_words(words + count / 2, spare, count - count / 2);
	merge_words(words, spare, count / 2, count);
}

static ALWAYS_INLINE uint8_t *put_suffix(uint8_t *at, const struct word *word, int shared)
{
	*at++ = (uint8_t)shared;
	for (int i = shared; i < LETTERS - 1; i++)
		*at++ = (uint8_t)word->text[i];
	return at;
}

/* Stores only the part in which a word differs from the previous one. */
static NOINLINE void pack_words(struct batch *batch)
{
	uint8_t *at = put_suffix(batch->packed, &batch->words[0], 0);

	for (int i = 1; i < WORDS; i++) {
		int shared = 0;

		while (shared < LETTERS - 1 &&
		       batch->words[i].text[shared] == batch->words[i - 1].text[shared])
			shared++;
		at = put_suffix(at, &batch->words[i], shared);
	}
}

static NOINLINE void process_batch(struct batch *batch)
{
	read_letters(batch);
	hash_words(batch);
	sort_words(batch->words, batch->spare, WORDS);
	pack_words(batch);
}

static void *work(void *name)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	pthread_setname_np(pthread_self(), name);
	for (int i = 0; batch && i < ROUNDS; i++) {
		process_batch(batch);
		usleep(10000);
	}
	free(batch);
	return NULL;
}

int main(void)
{
	static char names[][16] = {"red", "green", "blue"};
	pthread_t threads[3];
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_NAME, "tour-child");
		usleep(400000);
		work("tour-child");
		return 0;
	}
	for (int i = 0; i < 3; i++) {
		if (pthread_create(&threads[i], NULL, work, names[i]))
			return 1;
		usleep(200000);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return waitpid(child, NULL, 0) == child ? 0 : 1;
}
