/* SPDX-License-Identifier: MIT */
/*
 * Measures how fast a profile becomes a file: bench_export [SAMPLES [STACKS [FILE]]], by default
 * 2000000 and 200000. The two floors are writing the same number of bytes without formatting, and
 * building and dumping the same columns as a tree. Keeps the profile in FILE.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/format/format.h"

#define ROUNDS 5
#define THREADS 16
#define MODULES 20
#define INTERVAL_NS 1001001
#define START_NS 86400000000000ull
#define TREE_SAMPLES 200000

static uint64_t seed = 1;

static uint32_t next_random(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 32) * below >> 32);
}

static void add_modules(struct profile *p)
{
	for (uint32_t i = 0; i < MODULES; i++) {
		char path[64];
		module_id id;
		struct module *module;

		snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/libbench%u.so.1", i);
		id = modules_add(&p->modules, PROFILE_MODULE_FILE,
				 strings_intern(&p->strings, path),
				 strings_intern(&p->strings, strrchr(path, '/') + 1));
		module = modules_get(&p->modules, id);
		module->machine = 62;
		module->build_id_size = sizeof(module->build_id);
		for (size_t k = 0; k < sizeof(module->build_id); k++)
			module->build_id[k] = (uint8_t)next_random(256);
		vec_push(&module->segments, (struct module_segment){0, 1 << 24, 0, true});
	}
}

/* Four frames per function, and names as long as those of C++. */
static void add_frames(struct profile *p, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		module_id module = next_random(MODULES);
		uint32_t place = next_random(count / 4 + 1);
		struct symbol symbol = {.module = module, .rva = 256ull * place, .size = 256};
		struct func func = {.module = module, .is_named = true};
		struct frame frame = {.module = module, .line = 1 + next_random(4000)};
		char text[128];

		snprintf(text, sizeof(text),
			 "bench::space_%u::Class<int, std::string>::method_%u(unsigned long)",
			 place % 97, place);
		symbol.name = func.name = strings_intern(&p->strings, text);
		snprintf(text, sizeof(text), "/home/user/src/bench/space_%u.cc", place % 997);
		func.file = source_files_intern(&p->source_files,
						strings_intern(&p->strings, text));
		frame.symbol = symbols_intern(&p->symbols, &symbol);
		frame.func = funcs_intern(&p->funcs, &func);
		frame.offset = symbol.rva + next_random(256);
		frames_intern(&p->frames, &frame);
	}
}

static void add_stacks(struct profile *p, uint32_t count)
{
	uint32_t frames = (uint32_t)p->frames.rows.count;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t known = (uint32_t)p->stacks.rows.count;
		stack_id parent = NO_STACK;

		if (known && next_random(50))
			parent = known - 1 - next_random(known < 1000 ? known : 1000);
		stacks_intern(&p->stacks, parent, next_random(frames));
	}
}

static void add_threads(struct profile *p, uint64_t samples)
{
	uint32_t stacks = (uint32_t)p->stacks.rows.count;

	for (uint32_t i = 0; i < THREADS; i++) {
		struct profile_thread row = {
			.pid = 1000 + i / 4,
			.tid = 1000 + i / 4 + 100 * (i % 4),
			.name = strings_intern(&p->strings, "bench"),
			.process_name = strings_intern(&p->strings, "bench"),
			.arguments = NO_STRING,
			.start = START_NS,
			.process_start = START_NS,
			.is_main = i % 4 == 0,
		};
		uint64_t time = START_NS;

		for (uint64_t k = 0; k < samples / THREADS; k++) {
			uint32_t delta = INTERVAL_NS - 5000 + next_random(10000);

			time += delta;
			samples_add(&row.samples,
				    &(struct sample){.time = time,
						     .stack = next_random(stacks),
						     .weight = 1,
						     .cpu_delta = delta - next_random(5000)});
		}
		threads_add(&p->threads, &row);
	}
}

static struct profile *build(uint64_t samples, uint32_t stacks)
{
	struct profile *p = profile_new();

	p->meta.product = xstrdup("bench");
	p->meta.start_ns = START_NS;
	p->meta.start_realtime_ns = 1700000000000000000ull;
	p->meta.end_ns = START_NS + samples / THREADS * INTERVAL_NS;
	p->meta.interval_ns = INTERVAL_NS;
	p->meta.symbolicated = true;
	add_modules(p);
	add_frames(p, stacks / 4 + 1);
	add_stacks(p, stacks);
	add_threads(p, samples);
	return p;
}

/* NULL: output is discarded. */
static struct outfile *open_out(const char *path, bool gzip)
{
	struct outfile_options options = {
		.path = path, .fd = -1, .gzip = gzip, .owner = {.is_self = true}};
	struct error err = {0};
	struct outfile *out;

	/* A descriptor is only ever written to, whatever its name leads to. */
	if (!path)
		options.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (outfile_open(&out, &options, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	return out;
}

/* Returns the bytes of the file. */
static uint64_t close_out(struct outfile *out)
{
	struct error err = {0};
	uint64_t size;

	if (outfile_commit(out, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	size = outfile_size(out);
	outfile_free(out);
	return size;
}

static uint64_t export_to(struct profile *p, const char *path, bool gzip)
{
	struct outfile *out = open_out(path, gzip);
	struct error err = {0};

	if (format_firefox.write(p, NULL, out, NULL, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	return close_out(out);
}

/* CPU time of the fastest of several rounds: noise only ever adds. */
static double export_seconds(struct profile *p, bool gzip, uint64_t *size)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = clock_process_cpu_ns(), taken;

		*size = export_to(p, NULL, gzip);
		taken = clock_process_cpu_ns() - start;
		best = taken < best ? taken : best;
	}
	return (double)best / 1e9;
}

/* Writes the same number of bytes, already formatted. */
static double copy_seconds(uint64_t size)
{
	static char block[64 * 1024];
	uint64_t best = UINT64_MAX;

	memset(block, '1', sizeof(block));
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = clock_process_cpu_ns(), taken;
		struct outfile *out = open_out(NULL, false);

		for (uint64_t left = size; left;) {
			size_t part = left < sizeof(block) ? (size_t)left : sizeof(block);

			outfile_write(out, block, part);
			left -= part;
		}
		close_out(out);
		taken = clock_process_cpu_ns() - start;
		best = taken < best ? taken : best;
	}
	return (double)best / 1e9;
}

static int count_bytes(const char *data, size_t size, void *ctx)
{
	*(uint64_t *)ctx += size;
	return 0;
}

/* MB/s when the samples of one thread become a tree. */
static double tree_rate(const struct profile *p)
{
	const struct profile_thread *row = &p->threads.rows.items[0];
	size_t count = 0;
	uint64_t start = clock_process_cpu_ns(), size = 0, previous = START_NS;
	json_t *root = json_array(), *stack = json_array(), *deltas = json_array(),
	       *cpu = json_array();

	samples_for_each(&row->samples, sample) {
		if (count++ == TREE_SAMPLES)
			break;
		json_array_append_new(stack, json_integer(sample->stack));
		json_array_append_new(deltas, json_real((double)(sample->time - previous) / 1e6));
		json_array_append_new(cpu, json_integer(sample->cpu_delta));
		previous = sample->time;
	}
	json_array_append_new(root, stack);
	json_array_append_new(root, deltas);
	json_array_append_new(root, cpu);
	json_dump_callback(root, count_bytes, &size, JSON_COMPACT | JSON_REAL_PRECISION(9));
	json_decref(root);
	return (double)size * 1e3 / (double)(clock_process_cpu_ns() - start);
}

/* Returns a line "VmRSS:  123 kB" of /proc/self/status, in MB. */
static double memory_mb(const char *key)
{
	_cleanup_free_ char *status = text_read_file("/proc/self/status", 1 << 16, NULL);
	const char *line = status ? strstr(status, key) : NULL;

	return line ? strtod(line + strlen(key), NULL) / 1e3 : 0;
}

/* Maximum of additional memory while the profile is written. */
static double export_memory_mb(struct profile *p)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/clear_refs", "w");
	double before = memory_mb("VmRSS:");

	/* Resets the high-water mark. */
	if (file) {
		fputs("5", file);
		fflush(file);
	}
	export_to(p, NULL, true);
	return memory_mb("VmHWM:") - before;
}

static void print(const char *metric, double value, const char *unit)
{
	printf("%s %.4g %s\n", metric, value, unit);
}

int main(int argc, char **argv)
{
	uint64_t samples = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000000;
	uint32_t stacks = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 200000;
	struct profile *p = build(samples, stacks);
	uint64_t size, packed;
	double memory = export_memory_mb(p), plain, gzip, copy, tree;

	plain = export_seconds(p, false, &size);
	gzip = export_seconds(p, true, &packed);
	copy = copy_seconds(size);
	tree = tree_rate(p);
	print("export_samples", (double)profile_sample_count(p), "samples");
	print("export_stacks", (double)p->stacks.rows.count, "stacks");
	print("export_json_size", (double)size / 1e6, "MB");
	print("export_gzip_size", (double)packed / 1e6, "MB");
	print("export_json_rate", (double)size / 1e6 / plain, "MB/s");
	print("export_gzip_rate", (double)size / 1e6 / gzip, "MB/s");
	print("export_time_per_sample", gzip * 1e9 / (double)profile_sample_count(p), "ns");
	print("export_memory", memory, "MB");
	print("export_copy_floor_rate", (double)size / 1e6 / copy, "MB/s");
	print("export_time_to_copy_floor", plain / copy, "times");
	print("export_tree_rate", tree, "MB/s");
	print("export_rate_to_tree", (double)size / 1e6 / plain / tree, "times");
	if (argc > 3)
		export_to(p, argv[3], text_ends_with(argv[3], ".gz"));
	profile_free(p);
	return 0;
}
