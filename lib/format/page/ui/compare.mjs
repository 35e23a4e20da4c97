// SPDX-License-Identifier: MIT
// A page of two sides: the outcome of their comparison, as prof diff decides it, and its rows.
import {BY, NONE} from './engine.mjs';
import {baseName, bytes, csvWord, make, safeText} from './dom.mjs';
import {Grid} from './grid.mjs';
import {isDark} from './colors.mjs';

// Threads of the page: A, which is the base, and B.
const SIDES = [0, 1];

const signedText = (value, digits) => value === null ? '' : `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(digits)}`;
const isTime = ({data}) => !data.total?.event;
const amountOf = (row) => row.ms ?? row.amount;
// Returns a row's amount: ms, or bytes, ns or a count of another event.
export function amountText({data}, row) {
	const {estimate} = amountOf(row);
	if (data.total?.unit !== 'bytes')
		return signedText(estimate, isTime({data}) ? 2 : 0);
	return `${estimate < 0 ? '−' : '+'}${bytes(Math.abs(Math.round(estimate)))}`;
}
export const shareText = (share) => `${(100 * share).toFixed(1)} %`;

const nameOfRow = (row) => `${row.function}\0${row.in ?? ''}`;

export class Comparison {
	constructor(data) {
		Object.assign(this, {data, rows: data.rows ?? []});
		this.changes = new Map();
		// The kind of its rows: "function", "module", …
		this.by = this.rows.length ? Object.keys(this.rows[0])[0] : 'function';
		this.byName = new Map(this.by === 'function' ? this.rows.map((row) => [nameOfRow(row), row]) : []);
	}

	// The row of a function, by its name as it is; a place that one side alone has does not count.
	rowOf(engine, by, id) {
		const {module, file} = engine.key(by, id), name = engine.rawFunction(by, id);
		return this.byName.get(`${name}\0${module || baseName(file)}`) ?? this.byName.get(`${name}\0`);
	}

	// 1: the function takes more in B than in A, -1: less, 0: not shown to differ.
	change(engine, by, id) {
		let change = this.changes.get(id);
		if (change === undefined) {
			const row = this.rowOf(engine, by, id);
			change = row?.differs ? Math.sign(row.estimate) : 0;
			this.changes.set(id, change);
		}
		return change;
	}

	// The functions of a side with their shares, by row, in all that was compared.
	side(engine, side) {
		engine.select({threads: new Set([side]), event: engine.eventName, includeIdle: true});
		const all = engine.weight || 1, table = engine.table(BY.function), rows = new Map();
		table.key.forEach((key, i) => {
			const row = this.rowOf(engine, BY.function, key), known = rows.get(row);
			const self = (known?.self ?? 0) + table.self[i] / all, total = (known?.total ?? 0) + table.total[i] / all;
			rows.set(row, {key: known?.key ?? key, self, total, error: engine.errorOf(Math.round(total * all)) / all});
		});
		return rows;
	}

	// By row: that of the function on each side, where it has one.
	pairs(engine) {
		const sides = this.by === 'function' ? SIDES.map((side) => this.side(engine, side)) : [];
		return this.rows.map((row) => sides.map((rows) => rows.get(row)));
	}

	// Nodes of a tree of both sides: a node weighs the mean of its two shares, and has both.
	tree(app, by, kind, options) {
		const {engine, state} = app, sides = SIDES.map((side) => {
			engine.select({...state, threads: new Set(state.threads && !state.threads.has(side) ? [] : [side])});
			const {weight} = engine;
			return {weight, nodes: engine.tree(by, kind, options)};
		});
		engine.select(state);
		return merge(sides, engine.weight, by, kind);
	}
}

// Adds the trees by names of nodes: children are found by their keys.
function merge(sides, all, by, kind) {
	const rows = [], known = new Map();
	sides.forEach(({nodes, weight}, side) => {
		const place = new Uint32Array(nodes.count).fill(NONE), lists = [[nodes.root, NONE, 0]];
		while (lists.length) {
			const [first, parent, depth] = lists.pop();
			for (let at = first; at !== NONE; at = nodes.next[at]) {
				const name = `${parent} ${nodes.key[at]}`;
				let row = known.get(name);
				if (row === undefined) {
					row = rows.length;
					known.set(name, row);
					rows.push({key: nodes.key[at], parent, depth, stack: nodes.stack[at], total: [0, 0], self: [0, 0]});
				}
				place[at] = row;
				rows[row].total[side] += nodes.total[at] / (weight || 1);
				rows[row].self[side] += nodes.self[at] / (weight || 1);
				if (nodes.child[at] !== NONE)
					lists.push([nodes.child[at], row, depth + 1]);
			}
		}
	});
	return link(rows, sides, all, by, kind);
}

function link(rows, sides, all, by, kind) {
	// Parents before children, the heaviest first: the graph places them in that order.
	const shown = sides.filter(({weight}) => weight).length || 1, mean = ([a, b]) => (a + b) / shown * all;
	const order = rows.map((row, i) => i).sort((a, b) => rows[a].depth - rows[b].depth || mean(rows[b].total) - mean(rows[a].total));
	const count = rows.length, nodes = {by, kind, count, root: NONE, isCut: sides.some((side) => side.nodes.isCut), shares: order.map((i) => rows[i].total)};
	for (const name of ['key', 'parent', 'child', 'next', 'depth', 'stack'])
		nodes[name] = new Uint32Array(count).fill(NONE);
	nodes.self = new Float64Array(count);
	nodes.total = new Float64Array(count);
	const numbers = new Uint32Array(count), last = new Map();
	order.forEach((i, number) => { numbers[i] = number; });
	order.forEach((i, number) => {
		const row = rows[i], parent = row.parent === NONE ? NONE : numbers[row.parent];
		Object.entries({key: row.key, depth: row.depth, stack: row.stack, parent, self: mean(row.self), total: mean(row.total)})
			.forEach(([name, value]) => { nodes[name][number] = value; });
		if (last.has(parent))
			nodes.next[last.get(parent)] = number;
		else if (parent === NONE)
			nodes.root = number;
		else
			nodes.child[parent] = number;
		last.set(parent, number);
	});
	return nodes;
}

// Colour only where a difference is shown to be one.
export function changeColor(change) {
	const [light, dark] = change > 0 ? ['#f19a8e', '#8f3329'] : change < 0 ? ['#92b8f2', '#2c4f8f'] : ['#e4e7eb', '#343a43'];
	return isDark() ? dark : light;
}

export const changeMark = (change) => ['▼ ', '', '▲ '][change + 1];

export class CompareView {
	constructor(app) {
		this.app = app;
		const {comparison} = app, {rows} = comparison;
		const number = (title, width, hint, text) => ({title, width, hint, isNumber: true, fill: (cell, i) => cell.append(text(rows[i]))});
		this.grid = new Grid('Differences', [
			number('A', '6em', 'Share of the samples of A, itself', (row) => shareText(row.a)),
			number('B', '6em', 'Share of the samples of B, itself', (row) => shareText(row.b)),
			{title: 'Difference', width: '16em', isNumber: true, hint: 'of the shares, with the limits that it holds in: in colour where it is shown to be one',
				fill: (cell, i) => this.fillDifference(cell, rows[i])},
			number('P', '5.5em', 'Probability of so large a difference by chance, adjusted for the number of rows', (row) => row.p === null ? '' : row.p < 0.001 ? '<0.001' : row.p.toFixed(3)),
			number(isTime(comparison) ? 'ms a run' : 'amount', '8em', 'More or less of it in each run', (row) => amountText(comparison, row)),
			...(comparison.by === 'function' ? SIDES.map((side) => ({title: `Total ${'AB'[side]}`, width: '9.5em', isNumber: true,
				hint: 'Share with what it calls; ± half of the 95 % confidence interval of sampling', fill: (cell, i) => {
					const of = this.pairs[i][side];
					cell.append(shareText(of?.total ?? 0), make('small', {}, of?.error ? ` ±${(100 * of.error).toFixed(1)}` : ''));
				}})) : []),
			{title: comparison.by[0].toUpperCase() + comparison.by.slice(1), width: 'minmax(10em, 3fr)', fill: (cell, i) => {
				cell.append(make('span', {class: 'name'}, safeText(rows[i][comparison.by])));
				if (rows[i].mark)
					cell.append(make('small', {}, ` ${rows[i].mark}`));
			}},
			{title: 'In', width: 'minmax(5em, 1fr)', fill: (cell, i) => cell.append(safeText(rows[i].in))},
		], {choose: (i) => this.choose(i), enter: (i) => i !== null && app.callers('callers'), menu: (event) => this.openMenu(event)});
		const lines = (document.querySelector('#first pre')?.textContent ?? '').split('\n\n')[0].split('\n').filter((line) => line && line !== comparison.data.headline);
		this.element = make('section', {id: 'compare', 'aria-label': 'Comparison'},
			make('div', {class: 'verdict'}, make('h2', {}, comparison.data.headline ?? ''), ...lines.map((line) => make('div', {class: 'hint'}, line))), this.grid.element);
	}

	get pairs() {
		const {comparison, engine, state} = this.app;
		if (!this.found) {
			this.found = comparison.pairs(engine);
			engine.select(state);
		}
		return this.found;
	}

	fillDifference(cell, row) {
		const change = row.differs ? Math.sign(amountOf(row).estimate) : 0, limits = row.low === null || row.high === null ? ''
			: ` (${signedText(100 * row.low, 1)} … ${signedText(100 * row.high, 1)})`;
		const text = make('span', {class: change ? 'differs' : ''}, `${changeMark(change)}${signedText(100 * row.estimate, 1)}`);
		if (change)
			text.style.background = changeColor(change);
		cell.append(text, make('small', {}, limits));
	}

	// Actions work on the function of the row.
	choose(i) {
		const row = this.app.comparison.rows[i], key = this.pairs[i].find((of) => of)?.key;
		this.app.choose(key === undefined ? null : {by: BY.function, key});
		this.app.say(`${safeText(row[this.app.comparison.by])}: A ${shareText(row.a)}, B ${shareText(row.b)}, ${amountText(this.app.comparison, row)}${isTime(this.app.comparison) ? ' ms' : ''} a run, ` +
			(row.differs ? 'shown to differ' : 'not shown to differ'));
	}

	// Opens a menu of the function's callers and callees, on one side or both.
	openMenu(event) {
		const {app} = this, to = (part) => () => app.withName((name) => app.change({view: 'flame', flame: 'callers', callersOf: name, zoom: '', ...part}));
		if (app.chosen)
			app.menu.open(event.clientX, event.clientY, [['Its callers on both sides', 'Enter', to({threads: null})], ...SIDES.map((side) => [`Its callers in ${app.engine.threads[side].whole}`, '', to({threads: new Set([side])})]),
				['Its callees on both sides', 'C', () => app.callers('callees')], null, ['More …', '', () => app.openMenu(event)]]);
	}

	draw() {
		this.grid.show({count: this.app.comparison.rows.length, row: (i) => i,
			isFound: this.app.state.search ? (i) => this.isFound(i) : null, none: 'No row has enough samples to be compared.'},
		{at: this.grid.at, top: this.grid.element.scrollTop});
	}

	isFound(i) {
		const {rows, by} = this.app.comparison, name = rows[i][by] ?? '';
		try {
			return new RegExp(this.app.state.search).test(name);
		} catch {
			return name.includes(this.app.state.search);
		}
	}

	text() {
		const {rows, by} = this.app.comparison;
		return [`a,b,difference,low,high,p,differs,total_a,total_b,${isTime(this.app.comparison) ? 'ms' : 'amount'},${by},in`, ...rows.map((row, i) => [row.a, row.b, row.estimate, row.low, row.high, row.p,
			row.differs, ...SIDES.map((side) => this.pairs[i][side]?.total ?? ''), amountOf(row).estimate, csvWord(row[by]), csvWord(row.in)].join(','))].join('\n');
	}

	nextFound(step) {
		this.grid.nextFound(step);
	}
}
