// SPDX-License-Identifier: MIT
// Compares what the engine of pages says with what prof report says of the same profile.
//     node equal.mjs PROF [ROUNDS] PROFILE...    its tests are built beside PROF
// Prints a line for each difference, and how many rows were compared.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { BY, NONE, TREE } from '../../lib/format/page/ui/engine.mjs';
import { openPage } from './page_file.mjs';

const [prof, first, ...others] = process.argv.slice(2);
// Random filters of each profile.
const rounds = /^[0-9]+$/.test(first) ? Number(first) : 0;
const profiles = rounds ? others : [first, ...others];
const folder = mkdtempSync(join(tmpdir(), 'prof-page-'));
let compared = 0, different = 0;

function run(...words) {
	return execFileSync(prof, words, {encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe']});
}

// From the milliseconds of --critical-path to the weights of its event, whose rows are other samples.
function scale(rows) {
	for (const row of rows) {
		for (const name of ['self', 'total'])
			row[name] = rounded(row[name] * 1000);
		delete row.self_error;
		delete row.total_error;
		scale(row.children ?? []);
	}
}

// One program that answers all questions.
const answers = spawn(join(dirname(prof), 'tests/page/answers'), {stdio: ['pipe', 'pipe', 'inherit']});
const parts = answers.stdout[Symbol.asyncIterator]();
let rest = Buffer.alloc(0);

async function take(size) {
	while (rest.length < size) {
		const {value, done} = await parts.next();
		if (done)
			throw new Error('prof report has ended');
		rest = Buffer.concat([rest, value]);
	}
	const bytes = rest.subarray(0, size);
	rest = rest.subarray(size);
	return bytes.toString();
}

async function ask(words) {
	let head = '';
	answers.stdin.write(`${words.join('\t')}\n`);
	while (!head.endsWith('\n'))
		head += await take(1);
	const [status, size, more] = head.split(' ').map(Number), output = await take(size);
	return {status, output, messages: await take(more)};
}

// Null where nothing is selected: there is nothing to compare.
async function report(...words) {
	const {status, output, messages} = await ask(['--format', 'json', '--limit', '0', ...words]);
	if (/no matching samples|no such event/.test(messages))
		return null;
	if (status)
		throw new Error(messages);
	const said = JSON.parse(output);
	if (words.includes('--critical-path'))
		scale(said.rows ?? said.tree);
	return said;
}

function say(what, wanted, got) {
	if (different++ < 20)
		console.log(`${what}: report ${JSON.stringify(wanted)}, page ${JSON.stringify(got)}`);
}

const rounded = (value) => Number(value.toPrecision(10));
const orNull = (text) => text === '' ? null : text;

// A row as prof report has it; the fields that it does not have are not compared.
function rowOf(engine, by, key, line, self, total) {
	const k = engine.key(by, key);
	const thread = engine.threads.find((row) => row.pid === k.pid && row.incarnation === k.incarnation && (by === BY.pid || row.tid === k.tid));
	return {
		thread_title: thread?.title, process_title: thread?.process,
		function: orNull(k.function), module: orNull(k.module), file: orNull(k.file), line: line || null,
		process: orNull(k.process), processes: k.processes, thread: orNull(k.thread), tid: k.tid,
		pid: k.incarnation ? `${k.pid}.${k.incarnation}` : `${k.pid}`, category: orNull(k.category),
		address: k.function === '' || (k.module === '' && !k.address) ? null : `0x${k.address.toString(16)}`,
		self, total, self_error: rounded(engine.errorOf(self)), total_error: rounded(engine.errorOf(total)),
	};
}

// Names are shown without control characters, which prof report escapes.
function shown(text) {
	// eslint-disable-next-line no-control-regex
	return typeof text === 'string' ? text.replace(/[^\x20-\x7e]/gu, '?') : text;
}

function compare(what, wanted, got) {
	compared++;
	for (const [name, value] of Object.entries(wanted)) {
		if (name !== 'children' && name !== 'start_line' && shown(value) !== shown(got[name])) {
			say(`${what}, ${name}`, value, got[name]);
			return;
		}
	}
}

function compareTable(engine, what, by, wanted) {
	const rows = engine.table(BY[by]);
	if (rows.count !== wanted.rows.length)
		say(`${what}: rows`, wanted.rows.length, rows.count);
	wanted.rows.forEach((row, i) => {
		if (i < rows.count)
			compare(`${what} ${i}`, row, rowOf(engine, rows.by, rows.key[i], rows.line[i], rows.self[i], rows.total[i]));
	});
}

function compareNodes(engine, what, tree, at, wanted) {
	for (const node of wanted) {
		if (at === NONE) {
			say(`${what}: children`, wanted.length, 'fewer');
			return;
		}
		compare(what, node, rowOf(engine, tree.by, tree.key[at], engine.key(tree.by, tree.key[at]).line, tree.self[at],
			tree.total[at]));
		compareNodes(engine, what, tree, tree.child[at], node.children ?? []);
		at = tree.next[at];
	}
	if (at !== NONE)
		say(`${what}: children`, wanted.length, 'more');
}

const minShare = 0.005;

function compareTree(engine, what, kind, name, wanted) {
	const tree = engine.tree(BY.function, TREE[kind], {name, minShare});
	compareNodes(engine, what, tree, tree.root, wanted.tree);
}

function compareMarkers(engine, what, wanted) {
	const count = engine.markers();
	if (count !== wanted.length)
		say(`${what}: markers`, wanted.length, count);
	// The page has titles only.
	wanted.forEach(({thread: _, process: __, ...row}, i) => {
		const marker = i < count ? engine.marker(i) : null, thread = marker?.thread;
		if (marker)
			compare(`${what} marker ${i}`, row, {start: rounded(marker.start / 1e9), duration: rounded(marker.duration / 1e9), marker: marker.name,
				thread_title: thread.title, tid: thread.tid, process_title: thread.process,
				pid: thread.incarnation ? `${thread.pid}.${thread.incarnation}` : `${thread.pid}`, fields: orNull(marker.fields)});
	});
}

// Numbers that look random, the same in each run.
function makeRandom(seed) {
	let state = seed;
	return (below) => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return Math.floor(state / 0x100000000 * below);
	};
}

// Some conditions, as words of prof report and as a filter of the page.
function someFilter(random, engine) {
	const words = [], filter = {}, letters = ['a', 'e', '^[a-m]', 'main|work', '\\<s', '_$', 'r.*t', '[[:digit:]]'];
	const seconds = engine.duration / 1e9;
	const add = (name, value, member = name) => { words.push(`--${name}`, value); filter[member] = value; };
	for (const name of ['focus', 'ignore', 'hide']) {
		if (!random(3))
			add(name, letters[random(letters.length)]);
	}
	if (!random(3)) {
		words.push('--include-idle');
		filter.includeIdle = true;
	}
	if (!random(4)) {
		words.push('--no-kernel');
		filter.noKernel = true;
	}
	if (!random(4)) {
		words.push('--own');
		filter.own = true;
	}
	if (!random(4)) {
		words.push('--fold-recursion');
		filter.foldRecursion = true;
	}
	if (!random(5))
		add('category', ['Kernel*', 'User', 'Idle*', '*: Other', 'Python*'][random(5)]);
	if (!random(3) && seconds > 0.001) {
		const from = (random(1000) / 1000 * seconds * 0.6).toFixed(6), until = (Number(from) + seconds * 0.3).toFixed(6);
		words.push('--time', `${from}..${until}`);
		Object.assign(filter, {from: Math.round(from * 1e9), until: Math.round(until * 1e9)});
	}
	if (!random(4))
		add('language', ['native', 'python', 'javascript', 'java'][random(4)]);
	const thread = engine.thread(random(engine.threads.length || 1));
	if (!random(4) && thread && /^\w+$/.test(thread.process))
		add('process', thread.process);
	return {words, filter};
}

// The timeline has the weights of each thread; that of the clock has times.
function compareLanes(engine, what, {rows}) {
	for (const row of engine.event ? rows : []) {
		const lanes = engine.threads.filter(({tid, pid, incarnation}) => tid === row.tid && row.pid === (incarnation ? `${pid}.${incarnation}` : `${pid}`));
		const sum = lanes.flatMap(({id}) => [...engine.timeline(id, 0, engine.duration + 1, 50).times]).reduce((a, b) => a + b, 0);
		compared++;
		if (Math.abs(sum - row.self) > 1e-5 * row.self)
			say(`${what}: lane of ${row.thread}`, row.self, sum);
	}
}

const trees = [
	['plain', ['--tree']], ['inverted', ['--tree', '--inverted']],
];

async function compareAll(engine, name, path, words, filter) {
	let heaviest = null;
	const what = `${name} ${words.join(' ')}`;
	for (const by of Object.keys(BY)) {
		const wanted = await report('--by', by, '--min', '0', ...words, path);
		if (!wanted)
			return;
		engine.select(filter);
		if (wanted.summary.weight !== engine.weight || wanted.summary.samples !== engine.samples)
			say(`${what}: weight`, wanted.summary.weight, engine.weight);
		compareTable(engine, `${what} by ${by}`, by, wanted);
		if (by === 'thread' && Object.keys(filter).join() === 'event')
			compareLanes(engine, what, wanted);
		heaviest ??= wanted.rows.find((row) => row.total > minShare * engine.weight && row.function && /^[\w.]+$/.test(row.function))?.function;
	}
	if (Object.keys(filter).every((member) => ['from', 'until', 'process', 'threads'].includes(member)))
		compareMarkers(engine, what, (await report('--markers', ...words, path))?.markers ?? []);
	for (const [kind, options] of trees) {
		const wanted = await report(...options, '--min', `${minShare * 100}`, ...words, path);
		compareTree(engine, `${what} ${kind}`, kind, null, wanted);
	}
	for (const kind of heaviest ? ['callers', 'callees'] : []) {
		const wanted = await report(`--${kind}`, heaviest, '--min', `${minShare * 100}`, ...words, path);
		compareTree(engine, `${what} ${kind} of ${heaviest}`, kind, heaviest, wanted);
	}
}

for (const path of profiles) {
	const name = basename(path), page = join(folder, 'page.html');
	run('convert', path, '-o', page);
	const engine = await openPage(page), main = engine.thread(0);
	const seconds = engine.duration / 1e9, a = 0.2 * seconds, b = 0.7 * seconds;
	await compareAll(engine, name, path, [], {});
	await compareAll(engine, name, path, ['--include-idle'], {includeIdle: true});
	// Only the page has the critical path as an event beside others.
	for (const event of engine.events()) {
		if (event === 'critical path')
			await compareAll(engine, name, path, ['--critical-path'], {event, includeIdle: true});
		else
			await compareAll(engine, name, path, ['--event', event], {event});
	}
	await compareAll(engine, name, path, ['--category', 'Idle*'], {category: 'Idle*'});
	await compareAll(engine, name, path, ['--no-kernel'], {noKernel: true});
	await compareAll(engine, name, path, ['--own'], {own: true});
	for (const language of ['native', ...engine.categories.filter((row) => row.isLanguage).map((row) => row.name.replace('.', '').toLowerCase())])
		await compareAll(engine, name, path, ['--language', language], {language});
	if (seconds)
		await compareAll(engine, name, path, ['--time', `${a.toFixed(6)}..${b.toFixed(6)}`],
			{from: Math.round(Number(a.toFixed(6)) * 1e9), until: Math.round(Number(b.toFixed(6)) * 1e9)});
	await compareAll(engine, name, path, ['--hide', '^[a-m]', '--include-idle'], {hide: '^[a-m]', includeIdle: true});
	await compareAll(engine, name, path, ['--focus', 'e', '--ignore', 'q'], {focus: 'e', ignore: 'q'});
	await compareAll(engine, name, path, ['--category', 'User*'], {category: 'User*'});
	if (main) {
		const same = engine.threads.filter((thread) => thread.tid === main.tid || thread.title === String(main.tid));
		await compareAll(engine, name, path, ['--thread', String(main.tid)], {threads: new Set(same.map((thread) => thread.id))});
	}
	const random = makeRandom(name.length * 7919 + engine.weight);
	for (let i = 0; i < rounds; i++) {
		const {words, filter} = someFilter(random, engine);
		await compareAll(engine, name, path, words, filter);
	}
	rmSync(page);
}
answers.stdin.end();
rmSync(folder, {recursive: true});
console.log(`${compared} rows compared, ${different} different`);
process.exitCode = different || !compared ? 1 : 0;
