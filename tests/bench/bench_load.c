/* SPDX-License-Identifier: MIT */
/*
 * Measures the loading of BPF programs for each way of unwinding: the medians of several runs, by
 * the clock and in CPU time, which neighbours change less. The floor beside it is what the kernel
 * takes for maps of the same sizes and as many programs of the same types that do nothing, in runs
 * that alternate with the others. Needs root.
 *
 *	bench_load [RUNS]
 */
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf/config.h"
#include "lib/live/process/targets.h"
#include "lib/live/bpf/programs.h"

#define RUNS_MAX 100
#define TARGET_MS 80
#define DESCRIPTORS_MAX 1024

/* Maps and programs that have been loaded. */
struct loaded {
	VEC(struct bpf_map_info) maps;
	VEC(uint32_t) programs; /* types */
};

static double ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[count / 2];
}

static void take_record(void *ctx, const void *data, size_t size)
{
}

static bool has_map(const struct loaded *l, uint32_t id)
{
	vec_for_each(&l->maps, const struct bpf_map_info *, map) {
		if (map->id == id)
			return true;
	}
	return false;
}

/* Notes the programs that this process has open, and the maps, which objects share. */
static void note_loaded(struct loaded *l)
{
	vec_clear(&l->maps);
	vec_clear(&l->programs);
	for (int fd = 0; fd < DESCRIPTORS_MAX; fd++) {
		struct bpf_prog_info program = {0};
		struct bpf_map_info map = {0};
		char path[64], link[64] = "";
		uint32_t size;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, link, sizeof(link) - 1) < 0)
			continue;
		if (!strcmp(link, "anon_inode:bpf-map")) {
			size = sizeof(map);
			if (!bpf_obj_get_info_by_fd(fd, &map, &size) && !has_map(l, map.id))
				vec_push(&l->maps, map);
		} else if (!strcmp(link, "anon_inode:bpf-prog")) {
			size = sizeof(program);
			if (!bpf_obj_get_info_by_fd(fd, &program, &size))
				vec_push(&l->programs, program.type);
		}
	}
}

static int make_map(const struct bpf_map_info *map)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = map->map_flags);
	/* A map of maps would need an example. */
	uint32_t type = map->type == BPF_MAP_TYPE_ARRAY_OF_MAPS ? BPF_MAP_TYPE_ARRAY : map->type;

	return bpf_map_create(type, "floor", map->key_size, map->value_size, map->max_entries,
			      &options);
}

static int load_nothing(uint32_t type)
{
	const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_prog_load(type, "floor", "GPL", code, sizeof(code) / sizeof(code[0]), NULL);
}

/* Makes the like of what was loaded, and closes it. Returns the CPU time in ms; negative: failed.
 */
static double measure_floor(const struct loaded *l)
{
	double start = ms(CLOCK_PROCESS_CPUTIME_ID), used;
	VEC(int) made = {0};
	bool failed = false;

	vec_for_each(&l->maps, const struct bpf_map_info *, map)
		vec_push(&made, make_map(map));
	vec_for_each(&l->programs, const uint32_t *, type)
		vec_push(&made, load_nothing(*type));
	used = ms(CLOCK_PROCESS_CPUTIME_ID) - start;
	vec_for_each(&made, const int *, fd) {
		failed |= *fd < 0;
		if (*fd >= 0)
			close(*fd);
	}
	vec_release(&made);
	return failed ? -1 : used;
}

static int measure(const char *name, uint32_t unwind, size_t runs)
{
	const struct filter filter = {0};
	const struct programs_options options = {
		.possible_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF),
		.ring_bytes = 1 << 20,
		.unwind = unwind,
		.filter = &filter,
	};
	double cpu[RUNS_MAX], wall[RUNS_MAX], floor[RUNS_MAX];
	struct loaded loaded = {0};

	for (size_t i = 0; i < runs; i++) {
		double cpu_start = ms(CLOCK_PROCESS_CPUTIME_ID), start = ms(CLOCK_MONOTONIC);
		struct programs *programs;
		struct error err;

		if (programs_load(&programs, &options, take_record, NULL, &err)) {
			fprintf(stderr, "%s\n", err.text);
			return -1;
		}
		cpu[i] = ms(CLOCK_PROCESS_CPUTIME_ID) - cpu_start;
		wall[i] = ms(CLOCK_MONOTONIC) - start;
		note_loaded(&loaded);
		programs_free(programs);
		floor[i] = measure_floor(&loaded);
		if (floor[i] < 0) {
			fprintf(stderr, "cannot load what does nothing\n");
			return -1;
		}
	}
	printf("load_%s %.1f ms (target: at most %d)\n", name, median(wall, runs), TARGET_MS);
	printf("load_cpu_%s %.1f ms (floor: %.1f, %zu maps and %zu programs)\n", name,
	       median(cpu, runs), median(floor, runs), loaded.maps.count, loaded.programs.count);
	vec_release(&loaded.maps);
	vec_release(&loaded.programs);
	return 0;
}

int main(int argc, char **argv)
{
	int runs = argc > 1 ? atoi(argv[1]) : 15;
	int ret;

	if (runs < 1 || runs > RUNS_MAX)
		return 2;
	ret = measure("auto", UNWIND_BY_CFI | UNWIND_BY_FRAME_POINTER | UNWIND_BY_SCAN,
		      (size_t)runs);
	ret |= measure("fp", UNWIND_BY_KERNEL, (size_t)runs);
	return ret ? 1 : 0;
}
