/* SPDX-License-Identifier: MIT */
/*
 * main() of a fuzz target without a fuzzer: feeds it every named file, and every file in the named
 * folders. Fails if there are none.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path, size_t size)
{
	FILE *file = fopen(path, "rb");
	/* Exactly as large as the input, so that sanitizers see reads beyond it. */
	uint8_t *data = malloc(size ? size : 1);

	if (!file || !data || fread(data, 1, size, file) != size) {
		fprintf(stderr, "%s: %s\n", path, errno ? strerror(errno) : "cut short");
		exit(1);
	}
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 1;
}

static int replay(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	if (S_ISREG(st.st_mode))
		return replay_file(path, (size_t)st.st_size);

	DIR *dir = opendir(path);
	if (!dir) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	int count = 0;
	for (struct dirent *entry; (entry = readdir(dir));) {
		char inner[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
		count += replay(inner);
	}
	closedir(dir);
	return count;
}

int main(int argc, char **argv)
{
	int count = 0;

	for (int i = 1; i < argc; i++)
		count += replay(argv[i]);
	printf("%d inputs\n", count);
	return count > 0 ? 0 : 1;
}
