/* SPDX-License-Identifier: MIT */
#include "lib/live/bpf/cpus.h"

static void cpu_close(struct cpu_set *set, struct live_cpu *cpu)
{
	if (cpu->is_open)
		set->hooks.close(set->hooks.ctx, cpu);
	cpu->is_open = false;
	map_ring_free(steal(cpu->map_ring));
}

/* Opens a CPU. If it is not sampled, it still reports forks and mappings. */
static int cpu_open(struct cpu_set *set, struct live_cpu *cpu, struct error *err)
{
	int code = map_ring_open(&cpu->map_ring, cpu->id, err);

	if (code)
		return code;
	cpu->online = true;
	if (set->only->count && !cpu_list_has(set->only, cpu->id))
		return 0;
	code = set->hooks.open(set->hooks.ctx, cpu, err);
	cpu->is_open = !code;
	return code;
}

static struct live_cpu *find_cpu(const struct cpu_set *set, uint32_t id)
{
	return vec_find(&set->cpus, cpu, cpu->id == id);
}

/* Adds a CPU; one that was online before keeps its ring. */
static int add_cpu(struct cpu_set *set, uint32_t id, struct error *err)
{
	struct live_cpu *cpu = find_cpu(set, id);
	int code;

	if (!cpu) {
		vec_push(&set->cpus, (struct live_cpu){.id = id});
		cpu = &vec_last(&set->cpus);
	}
	if (!cpu->has_ring) {
		code = programs_add_ring(set->programs, id, err);
		if (code)
			return code;
		cpu->has_ring = true;
	}
	code = cpu_open(set, cpu, err);
	if (code) {
		cpu->online = false;
		cpu_close(set, cpu);
	}
	return code;
}

int cpu_set_open(struct cpu_set *set, struct error *err)
{
	struct cpu_list online;
	int code = cpu_list_read("online", &online);

	if (code)
		return error_set(err, code, "cannot read the list of online CPUs");
	for (uint32_t i = 0; i < online.count && !code; i++)
		code = add_cpu(set, online.cpus[i], err);
	cpu_list_release(&online);
	return code;
}

void cpu_set_release(struct cpu_set *set)
{
	vec_for_each(&set->cpus, struct live_cpu *, cpu)
		cpu_close(set, cpu);
	vec_release(&set->cpus);
}

void cpu_set_refresh(struct cpu_set *set, cpu_change_fn *fn, void *ctx)
{
	struct cpu_list online;
	struct error err = {0};

	if (cpu_list_read("online", &online))
		return;
	vec_for_each(&set->cpus, struct live_cpu *, cpu) {
		if (!cpu->online || cpu_list_has(&online, cpu->id))
			continue;
		cpu->online = false;
		fn(ctx, cpu);
		cpu_close(set, cpu);
	}
	for (uint32_t i = 0; i < online.count; i++) {
		struct live_cpu *cpu = find_cpu(set, online.cpus[i]);
		int code;

		if (cpu && cpu->online)
			continue;
		code = add_cpu(set, online.cpus[i], &err);
		cpu = find_cpu(set, online.cpus[i]);
		/* Opening is retried and may succeed: warn only once. */
		if (code && !cpu->has_failed)
			log_warn("CPU %u came online but is not sampled: %s", online.cpus[i],
				 err.text);
		cpu->has_failed = code;
		if (!code)
			fn(ctx, cpu);
	}
	cpu_list_release(&online);
}
