/* SPDX-License-Identifier: MIT */
#include "lib/live/machine/host.h"

#include <dirent.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

/* Maximum CPU id: record headers have 16 bits, and no kernel is configured for more. */
#define CPU_ID_LIMIT 65536u
#define SMALL_FILE_MAX (64u << 10)

/* Parses "7" or "3-5" at *at. */
static bool parse_range(const char **at, const char *end, uint64_t *first, uint64_t *last)
{
	if (!text_scan_decimal(at, end, first))
		return false;
	*last = *first;
	if (*at < end && **at == '-') {
		(*at)++;
		if (!text_scan_decimal(at, end, last))
			return false;
	}
	return *first <= *last && *last < CPU_ID_LIMIT;
}

int cpu_list_parse(const char *text, struct cpu_list *list)
{
	const char *end = text + strlen(text), *at = text;
	VEC(uint32_t) cpus = {0};
	bool valid = false;

	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	for (;;) {
		uint64_t first, last;

		valid = parse_range(&at, end, &first, &last) &&
			(cpus.count == 0 || first > vec_last(&cpus));
		if (!valid)
			break;
		for (uint64_t cpu = first; cpu <= last; cpu++)
			vec_push(&cpus, (uint32_t)cpu);
		if (at == end)
			break;
		valid = *at++ == ',';
		if (!valid)
			break;
	}
	if (!valid) {
		vec_release(&cpus);
		return -EINVAL;
	}
	list->cpus = cpus.items;
	list->count = (uint32_t)cpus.count;
	return 0;
}

int cpu_list_read(const char *name, struct cpu_list *list)
{
	_cleanup_free_ char *path = xasprintf("/sys/devices/system/cpu/%s", name);
	_cleanup_free_ char *text = text_read_file(path, SMALL_FILE_MAX, NULL);

	if (!text)
		return errno ? -errno : -EIO;
	return cpu_list_parse(text, list);
}

bool cpu_list_has(const struct cpu_list *list, uint32_t cpu)
{
	for (uint32_t i = 0; i < list->count; i++) {
		if (list->cpus[i] == cpu)
			return true;
	}
	return false;
}

void cpu_list_release(struct cpu_list *list)
{
	free(list->cpus);
	list->cpus = NULL;
	list->count = 0;
}

#define STATUS_MAX (64u << 10)
/* Inode of the initial pid namespace: PROC_PID_INIT_INO of the kernel. */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu

char *proc_status_read(uint32_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	return text_read_file(path, STATUS_MAX, NULL);
}

/* Returns the text after "KEY:" at the start of a line, or NULL. */
static const char *find_line(const char *status, const char *key)
{
	size_t size = strlen(key);

	while (status && (strncmp(status, key, size) != 0 || status[size] != ':')) {
		status = strchr(status, '\n');
		if (status)
			status++;
	}
	return status ? status + size + 1 : NULL;
}

size_t proc_status_numbers(const char *status, const char *key,
			   uint32_t numbers[PROC_STATUS_NUMBERS_MAX])
{
	const char *at = find_line(status, key), *end = at ? strchrnul(at, '\n') : NULL;
	size_t count = 0;

	while (at < end) {
		uint64_t number;

		if (*at == ' ' || *at == '\t') {
			at++;
			continue;
		}
		if (count == PROC_STATUS_NUMBERS_MAX || !text_scan_decimal(&at, end, &number) ||
		    number > UINT32_MAX)
			return 0;
		numbers[count++] = (uint32_t)number;
	}
	return count;
}

uint32_t proc_find_thread(uint32_t pid, uint32_t inner)
{
	const struct dirent *entry;
	uint32_t found = 0;
	char path[40];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		uint32_t numbers[PROC_STATUS_NUMBERS_MAX];
		_cleanup_free_ char *status = NULL;
		uint64_t outer;
		size_t count;

		if (!text_to_u64(entry->d_name, 10, &outer))
			continue;
		status = proc_status_read((uint32_t)outer);
		count = status ? proc_status_numbers(status, "NSpid", numbers) : 0;
		if (count && numbers[count - 1] == inner)
			found = (uint32_t)outer;
	}
	if (dir)
		closedir(dir);
	return found;
}

uint32_t proc_status_own(const char *key)
{
	_cleanup_free_ char *status = text_read_file("/proc/self/status", STATUS_MAX, NULL);
	uint32_t numbers[PROC_STATUS_NUMBERS_MAX];

	return proc_status_numbers(status, key, numbers) == 1 ? numbers[0] : 0;
}

uint32_t proc_status_pid_namespace(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == INITIAL_PID_NAMESPACE)
		return 0;
	return (uint32_t)st.st_ino;
}

/* Bytes to read, enough for the first CPU's paragraph. The whole file can be megabytes. */
#define CPUINFO_MAX 16384

/* Names for CPUs that report only a part number, as on arm64. */
struct cpu_part {
	uint32_t implementer, part;
	const char *name;
};

static const struct cpu_part cpu_parts[] = {
	{0x41, 0xd03, "ARM Cortex-A53"},  {0x41, 0xd05, "ARM Cortex-A55"},
	{0x41, 0xd07, "ARM Cortex-A57"},  {0x41, 0xd08, "ARM Cortex-A72"},
	{0x41, 0xd0b, "ARM Cortex-A76"},  {0x41, 0xd0c, "ARM Neoverse-N1"},
	{0x41, 0xd40, "ARM Neoverse-V1"}, {0x41, 0xd49, "ARM Neoverse-N2"},
	{0x41, 0xd4f, "ARM Neoverse-V2"}, {0x48, 0xd01, "HiSilicon Kunpeng-920"},
	{0xc0, 0xac3, "Ampere-1"},	  {0xc0, 0xac4, "Ampere-1a"},
};

static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : NULL;
}

char *host_distribution_name(const char *os_release)
{
	for (const char *line = os_release; line; line = next_line(line)) {
		const char *value, *end;

		if (!text_starts_with(line, "PRETTY_NAME="))
			continue;
		value = line + strlen("PRETTY_NAME=");
		end = value + strcspn(value, "\n");
		if (end - value >= 2 && (*value == '"' || *value == '\'') && end[-1] == *value) {
			value++;
			end--;
		}
		return end > value ? xstrndup(value, (size_t)(end - value)) : NULL;
	}
	return NULL;
}

/* Returns the value of "key<blanks>: value" in the first paragraph; *size is 0 if there is none. */
static const char *cpuinfo_value(const char *cpuinfo, const char *key, size_t *size)
{
	*size = 0;
	for (const char *line = cpuinfo; line && *line && *line != '\n'; line = next_line(line)) {
		const char *at = line;

		if (!text_starts_with(line, key))
			continue;
		at += strlen(key);
		at += strspn(at, " \t");
		if (*at != ':')
			continue;
		at++;
		at += strspn(at, " \t");
		*size = strcspn(at, "\n");
		return at;
	}
	return NULL;
}

static uint32_t cpuinfo_hex(const char *cpuinfo, const char *key)
{
	uint64_t number = 0;
	size_t size;
	const char *value = cpuinfo_value(cpuinfo, key, &size), *at = value;

	if (!value || size < 3 || strncmp(at, "0x", 2) != 0)
		return 0;
	at += 2;
	return text_scan_hex(&at, value + size, &number) ? (uint32_t)number : 0;
}

char *host_cpu_name(const char *cpuinfo)
{
	size_t size;
	const char *value = cpuinfo_value(cpuinfo, "model name", &size);
	uint32_t implementer, part;

	if (value && size)
		return xstrndup(value, size);
	implementer = cpuinfo_hex(cpuinfo, "CPU implementer");
	part = cpuinfo_hex(cpuinfo, "CPU part");
	if (!implementer)
		return NULL;
	for (size_t i = 0; i < sizeof(cpu_parts) / sizeof(cpu_parts[0]); i++) {
		if (cpu_parts[i].implementer == implementer && cpu_parts[i].part == part)
			return xstrdup(cpu_parts[i].name);
	}
	return xasprintf("CPU implementer 0x%x part 0x%x", implementer, part);
}

static char *read_distribution(void)
{
	_cleanup_free_ char *text = text_read_file("/etc/os-release", SMALL_FILE_MAX, NULL);

	if (!text)
		text = text_read_file("/usr/lib/os-release", SMALL_FILE_MAX, NULL);
	return text ? host_distribution_name(text) : NULL;
}

static char *read_cpu_name(void)
{
	_cleanup_free_ char *text = text_read_file("/proc/cpuinfo", CPUINFO_MAX, NULL);

	return text ? host_cpu_name(text) : NULL;
}

/* Returns true for the first CPU of a core, used to count cores. */
static bool is_first_of_core(uint32_t cpu)
{
	_cleanup_free_ char *path =
		xasprintf("/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
	_cleanup_free_ char *text = text_read_file(path, SMALL_FILE_MAX, NULL);
	struct cpu_list siblings;
	bool first;

	if (!text || cpu_list_parse(text, &siblings))
		return true;
	first = siblings.cpus[0] == cpu;
	cpu_list_release(&siblings);
	return first;
}

static void read_cpu_counts(struct host *host)
{
	struct cpu_list online;

	if (cpu_list_read("online", &online))
		return;
	host->logical_cpus = online.count;
	for (uint32_t i = 0; i < online.count; i++)
		host->physical_cpus += is_first_of_core(online.cpus[i]);
	cpu_list_release(&online);
}

void host_read(struct host *host)
{
	struct sysinfo memory;
	struct utsname name;

	memset(host, 0, sizeof(*host));
	if (uname(&name) == 0) {
		host->os = xasprintf("%s %s %s", name.sysname, name.release, name.machine);
		host->machine = xstrdup(name.machine);
	}
	host->distribution = read_distribution();
	host->cpu_name = read_cpu_name();
	read_cpu_counts(host);
	if (sysinfo(&memory) == 0)
		host->memory_bytes = (uint64_t)memory.totalram * memory.mem_unit;
}

void host_release(struct host *host)
{
	free(host->os);
	free(host->distribution);
	free(host->machine);
	free(host->cpu_name);
	memset(host, 0, sizeof(*host));
}

/*
 * A record may use at most half of a ring. The other half has room for 1000 samples with stacks of
 * SHORT_STACK frames each (bpf/config.h): 680 bytes. Rates above 1000 Hz get proportionally more,
 * up to DEFAULT_BYTES_MAX.
 */
#define DEFAULT_BYTES (2ull << 20)
#define DEFAULT_BYTES_MAX (16ull << 20)
#define DEFAULT_HZ 1000
/* Bytes per CPU when the whole machine is recorded, and the maximum for all CPUs. */
#define MACHINE_BYTES (8ull << 20)
#define MACHINE_BYTES_MAX (64ull << 20)
#define BYTES_MAX (1ull << 30)

/* Returns the bytes needed for ticks at DEFAULT_HZ. */
static uint64_t bytes_at_default(uint32_t machine_cpus)
{
	uint64_t bytes = machine_cpus ? MACHINE_BYTES_MAX / machine_cpus : 0;

	if (bytes > MACHINE_BYTES)
		return MACHINE_BYTES;
	return bytes > DEFAULT_BYTES ? bytes : DEFAULT_BYTES;
}

static uint64_t default_size(double hz, uint32_t machine_cpus)
{
	double bytes = (double)bytes_at_default(machine_cpus) * hz / DEFAULT_HZ;

	if (bytes > (double)DEFAULT_BYTES_MAX)
		return DEFAULT_BYTES_MAX;
	return bytes > (double)DEFAULT_BYTES ? (uint64_t)bytes : DEFAULT_BYTES;
}

uint64_t ring_size(uint64_t wish, uint64_t interval_ns, uint32_t machine_cpus)
{
	double hz = interval_ns ? 1e9 / (double)interval_ns : DEFAULT_HZ;
	uint64_t bytes = wish ? wish : default_size(hz, machine_cpus);
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);

	while (size < bytes && size < BYTES_MAX)
		size *= 2;
	return size;
}
