// SPDX-License-Identifier: MIT
// The engine: lib/query, compiled to WebAssembly. All numbers of the page come from it.

import {bytes, grouped, shortSeconds} from './dom.mjs';

export const NONE = 0xffffffff;

export const BY = {
	function: 0, module: 1, file: 2, line: 3, process: 4, pid: 5, thread: 6, category: 7, address: 8,
};
export const TREE = {plain: 0, inverted: 1, callers: 2, callees: 3};
// The texts of a filter, in the engine's order.
export const FILTER_TEXTS = ['process', 'thread', 'event', 'category', 'during', 'focus', 'ignore', 'hide', 'root', 'language'];
export const MARKS = {marker: 1, loss: 2, pause: 4};
export const WAITS = ['runs', 'idle', 'blocked', 'runnable'];

// Kinds of units.
export const MEASURE = {count: 0, bytes: 1, time: 2};

const TWO_32 = 0x100000000;

// Stubs for the system calls of the C library: there is no system, so they fail with ENOSYS.
function stubs(module) {
	const imports = {};
	for (const {module: from, name} of WebAssembly.Module.imports(module)) {
		imports[from] ??= {};
		imports[from][name] = name === 'proc_exit'
			? () => { throw new Error('the page needs more memory than this browser gives'); }
			: () => 52;
	}
	return imports;
}

export class Engine {
	constructor(instance) {
		this.api = instance.exports;
		this.decoder = new TextDecoder();
		this.encoder = new TextEncoder();
		this.keyNames = [];
	}

	static async start(bytes) {
		const module = await WebAssembly.compile(bytes);
		const instance = await WebAssembly.instantiate(module, stubs(module));
		instance.exports._initialize();
		return new Engine(instance);
	}

	// Memory moves when it grows: a view is good until the next call of the engine.
	get bytes() {
		return new Uint8Array(this.api.memory.buffer);
	}

	words(at, count) {
		return new Uint32Array(this.api.memory.buffer, at, count);
	}

	text(at) {
		const bytes = this.bytes;
		at >>>= 0;
		return at ? this.decoder.decode(bytes.subarray(at, bytes.indexOf(0, at))) : null;
	}

	check(result) {
		if (result)
			throw new Error(this.text(this.api.page_error()));
	}

	// Calls with a text in the engine's memory; null: none.
	withText(text, call) {
		if (text === null || text === undefined)
			return call(0);
		const bytes = this.encoder.encode(text + '\0');
		const at = this.api.page_alloc(bytes.length) >>> 0;
		this.bytes.set(bytes, at);
		const result = call(at);
		this.api.page_free(at);
		return result;
	}

	alloc(size) {
		return this.api.page_alloc(size) >>> 0;
	}

	// Reads a block of the profile that was put there, and frees it.
	read(at, size) {
		const result = this.api.page_read(at, size);
		this.api.page_free(at);
		this.check(result);
	}

	// Ends reading and selects everything.
	open() {
		this.check(this.api.page_open());
		this.select({});
		this.threads = [];
		for (let id = 0, count = this.api.page_thread_count(); id < count; id++)
			this.threads.push(this.thread(id));
		this.categories = [];
		for (let id = 0, count = this.api.page_category_count(); id < count; id++)
			this.categories.push({
				name: this.text(this.api.page_category(id)),
				color: this.text(this.api.page_category_color(id)),
				isLanguage: this.api.page_category_is_language(id) !== 0,
			});
	}

	// The names of events that have samples.
	events() {
		return Array.from({length: this.api.page_events()}, (_, i) => this.text(this.api.page_event_name(i)));
	}

	// Selects samples: filter has from and until in ns, threads as a set of ids, and texts.
	select(filter) {
		const {from = 0, until = Infinity, threads = null, noKernel = false, foldRecursion = false, includeIdle = false, own = false} = filter;
		FILTER_TEXTS.forEach((name, i) =>
			this.withText(filter[name] || null, (at) => this.api.page_filter_text(i, at)));
		this.api.page_filter_rest(from, until, noKernel, foldRecursion, includeIdle, own);
		const flags = this.api.page_filter_threads(threads ? 1 : 0) >>> 0;
		const bytes = this.bytes;
		for (let id = 0, count = this.api.page_thread_count(); id < count; id++)
			bytes[flags + id] = threads && threads.has(id) ? 1 : 0;
		this.check(this.api.page_select());
		const values = new Float64Array(this.api.memory.buffer, this.api.page_totals() >>> 0, 16);
		[this.weight, this.samples, this.cpu, this.noFrame, this.idle, this.blocked, this.runnable, this.interval,
			this.duration, this.event, this.named, this.started, this.measure, this.unitSize, this.cpus, this.hasTimes] = values;
		this.unit = this.text(this.api.page_unit());
		this.eventName = this.text(this.api.page_event_name(NONE));
	}

	// A weight in the unit of the event: "1.25 s", "25.4 MB", "4,476".
	amount(weight) {
		if (this.measure === MEASURE.time)
			return shortSeconds(weight * this.unitSize);
		return this.measure === MEASURE.bytes ? bytes(Math.round(weight * this.unitSize)) : grouped(weight);
	}

	get summary() {
		return this.text(this.api.page_summary());
	}

	errorOf(weight) {
		return this.api.page_weight_error(weight);
	}

	// Rows of a table, the heaviest first: typed arrays that stay.
	table(by) {
		const count = this.api.page_table(by) >>> 0, words = this.words(this.api.page_rows() >>> 0, count * 6);
		const rows = {by, count, key: new Uint32Array(count), line: new Uint32Array(count),
			self: new Float64Array(count), total: new Float64Array(count)};
		for (let i = 0, at = 0; i < count; i++, at += 6) {
			rows.key[i] = words[at];
			rows.line[i] = words[at + 1];
			rows.self[i] = words[at + 2] + words[at + 3] * TWO_32;
			rows.total[i] = words[at + 4] + words[at + 5] * TWO_32;
		}
		return rows;
	}

	// Nodes of a tree, those that weigh too little left out of the lists of children.
	tree(by, kind, {name = null, minShare = 0} = {}) {
		const root = this.withText(name, (at) => this.api.page_tree(by, kind, at, minShare)) >>> 0;
		const count = this.api.page_node_count() >>> 0, words = this.words(this.api.page_nodes() >>> 0, count * 10);
		const nodes = {by, kind, root, count, isCut: this.api.page_tree_is_cut() !== 0};
		const columns = ['key', 'parent', 'child', 'next', 'depth', 'stack'];
		columns.forEach((column, k) => {
			const values = nodes[column] = new Uint32Array(count);
			for (let i = 0, at = k; i < count; i++, at += 10)
				values[i] = words[at];
		});
		nodes.self = new Float64Array(count);
		nodes.total = new Float64Array(count);
		for (let i = 0, at = 6; i < count; i++, at += 10) {
			nodes.self[i] = words[at] + words[at + 1] * TWO_32;
			nodes.total[i] = words[at + 2] + words[at + 3] * TWO_32;
		}
		return nodes;
	}

	// Returns the properties of a key; cached, because they never change.
	key(by, id) {
		const known = this.keyNames[by] ??= new Map();
		if (known.has(id) && by !== BY.process)
			return known.get(id);
		const at = this.api.page_key(by, id) >>> 0;
		if (!at)
			return null;
		const words = this.words(at, 14);
		const [line, pid, incarnation, tid, processes, hasFrame, low, high] = words.slice(6);
		const texts = [...words.slice(0, 6)].map((text) => this.text(text));
		const key = {line, pid, incarnation, tid, processes, hasFrame: hasFrame !== 0,
			address: BigInt(low) + (BigInt(high) << 32n)};
		['function', 'module', 'file', 'category', 'process', 'thread'].forEach((name, i) => { key[name] = texts[i]; });
		known.set(id, key);
		return key;
	}

	// The function's name as filters need it.
	rawFunction(by, id) {
		return this.text(this.api.page_key_function(by, id));
	}

	// Returns the marks of a stack's innermost frame; the lowest byte is its category.
	marksOf(stack) {
		return this.api.page_frame_marks(stack) >>> 0;
	}

	// Category and marks of a stack's innermost frame.
	look(stack) {
		const marks = this.marksOf(stack);
		return {category: marks & 0xff, isGuessed: (marks & 0x100) !== 0, isUnnamed: (marks & 0x200) !== 0,
			isInlined: (marks & 0x400) !== 0};
	}

	// Returns marks by key, 1 for a matching name, and their weight. Throws on invalid expressions.
	search(by, expression) {
		const at = this.withText(expression, (text) => this.api.page_search(by, text)) >>> 0;
		if (!at)
			this.check(1);
		const weight = this.api.page_search_weight(by, at);
		return {marks: this.bytes.slice(at, at + (this.api.page_key_count(by) >>> 0)), weight};
	}

	thread(id) {
		const at = this.api.page_thread(id) >>> 0, words = this.words(at, 6);
		const [title, process, whole, pid, incarnation, tid] = words;
		const [start, end, weight] = new Float64Array(this.api.memory.buffer, at + 24, 3);
		return {id, title: this.text(title), process: this.text(process), whole: this.text(whole), pid, incarnation, tid, start, end, weight};
	}

	// Times of a thread in each part of a time: wait kinds, then categories. Marks are MARKS.
	timeline(thread, from, until, bins) {
		const at = this.api.page_timeline(thread, from, until, bins) >>> 0;
		const kinds = this.api.page_timeline_kinds() >>> 0;
		const marks = this.api.page_timeline_marks(thread, from, until, bins) >>> 0;
		return {kinds, marks: marks ? this.bytes.slice(marks, marks + bins) : new Uint8Array(bins), times: at ? new Float32Array(this.api.memory.buffer, at, bins * kinds).slice()
			: new Float32Array(bins * kinds)};
	}

	// All marks of a time.
	marksWithin(from, until) {
		return this.bytes[this.api.page_timeline_marks(NONE, from, until, 1) >>> 0];
	}

	// Counters that have values: memory of a process, load of the machine (pid 0).
	counters() {
		const list = [];
		for (let id = 0, count = this.api.page_counter_count(); id < count; id++) {
			const [name, unit, description, pid, isLevel, samples] = this.words(this.api.page_counter(id) >>> 0, 6);
			if (samples)
				list.push({id, name: this.text(name), unit: this.text(unit), description: this.text(description), pid, isLevel: isLevel !== 0});
		}
		return list;
	}

	counterValues(id, from, until, bins) {
		const at = this.api.page_counter_values(id, from, until, bins) >>> 0;
		return at ? new Float64Array(this.api.memory.buffer, at, bins).slice() : new Float64Array(bins);
	}

	// The weight of a thread in the selection.
	weightOf(thread) {
		return this.api.page_thread_weight(thread);
	}

	// The function of the user's own code that a thread runs; "": unknown, or `entries` is not made.
	entryOf(thread) {
		if (this.entries && !this.entries.has(thread))
			this.entries.set(thread, this.text(this.api.page_thread_entry(thread)).replace(/^main$/, ''));
		return this.entries?.get(thread) ?? '';
	}

	// The innermost function of the user's own code in a stack; "": none.
	ownFunction(stack) {
		return this.text(this.api.page_own_function(stack));
	}

	// The selected sample of a thread that is nearest to a time; null: none is near.
	sampleAt(thread, time) {
		const at = this.api.page_sample_at(thread, time) >>> 0;
		return at ? {stack: this.words(at, 1)[0], time: new Float64Array(this.api.memory.buffer, at + 8, 1)[0]} : null;
	}

	// Functions on the stack of a thread, from when to when.
	stackChart(thread, from, until, bins) {
		const count = this.api.page_stack_chart(thread, from, until, bins) >>> 0, words = this.words(this.api.page_spans() >>> 0, count * 8);
		const chart = {count, rows: 0, key: new Uint32Array(count), depth: new Uint32Array(count), stack: new Uint32Array(count), from: new Float64Array(count), until: new Float64Array(count)};
		for (let i = 0, at = 0; i < count; i++, at += 8) {
			[chart.key[i], chart.depth[i], chart.stack[i]] = words.subarray(at, at + 3);
			chart.from[i] = words[at + 4] + words[at + 5] * TWO_32;
			chart.until[i] = words[at + 6] + words[at + 7] * TWO_32;
			chart.rows = Math.max(chart.rows, chart.depth[i] + 1);
		}
		return chart;
	}

	// The shown frames of a stack, the innermost first, with the keys of their functions.
	frames(stack) {
		const count = this.api.page_stack(stack) >>> 0;
		return Array.from(this.words(this.api.page_frames() >>> 0, count), (id) => ({stack: id, key: this.api.page_stack_key(BY.function, id) >>> 0}));
	}

	// The number of markers in the selection; marker() has them until the next call.
	markers() {
		return this.api.page_markers() >>> 0;
	}

	// Returns the columns of all markers for charts: typed arrays, and names by number.
	markerColumns() {
		const count = this.markers(), at = this.api.page_marker_columns() >>> 0, words = this.words(at, count * 8), times = new Float64Array(this.api.memory.buffer, at, count * 4);
		const columns = {count, names: new Map(), thread: new Uint32Array(count), name: new Uint32Array(count), whole: new Uint32Array(count), start: new Float64Array(count), duration: new Float64Array(count)};
		for (let i = 0; i < count; i++) {
			[columns.thread[i], columns.name[i], columns.whole[i]] = words.subarray(8 * i, 8 * i + 3);
			[columns.start[i], columns.duration[i]] = times.subarray(4 * i + 2, 4 * i + 4);
		}
		for (const name of new Set(columns.name))
			columns.names.set(name, this.text(this.api.page_marker_name(name)));
		return columns;
	}

	marker(id) {
		const at = this.api.page_marker(id) >>> 0;
		if (!at)
			return null;
		const [name, fields, thread, cause, waker] = this.words(at, 5);
		const [start, duration] = new Float64Array(this.api.memory.buffer, at + 24, 2);
		return {name: this.text(name), fields: this.text(fields), thread: this.threads[thread], cause: cause === NONE ? null : cause, waker: this.threads[waker] ?? null, start, duration};
	}

	// Rows of the information panel.
	facts() {
		const rows = [];
		for (let id = 0, at; (at = this.api.page_fact(id, 0)) !== 0; id++)
			rows.push({section: this.text(at), label: this.text(this.api.page_fact(id, 1)),
				value: this.text(this.api.page_fact(id, 2)), format: this.text(this.api.page_fact(id, 3))});
		return rows;
	}

	meta() {
		const names = ['product', 'commandLine', 'os', 'distribution', 'abi', 'cpuName', 'importedFrom'];
		return Object.fromEntries(names.map((name, i) => [name, this.text(this.api.page_meta(i))]));
	}

	// Functions of machine code with that name, or that it is inlined into, with the weights of addresses.
	codeFunctions(name) {
		const count = this.withText(name, (at) => this.api.page_code_functions(at)) >>> 0, list = [];
		const wide = (low, high) => low + high * TWO_32, hex = (words, at) => `0x${(BigInt(words[at]) + (BigInt(words[at + 1]) << 32n)).toString(16)}`;
		for (let i = 0; i < count; i++) {
			const words = this.words(this.api.page_code_function(i) >>> 0, 10), places = [];
			const rows = this.words(words[3], words[4] * 8);
			for (let at = 0; at < rows.length; at += 8)
				places.push({address: wide(rows[at], rows[at + 1]), self: wide(rows[at + 2], rows[at + 3]), total: wide(rows[at + 4], rows[at + 5])});
			list.push({name: this.text(words[0]), module: this.text(words[1]), buildId: this.text(words[2]), start: hex(words, 6), size: hex(words, 8), places});
		}
		return list;
	}

	source(path) {
		return this.withText(path, (at) => this.text(this.api.page_source(at)));
	}
}
