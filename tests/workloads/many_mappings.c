/* SPDX-License-Identifier: MIT */
/*
 * many_mappings PROCESSES EACH FILE...: starts PROCESSES children, each of which maps the segments
 * of EACH of the ELF files as a dynamic linker would. The first child begins with the first file,
 * each next one with the file after the previous child's last. Prints "ready" when all have them,
 * then sleeps, as the children do.
 */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MAX_SEGMENTS 16

static void fail(const char *what)
{
	perror(what);
	_exit(1);
}

static int protection(uint32_t flags)
{
	return (flags & PF_R ? PROT_READ : 0) | (flags & PF_W ? PROT_WRITE : 0) |
	       (flags & PF_X ? PROT_EXEC : 0);
}

static void map_file(const char *path)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Phdr segments[MAX_SEGMENTS];
	Elf64_Ehdr header;

	if (fd < 0 || pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    header.e_phnum > MAX_SEGMENTS ||
	    pread(fd, segments, header.e_phnum * sizeof(*segments), (off_t)header.e_phoff) < 0)
		fail(path);
	for (int i = 0; i < header.e_phnum; i++) {
		const Elf64_Phdr *s = &segments[i];
		uint64_t skipped = s->p_offset % page;

		if (s->p_type != PT_LOAD || !s->p_filesz)
			continue;
		if (mmap(NULL, s->p_filesz + skipped, protection(s->p_flags), MAP_PRIVATE, fd,
			 (off_t)(s->p_offset - skipped)) == MAP_FAILED)
			fail(path);
	}
	close(fd);
}

static void be_child(int each, char **files, int count, int first, int done)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < each; i++)
		map_file(files[(first + i) % count]);
	if (write(done, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int processes = argc > 3 ? atoi(argv[1]) : 0, each = argc > 3 ? atoi(argv[2]) : 0;
	int pipe_fds[2];
	char byte;

	if (processes < 1 || each < 1 || pipe(pipe_fds))
		return 2;
	for (int i = 0; i < processes; i++) {
		pid_t pid = fork();

		if (pid < 0)
			fail("fork");
		if (pid == 0)
			be_child(each, argv + 3, argc - 3, i * each, pipe_fds[1]);
	}
	close(pipe_fds[1]);
	for (int i = 0; i < processes; i++) {
		if (read(pipe_fds[0], &byte, 1) != 1)
			return 1;
	}
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	for (;;)
		pause();
}
