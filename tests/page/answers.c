/* SPDX-License-Identifier: MIT */
/*
 * Runs `prof report` many times in forks, which takes a fraction of starting it anew: reads its
 * arguments, a line each time, with tabs between them. Writes "STATUS SIZE SIZE", for output and
 * messages, then both.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/command.h"
#include "lib/base/base.h"
#include "lib/base/program.h"

enum { WORDS_MAX = 64 };

extern const struct command command_report;

/* Does not return. */
static void answer(char *line)
{
	char *words[WORDS_MAX + 1] = {"report"}, *rest = NULL;
	int count = 1;

	for (char *word = strtok_r(line, "\t", &rest); word && count < WORDS_MAX;
	     word = strtok_r(NULL, "\t", &rest))
		words[count++] = word;
	exit(command_report.run(count, words));
}

static void copy(int fd, off_t size)
{
	char part[1 << 16];
	ssize_t got = 1;

	for (off_t at = 0; at < size && got > 0; at += got) {
		got = pread(fd, part, sizeof(part), at);
		fwrite(part, 1, got > 0 ? (size_t)got : 0, stdout);
	}
}

int main(int argc, char **argv, char **environment)
{
	size_t room = 0;
	char *line = NULL;
	ssize_t size;

	program_begin(PROGRAM_PROF, environment);
	while ((size = getline(&line, &room, stdin)) > 0) {
		int out = memfd_create("out", 0), messages = memfd_create("messages", 0), status;
		off_t sizes[2];
		pid_t pid;

		line[size - 1] = '\0';
		fflush(stdout);
		pid = fork();
		if (!pid) {
			dup2(out, STDOUT_FILENO);
			dup2(messages, STDERR_FILENO);
			answer(line);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 1;
		sizes[0] = lseek(out, 0, SEEK_END);
		sizes[1] = lseek(messages, 0, SEEK_END);
		printf("%d %lld %lld\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		       (long long)sizes[0], (long long)sizes[1]);
		copy(out, sizes[0]);
		copy(messages, sizes[1]);
		fflush(stdout);
		close(out);
		close(messages);
	}
	free(line);
	return 0;
}
