/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * false_python MODE [SECONDS]: no Python, but a program with the structures of 3.12, which burns in
 * a function whose C frame has the entry frame of a chain. MODE says what is wrong with them:
 *
 *	honest		nothing: one function, "honest", of /honest.py
 *	cycle		the frame's caller is the frame itself
 *	long		100,000 frames, all of them different functions
 *	lengths		names and line tables that claim to have terabytes
 *	wild		pointers to nowhere, into the kernel and into the middle of things
 *	changing	another thread changes all of it, again and again
 *	mapping		as changing, and a third thread maps files
 */
/* clang-format on */
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/workloads/burn.h"
#include "tests/workloads/random_word.h"

struct member {
	const char *name;
	long type, offset, flags;
	const char *doc;
};

static const struct member members[] = {
	{"co_linetable", 6, 136, 1, NULL},
	{"co_filename", 6, 112, 1, NULL},
	{"co_qualname", 6, 128, 1, NULL},
	{"co_firstlineno", 1, 68, 1, NULL},
	{NULL, 0, 0, 0, NULL},
};

struct type {
	char head[240];
	const struct member *members;
	char rest[168];
};

struct string {
	uint64_t references;
	void *type;
	uint64_t length, hash;
	uint32_t state, padding;
	char text[64];
};

struct lines {
	uint64_t references;
	void *type;
	uint64_t size, hash;
	uint8_t table[32];
};

struct code {
	uint64_t references;
	void *type;
	uint64_t units;
	char middle[44];
	uint32_t first_line;
	char more[40];
	void *file, *name, *qualified_name, *lines;
	char end[48];
	uint16_t instructions[64];
};

struct frame {
	void *code, *previous;
	char middle[40];
	void *instruction;
	char more[6];
	uint8_t owner;
	char end[9];
};

struct cframe {
	void *frame, *previous;
};

struct thread {
	char head[56];
	struct cframe *cframe;
	char middle[72];
	uint64_t id, native_id;
	char end[64];
};

_Static_assert(offsetof(struct code, file) == 112 && offsetof(struct code, first_line) == 68 &&
		       offsetof(struct code, instructions) == 192,
	       "the layout of 3.12");
_Static_assert(offsetof(struct frame, instruction) == 56 && offsetof(struct frame, owner) == 70,
	       "the layout of 3.12");
_Static_assert(offsetof(struct thread, id) == 136, "the layout of 3.12");

struct type PyCode_Type = {.members = members};
const unsigned long Py_Version = 0x030c01f0;
/* The interpreter's structure begins with 72 bytes of others; so the list of threads is in it. */
static struct {
	char head[72];
	struct thread *threads;
	char rest[64];
} interpreter;
/* As in the real one, the section has nothing else. */
__attribute__((section(".PyRuntime"))) struct {
	char head[40];
	void *interpreters;
	char rest[512];
} _PyRuntime = {.interpreters = &interpreter};

#define STATE_ASCII (1 << 2 | 1 << 5 | 1 << 6)
#define LONG_CHAIN 100000

static struct string name = {.length = 6, .state = STATE_ASCII, .text = "honest"};
static struct string file = {.length = 10, .state = STATE_ASCII, .text = "/honest.py"};
static struct lines lines = {.size = 3, .table = {0xd7, 0, 0}}; /* 8 units on the first line */
static struct code code;
static struct thread thread;
static struct cframe cframe;
static struct frame frame;

static void set_up(void)
{
	code = (struct code){.type = &PyCode_Type,
			     .units = 64,
			     .first_line = 7,
			     .file = &file,
			     .name = &name,
			     .qualified_name = &name,
			     .lines = &lines};
	frame = (struct frame){.code = &code, .instruction = code.instructions + 3};
	cframe.frame = &frame;
	thread.cframe = &cframe;
	thread.id = (uint64_t)pthread_self();
	interpreter.threads = &thread;
}

static void chain_of_many(struct frame *entry)
{
	struct frame *frames = calloc(LONG_CHAIN, sizeof(*frames));
	struct code *codes = calloc(LONG_CHAIN, sizeof(*codes));

	if (!frames || !codes)
		exit(1);
	for (int i = 0; i < LONG_CHAIN; i++) {
		codes[i] = code;
		codes[i].first_line = (uint32_t)i;
		frames[i].code = &codes[i];
		frames[i].instruction = codes[i].instructions;
		frames[i].previous = i + 1 < LONG_CHAIN ? &frames[i + 1] : entry;
	}
	frame.previous = frames;
}

static void *change(void *arg)
{
	struct frame *entry = arg;

	for (;;) {
		uint64_t word = random_word(&code, 512), choice = random_word(&code, 512);
		void *places[] = {&code.file,	 &code.qualified_name, &code.lines,
				  &frame.code,	 &frame.previous,      &frame.instruction,
				  &name.length,	 &file.length,	       &lines.size,
				  &cframe.frame, &thread.cframe,       &entry->previous,
				  &code.units};

		memcpy(places[choice % 13], &word, sizeof(word));
		if (choice % 29 == 0) {
			name = (struct string){.length = 6, .state = STATE_ASCII, .text = "honest"};
			set_up();
			frame.previous = entry;
		}
	}
	return NULL;
}

/* Maps one file at ever new places: each time, the process is described anew. */
static void *map_files(void *arg)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	for (int i = 0; i < 1000; i++) {
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			exit(1);
		usleep(10000);
	}
	return NULL;
}

static void make(const char *mode, struct frame *entry)
{
	pthread_t changer, mapper;

	frame.previous = entry;
	if (strcmp(mode, "cycle") == 0) {
		frame.previous = &frame;
	} else if (strcmp(mode, "long") == 0) {
		chain_of_many(entry);
	} else if (strcmp(mode, "lengths") == 0) {
		name.length = file.length = 1ull << 42;
		lines.size = UINT64_MAX;
		code.units = UINT64_MAX;
	} else if (strcmp(mode, "wild") == 0) {
		code.file = (void *)8;
		code.qualified_name = (void *)0xffffffff81000000;
		code.lines = (char *)&code + 3;
		frame.instruction = (void *)~0ull;
	} else if (strcmp(mode, "changing") == 0 || strcmp(mode, "mapping") == 0) {
		if (pthread_create(&changer, NULL, change, entry) != 0)
			exit(1);
	}
	if (strcmp(mode, "mapping") == 0 && pthread_create(&mapper, NULL, map_files, NULL) != 0)
		exit(1);
}

/* Its C frame has the entry frame; it stands for the interpreter. */
static NOINLINE void interpret(const char *mode, double seconds)
{
	struct frame entry = {.owner = 3};

	make(mode, &entry);
	burn_ms(1000 * seconds);
	/* Keeps the frame until here; the thread that changes it writes to it until the end. */
	__asm__ volatile("" : : "r"(&entry) : "memory");
	exit(0);
}

int main(int argc, char **argv)
{
	set_up();
	interpret(argc > 1 ? argv[1] : "honest", argc > 2 ? strtod(argv[2], NULL) : 0.5);
	return 0;
}
