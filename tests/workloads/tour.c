/* SPDX-License-Identifier: MIT */
/*
 * tour: a good second of work with something to see in every part of a profile: three threads with
 * names, a child process, recursion, inlined functions, system calls, and pauses.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/workloads/burn.h"

enum { WORDS = 60000, ROUNDS = 15 };

struct word {
	uint64_t hash;
	char text[24];
};

struct batch {
	struct word words[WORDS];
	uint64_t checksum;
};

static ALWAYS_INLINE uint64_t mix(uint64_t hash, uint8_t byte)
{
	hash ^= byte;
	return hash * 1099511628211u;
}

static NOINLINE uint64_t hash_word(const char *text)
{
	uint64_t hash = 14695981039346656037u;

	for (; *text; text++)
		hash = mix(hash, (uint8_t)*text);
	return hash;
}

static NOINLINE void read_random(void *data, size_t size)
{
	int fd = open("/dev/urandom", O_RDONLY);

	if (fd < 0 || read(fd, data, size) != (ssize_t)size)
		exit(1);
	close(fd);
}

static NOINLINE void make_words(struct batch *batch)
{
	static __thread uint8_t noise[WORDS * 8];

	read_random(noise, sizeof(noise));
	for (int i = 0; i < WORDS; i++) {
		struct word *word = &batch->words[i];

		memset(word->text, 0, sizeof(word->text));
		for (int k = 0; k < 8; k++)
			word->text[k] = (char)('a' + noise[i * 8 + k] % 26);
		word->hash = hash_word(word->text);
	}
}

static int compare_words(const void *left, const void *right)
{
	const struct word *a = left, *b = right;

	return strcmp(a->text, b->text);
}

/* By hand, so that its recursion is ours to see. */
static NOINLINE void sort_words(struct word *words, int count)
{
	if (count < 2)
		return;
	struct word pivot = words[count / 2];
	int left = 0, right = count - 1;

	while (left <= right) {
		while (compare_words(&words[left], &pivot) < 0)
			left++;
		while (compare_words(&words[right], &pivot) > 0)
			right--;
		if (left > right)
			break;
		struct word swapped = words[left];
		words[left++] = words[right];
		words[right--] = swapped;
	}
	sort_words(words, right + 1);
	sort_words(words + left, count - left);
}

static NOINLINE void sum_up(struct batch *batch)
{
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < WORDS; i++)
			batch->checksum = mix(batch->checksum, (uint8_t)batch->words[i].hash);
	}
}

static void *work(void *name)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	pthread_setname_np(pthread_self(), name);
	for (int i = 0; batch && i < ROUNDS; i++) {
		make_words(batch);
		sort_words(batch->words, WORDS);
		sum_up(batch);
		usleep(15000);
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
		usleep(200000);
		work("tour-child");
		return 0;
	}
	for (int i = 0; i < 3; i++) {
		if (pthread_create(&threads[i], NULL, work, names[i]))
			return 1;
		usleep(60000);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return waitpid(child, NULL, 0) == child ? 0 : 1;
}
