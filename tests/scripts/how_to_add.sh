#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Adds to a copy of the source what "How to add …" in HACKING.md tells, in just the places that it
# names, and looks for it in what is built.
# shellcheck disable=SC1003 # rows of macros end in a backslash
set -u
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
{ git ls-files -z 2>/dev/null || find . \( -name .git -o -name 'build*' \) -prune -o -type f -print0; } |
	xargs -0 cp --parents -t "$tmp"
cd "$tmp" || exit 1

count=0
ok() { # DESCRIPTION COMMAND...
	local said
	count=$((count + 1))
	said=$("${@:2}" 2>&1) || printf '# %s\nnot ' "${said//$'\n'/$'\n'# }"
	echo "ok $count - $1"
}
has() { # TEXT COMMAND...
	local said
	said=$("${@:2}" 2>&1)
	[[ $said == *"$1"* ]] || { echo "no $1 in: $said" && false; }
}
row() { # FILE LINE ROW: adds a row behind the line that contains this
	awk -v line="$2" -v row="$3" '{ print } !found && index($0, line) { print row; found = 1 }
		END { exit !found }' "$1" >"$1.new" || echo "# $1 has no line with $2"
	cat "$1.new" >"$1"
	rm "$1.new"
}
bpf='// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause'
mit='/* SPDX-License-Identifier: MIT */'

# A marker of events in the kernel, with an option of an instrument.
row lib/model/facts/marker_probes.h 'ROW(signals,' \
	'	ROW(made_up, MADE_UP, SEEN, "seen", RAW, " of made-up markers", with) \'
row lib/model/facts/markers.def 'MARKER(PAUSE,' 'MARKER(MADE_UP, "made up", "{marker.data.value}", OFF_TRACK, NONE, false,
	FIELD(MADE_UP_VALUE, INTEGER, "value", "Value", NUMBER)
	FIELD(MADE_UP_STACK, STACK, "stack", "Stack", NUMBER))'
row bpf/live_record.h 'LIVE_RECORD(SIGNAL,' '	LIVE_RECORD(MADE_UP, rec_made_up, 64, sizeof(*r)) \'
row bpf/live_record.h '#define LIVE_NAME_SIZE' '
struct rec_made_up {
	struct rec rec;
	__u64 value;
	struct rec_marker_stack stack;
};'
row bpf/config.h 'ROW(DELIVER,' '	ROW(MADE_UP, "on_made_up") \'
cat >bpf/probes/made_up.bpf.c <<CODE
$bpf
#include "bpf/own_scratch.bpf.h"

#include "bpf/marker_stack.bpf.h"
#include "bpf/program_cost.bpf.h"

struct made_ups {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rec_made_up);
};

struct made_ups made_ups SEC(".maps");

static __always_inline struct rec_made_up *own_made_up(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&made_ups, &zero);
}

static __always_inline void finish(const struct rec_sample *sample)
{
	struct rec_made_up *rec = own_made_up();

	if (rec)
		finish_marker(&rec->rec, &rec->stack, sample, sizeof(*rec), sizeof(*rec), false);
}

SEC("raw_tp")
int end_made_up(void *ctx)
{
	finish(ended_marker_sample());
	end_run(TIMED_MADE_UP, 0);
	return 0;
}

struct marker_ends marker_ends SEC(".maps") = {.values = {[0] = (void *)end_made_up}};

static __always_inline void tell(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct rec_made_up *rec = own_made_up();
	struct tracked_process *process;

	if (!markers.since || !rec)
		return;
	rec_init(&rec->rec, REC_MADE_UP, sizeof(*rec), bpf_ktime_get_ns());
	process = marker_owner(task, &rec->rec);
	if (!process)
		return;
	rec->value = 7;
	finish(send_user_marker_stack(ctx, task, process, &rec->rec, 0));
}

SEC("raw_tp/sched_process_exec")
int BPF_PROG(on_made_up)
{
	RUN_TIMED(TIMED_MADE_UP, tell(ctx));
	return 0;
}
CODE
cat >lib/live/instruments/made_up.c <<CODE
$mit
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/base/cleanup.h"
#include "lib/live/instruments/marker_instrument.h"
#include "made_up.skel.h"

struct made_up {
	struct marker_state base;
	struct made_up_bpf *skeleton;
};

MARKER_OBJECT(made_up, MARKER_MADE_UP, programs_object_as_is, programs_object_as_is)

static void take(void *state, const struct rec *rec)
{
	const struct rec_made_up *told = (const struct rec_made_up *)rec;
	const struct made_up *m = state;
	struct marker_record marker = marker_begin(m->base.schema, rec, &told->stack);

	marker_set_number(&marker, MADE_UP_VALUE, FIELD_INTEGER, told->value);
	marker_set_number(&marker, MADE_UP_STACK, FIELD_STACK, 0);
	marker_send(m->base.live, &marker);
}

static const struct instrument_option options[] = {
	{.name = "made-up", .is_plain = true, .help = "mark what is made up", .after = "event", .set = marker_want},
	{0},
};

const struct instrument instrument_made_up = {
	.options = options,
	.takes = INSTRUMENT_TAKES(REC_MADE_UP),
	.take = take,
	.destroy = free,
	.enable = marker_state_enable,
	.pause = marker_state_pause,
	MARKER_INSTRUMENT(made_up),
};
CODE

# A counter of the machine.
row lib/model/facts/counters.def 'COUNTER(MACHINE_ENERGY,' \
	'COUNTER(MACHINE_MADE_UP, "Machine: made up", "CPU", "Made up", "bytes", "teal", LEVEL)'
row lib/live/instruments/counters/machine_counters.c 'has[KIND(MEMORY)] = left <= all;' \
	'	has[KIND(MADE_UP)] = true;'

# A fact.
row lib/model/facts/facts.def 'STAT(CPU_SAMPLES,' \
	'FACT(MADE_UP_ROWS, "made_up_rows", RECORDING, "Rows made up", COUNT, HARMLESS, MADE)'
row lib/recording/outcome_facts.c 'facts_count(f, FACT_LATE_RECORDS' '	facts_count(f, FACT_MADE_UP_ROWS, NULL, 7);'

# A format.
row lib/format/format.h 'ROW(speedscope)' '	ROW(made_up) \'
cat >lib/format/made_up.c <<CODE
$mit
#include "lib/format/format.h"

static int made_up_write(const struct profile *p, const struct export_options *options,
			 struct outfile *out, struct export_counts *counts, struct error *err)
{
	(void)p;
	(void)options;
	(void)counts;
	(void)err;
	outfile_write(out, "all made up\n", 12);
	return 0;
}

const struct format format_made_up = {
	.name = "made-up",
	.suffixes = (const char *const[]){".made-up", NULL},
	.is_plain = true,
	.write = made_up_write,
};
CODE

# A runtime.
row bpf/runtimes.def 'RUNTIME(RUBY,' 'RUNTIME(PRETEND, pretend, RUBY, FRAMES, ENDS, PLAIN)'
cat >bpf/runtimes/pretend_stack.bpf.h <<CODE
${mit/MIT/GPL-2.0-only OR BSD-2-Clause}
#include "bpf/runtimes/merge.bpf.h"

static __always_inline __u32 pretend_add_frames(struct stack_scratch *s, struct runtime_scratch *notes,
						const struct rec *like)
{
	return 0;
}
CODE
cat >lib/code/runtimes/pretend.c <<CODE
$mit
#include "lib/code/runtimes/runtime.h"

static int probe(const struct binary *b, struct runtime_layout *layout, struct error *err)
{
	(void)b;
	(void)layout;
	(void)err;
	return 0;
}

const struct runtime runtime_pretend = {.kind = RUNTIME_PRETEND, .name = "Pretend", .probe = probe};
CODE

# An engine of the fleet.
row lib/fleet/engine_kind.c 'const struct engine_kind engine_kinds[] = {' \
	'	{.scheme = "made-up+http", .port = 1, .secure_port = 1, .form = &otlp_form, .path = "made/up", .content_type = "made/up"},'

# An option of one command.
row cmd/recover.c 'bool only_list;' '	bool is_made_up;'
row cmd/recover.c '{0, "list", NULL,' \
	'	{0, "made-up", NULL, "recover what is made up", OPTION_FLAG, AT(is_made_up)},'

# Records nothing but names, on a machine that is not there.
cat >tests/unit/test_recorder_made_up.c <<CODE
$mit
#include <stdio.h>

#include "lib/live/instruments/counters/counter_values.h"
#include "lib/live/instruments/counters/machine_counters.h"
#include "tests/machine/machine.h"
#include "tests/machine/recording.h"
#include "tests/unit/test.h"

static int setup(void **state)
{
	(void)state;
	recording_prepare("0-1");
	return 0;
}

TEST_WITH(marker, setup, recording_teardown)
{
	struct report report = {0};
	struct record_tally tally = {0};

	recording_set(&recording, "made-up", "");
	recording_begin_app();
	recording_end(&recording);
	recorder_report(recording.recorder, &tally, &report);
	vec_for_each(&report.facts.rows, struct fact *, fact)
		printf("fact %s\n", fact_kind(fact->id)->key);
	report_release(&report);
}

static void print_counter(void *ctx, const struct rec *rec)
{
	const struct rec_counter_info *info = (const struct rec_counter_info *)rec;

	(void)ctx;
	if (rec->kind == REC_COUNTER_INFO)
		printf("counter %.*s\n", (int)info->name_size, info->text);
}

TEST_WITH(counter, setup, recording_teardown)
{
	struct counter_values values = {.sink = print_counter};
	struct machine_counters *machine;

	machine_write_file("/proc/meminfo", "MemTotal: 2 kB\nMemAvailable: 1 kB\n");
	machine = machine_counters_open();
	machine_counters_read(machine, &values, 1);
	machine_counters_free(machine);
}
CODE

# Built quickly, whatever those who run the tests have built.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES
compiler=cc
if command -v ccache >/dev/null; then compiler='ccache cc'; fi
build=./build-made-up
test=$build/tests/unit/test_recorder_made_up
prof=$build/prof
ok "the source builds" make -s -j2 BUILD=$build PAGE=0 SAN= COVERAGE= OPT=-O0 CFLAGS= CC="${CC:-$compiler}" $prof $test
ok "a marker: its option" has --made-up $prof record --help
ok "a marker: completion of its option" has --made-up $prof __complete record --made
ok "a marker: records sent" has 'fact made_up.seen' $test
ok "a marker: records lost" has 'fact made_up.lost' $test
ok "a marker: functions of runtimes in its stacks" has 'of made-up markers' grep -ao 'of made-up markers' $prof
ok "a marker: the cost of its program" has on_made_up grep -ao on_made_up $prof
ok "a counter" has 'counter Machine: made up' $test
capture=tests/golden/version-4/waits.prof
ok "a fact: its key" has '"made_up_rows": 7' \
	sh -c "$prof convert -q --no-symbols --stats stats $capture -o a.json && cat stats"
ok "a fact: its row" has 'Rows made up' $prof info a.json
ok "a format" has 'all made up' sh -c "$prof convert -q --no-symbols $capture -o a.made-up && cat a.made-up"
ok "a format: among the others" has made-up $prof convert --help
ok "an option of a command" has --made-up $prof recover --help
ok "a runtime: its programs" has on_pretend_fault grep -ao on_pretend_fault $build/gen/pretend_markers.bpf.o
ok "a runtime: the recorder loads them" has on_pretend_wait grep -ao on_pretend_wait $build/lib/live/instruments/runtimes/runtime_programs.o
ok "an engine of the fleet" has made-up+http://HOST $prof push a b
echo "1..$count"
