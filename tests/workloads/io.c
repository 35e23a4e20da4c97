/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes a file: some of it past the page cache, the rest later, by the kernel.
 *
 *	io FILE		prints the bytes that each function has moved
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE 65536
#define DIRECT_PIECES 20
#define LATER_PIECES 128

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

__attribute__((noinline)) static void write_directly(int fd, const char *piece)
{
	for (int i = 0; i < DIRECT_PIECES; i++) {
		if (pwrite(fd, piece, PIECE, (off_t)i * PIECE) != PIECE)
			fail("pwrite");
	}
}

__attribute__((noinline)) static void read_directly(int fd, char *piece)
{
	for (int i = 0; i < DIRECT_PIECES / 2; i++) {
		if (pread(fd, piece, PIECE, (off_t)i * PIECE) != PIECE)
			fail("pread");
	}
}

/* Writes into the page cache. */
__attribute__((noinline)) static void write_later(int fd, const char *piece)
{
	for (int i = DIRECT_PIECES; i < DIRECT_PIECES + LATER_PIECES; i++) {
		if (pwrite(fd, piece, PIECE, (off_t)i * PIECE) != PIECE)
			fail("pwrite");
	}
}

/*
 * Has the kernel write it. Who asks for that writes blocks of the file system itself, those of
 * others as well.
 */
__attribute__((noinline)) static void flush_in_child(int fd)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(syncfs(fd) ? 1 : 0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		fail("syncfs");
}

int main(int argc, char **argv)
{
	char *piece = aligned_alloc(4096, PIECE);
	int direct, buffered;

	if (argc != 2 || !piece)
		return 2;
	memset(piece, 'x', PIECE);
	direct = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_DIRECT | O_CLOEXEC, 0600);
	buffered = open(argv[1], O_WRONLY | O_CLOEXEC);
	if (direct < 0 || buffered < 0)
		fail(argv[1]);
	write_directly(direct, piece);
	read_directly(direct, piece);
	write_later(buffered, piece);
	flush_in_child(buffered);
	printf("write_directly %d\nread_directly %d\nwrite_later %d\n", DIRECT_PIECES * PIECE,
	       DIRECT_PIECES / 2 * PIECE, LATER_PIECES * PIECE);
	free(piece);
	return 0;
}
