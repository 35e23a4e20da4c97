// SPDX-License-Identifier: MIT
// Functions, both trees and lines as tables: each share has the error of its estimate beside it.
import {BY, NONE, TREE} from './engine.mjs';
import {csvWord, functionName, make, percent, place} from './dom.mjs';
import {Grid} from './grid.mjs';
import {INVERTED_SHARE, nodeOf} from './flame.mjs';
import {Source} from './source.mjs';
import {categoryColor} from './colors.mjs';

// A share with a bar, and how far it may be off.
function fillShare(app, cell, weight) {
	const {engine} = app, error = engine.errorOf(weight), bar = make('i', {class: 'share'});
	bar.style.width = `${100 * weight / (engine.weight || 1)}%`;
	cell.classList.add('shares');
	cell.append(bar, make('span', {class: 'amount'}, weight ? engine.amount(weight) : ''), make('span', {}, percent(weight, engine.weight)),
		make('small', {}, error ? `±${(100 * error / (engine.weight || 1)).toFixed(1)}` : ''));
}

const selfColumn = (app, weightOf) => ({title: 'Self', width: '13.4em', isNumber: true, sorts: 'self',
	hint: 'Samples taken in it; ± half of the 95 % confidence interval', fill: (cell, row) => fillShare(app, cell, weightOf(row).self)});
const totalColumn = (app, weightOf) => ({title: 'Total', width: '13.4em', isNumber: true, sorts: 'total',
	hint: 'Samples with it in the stack', fill: (cell, row) => fillShare(app, cell, weightOf(row).total)});

// Kinds of rows that are functions, or parts of them.
const hasFunction = (by) => [BY.function, BY.line, BY.address].includes(by);

export function nameOf(by, key) {
	switch (by) {
	case BY.module: return key.module;
	case BY.file: return key.file || key.module;
	case BY.process: return key.processes > 1 ? `${key.process} (${key.processes} processes)` : key.process;
	case BY.pid: return `${key.process} ${key.pid}${key.incarnation ? `.${key.incarnation}` : ''}`;
	case BY.thread: return `${key.thread} ${key.tid}, ${key.process}`;
	case BY.category: return key.category;
	case BY.address: return `${functionName(key)} 0x${key.address.toString(16)}`;
	default: return functionName(key);
	}
}

function fillFunction(app, cell, key, stack, by = BY.function) {
	const how = stack === undefined ? null : app.engine.look(stack);
	const square = make('i', {class: 'square', 'aria-hidden': 'true'});
	if (how) {
		square.style.background = categoryColor(app.engine.categories[how.category]?.color);
		cell.append(square);
	}
	const name = make('span', {class: `name${how?.isUnnamed ? ' unnamed' : ''}${how?.isGuessed ? ' guessed' : ''}`}, (nameOf(by, key) || '(unknown)').slice(0, 500));
	cell.append(name);
	if (how?.isInlined)
		cell.append(make('small', {}, ' inlined'));
	if (how?.isGuessed)
		cell.append(make('small', {title: 'Found by looking for return addresses: it may not be a caller'}, ' guessed'));
}

// Adds where a row's code is. If there is little room, the line is kept.
function fillPlace(cell, key) {
	const text = place(key), line = key.file && key.line ? `:${key.line}` : '';
	cell.classList.add('place');
	cell.append(...[text.slice(0, text.length - line.length), line, key.module && `${text && ' · '}${key.module}`].map((part) => make('span', {}, part || '')));
}

const where = (key) => [place(key), key.module].filter(Boolean).join(' · ');

export class TableView {
	constructor(app, by) {
		Object.assign(this, {app, by});
		const keyOf = (i) => ({...app.engine.key(this.by, this.rows.key[i]), line: this.rows.line[i]});
		const weightOf = (i) => ({self: this.rows.self[i], total: this.rows.total[i]});
		this.grid = new Grid(by === BY.line ? 'Lines' : 'Functions', [
			selfColumn(app, weightOf), totalColumn(app, weightOf),
			{title: 'Name', width: 'minmax(10em, 3fr)', fill: (cell, i) => fillFunction(app, cell, keyOf(i), undefined, this.by)},
			{title: 'Where', width: 'minmax(6em, 2fr)', fill: (cell, i) => {
				const key = keyOf(i);
				if (hasFunction(this.by))
					fillPlace(cell, key);
				else
					cell.append(this.by === BY.file ? key.module : '');
				cell.title = key.file ? `${key.file}:${key.line}` : key.module;
			}},
		], {
			sort: (column) => app.change({order: column ? 'total' : 'self'}, {isView: true}),
			choose: (i) => { app.choose(hasFunction(this.by) ? {by: this.by, key: this.rows.key[i]} : null); this.describe(i); },
			enter: (i) => i !== null && (hasFunction(this.by) ? app.showLines() : this.only(i)),
			menu: (event) => hasFunction(this.by) && app.openMenu(event),
		});
		this.kinds = make('select', {'aria-label': 'Rows', change: () => app.change({by: this.kinds.value}, {isView: true})},
			...Object.keys(BY).map((kind) => make('option', {value: kind}, `by ${kind}`)));
		this.element = make('section', {id: by === BY.line ? 'lines' : 'functions'}, make('div', {class: 'bar'}, this.kinds), this.grid.element);
	}

	// Selects what a row stands for.
	only(i) {
		const key = this.app.engine.key(this.by, this.rows.key[i]);
		const part = {[BY.process]: {process: key.process}, [BY.pid]: {process: String(key.pid)}, [BY.thread]: {thread: String(key.tid)}, [BY.category]: {category: key.category}}[this.by];
		if (part)
			this.app.change(part);
	}

	kindOf({by}) {
		return BY[by] ?? BY.function;
	}

	describe(i) {
		this.app.describeKey(this.by, this.rows.key[i], this.rows.self[i], this.rows.total[i], this.rows.line[i]);
	}

	// Returns whether a row is shown: all are, or those of one function.
	isShown() {
		return true;
	}

	draw() {
		const {app, grid} = this, by = this.by = this.kindOf(app.state), {order, lines} = app.state, key = [app.version, by, order, lines].join('\n'), isKept = this.key === key;
		this.key = key;
		this.kinds.value = app.state.by;
		if (this.version !== `${app.version} ${by}`) {
			this.version = `${app.version} ${by}`;
			this.rows = app.table(by);
		}
		const rows = this.rows, list = [];
		for (let i = 0; i < rows.count; i++) {
			if (this.isShown(i))
				list.push(i);
		}
		if (app.state.order === 'total')
			list.sort((a, b) => rows.total[b] - rows.total[a] || a - b);
		const found = app.chosen?.by === by ? list.findIndex((i) => rows.key[i] === app.chosen.key) : -1;
		grid.show({count: list.length, row: (i) => list[i],
			isFound: app.marks && hasFunction(by) ? (i) => app.isFound(by, rows.key[i]) : null, none: 'No sample is selected.'}, isKept ? {at: grid.at, top: grid.element.scrollTop} : {at: grid.isSeen(found) ? found : 0});
		// In other rows, or another order, the marked row is the chosen one, too.
		if (!isKept && app.drawnView === app.state.view && list.length)
			grid.choose(grid.row);
	}

	// Goes to the function that ran.
	reveal([leaf]) {
		const {source} = this.grid;
		for (let i = 0; i < source.count && this.by === BY.function; i++) {
			if (this.rows.key[source.row(i)] === leaf.key)
				this.grid.move(i);
		}
	}

	text() {
		const {engine} = this.app, lines = ['self,total,self_error,total_error,function,module,file,line'];
		const {source} = this.grid;
		for (let i = 0; i < source.count; i++) {
			const at = source.row(i), key = engine.key(this.by, this.rows.key[at]), {self, total} = {self: this.rows.self[at], total: this.rows.total[at]};
			lines.push([self, total, engine.errorOf(self).toFixed(1), engine.errorOf(total).toFixed(1), csvWord(key.function),
				csvWord(key.module), csvWord(key.file), this.rows.line[at] || ''].join(','));
		}
		return lines.join('\n');
	}

	nextFound(step) {
		this.grid.nextFound(step);
	}
}

export class TreeView {
	constructor(app, kind) {
		// Lighter nodes are left out, until they are asked for.
		Object.assign(this, {app, kind, share: kind === 'plain' ? 0.0001 : INVERTED_SHARE});
		this.lighter = make('button', {type: 'button', click: () => { this.share /= 10; this.version = 0; this.draw(); }});
		const weightOf = (at) => ({self: this.nodes.self[at], total: this.nodes.total[at]});
		const keyOf = (at) => app.engine.key(BY.function, this.nodes.key[at]);
		this.grid = new Grid(kind === 'plain' ? 'Call tree' : 'Inverted call tree', [
			totalColumn(app, weightOf), selfColumn(app, weightOf),
			{title: 'Function', width: 'minmax(14em, 3fr)', isTree: true, fill: (cell, at) => fillFunction(app, cell, keyOf(at), this.nodes.stack[at])},
			{title: 'Where', width: 'minmax(5em, 1fr)', fill: (cell, at) => {
				cell.append(where(keyOf(at)));
				cell.title = keyOf(at).file || keyOf(at).module;
			}},
		], {isTree: true, choose: (at) => { app.choose({by: BY.function, key: this.nodes.key[at], stack: this.nodes.stack[at]}); app.describe(this.nodes, at); this.showSource(); },
			enter: () => app.showLines(), menu: (event) => app.openMenu(event)});
		this.source = new Source(app);
		this.sourceSwitch = make('button', {type: 'button', hidden: !Source.isThere(app.engine), click: () => app.change({source: !app.state.source}, {isView: true})}, 'source beside');
		this.element = make('section', {id: kind === 'plain' ? 'tree' : 'inverted'}, make('div', {class: 'beside'}, this.grid.element, this.source.element),
			make('div', {class: 'under'}, this.lighter, this.sourceSwitch));
	}

	draw() {
		const {app, grid} = this, {engine} = app, isKept = this.version === app.version;
		if (!isKept) {
			this.version = app.version;
			this.lighter.textContent = `from ${Number((100 * this.share).toPrecision(2))} % on; show lighter ones, too`;
			this.lighter.hidden = engine.weight * this.share <= 1;
			this.nodes = engine.tree(BY.function, TREE[this.kind], {minShare: this.share});
			this.open = new Set();
			this.openHeaviest();
			this.list();
		}
		const {nodes} = this;
		this.grid.show({
			get count() { return this.list.length; }, list: this.visible, row: (i) => this.visible[i],
			depth: (at) => nodes.depth[at], isOpen: (at) => this.open.has(at), hasChildren: (at) => nodes.child[at] !== NONE,
			toggle: (at, i) => this.toggle(at, i),
			isFound: app.marks ? (at) => app.isFound(BY.function, nodes.key[at]) : null,
			none: engine.weight ? 'Nothing is as heavy as that.' : 'No sample is selected.',
		}, isKept ? {at: grid.at, top: grid.element.scrollTop} : {});
		this.showSource();
	}

	// The source of the function, at the line that has most of it in the selection.
	showSource() {
		const {app, grid: {row}} = this, isShown = app.state.source && !this.sourceSwitch.hidden;
		this.source.element.hidden = !isShown;
		this.sourceSwitch.setAttribute('aria-pressed', String(isShown));
		if (!isShown)
			return;
		// The heaviest come first.
		if (this.linesOf !== app.table(BY.line))
			Object.assign(this, {linesOf: app.table(BY.line), lines: new Map([...app.table(BY.line).key].reverse().map((key) => [app.engine.rawFunction(BY.line, key), key]))});
		const line = row === null ? undefined : this.lines.get(app.engine.rawFunction(BY.function, this.nodes.key[row]));
		this.source.show(line === undefined ? null : app.engine.key(BY.line, line));
	}

	// The path that a reader would open first: as long as one child has nearly all.
	openHeaviest() {
		const {nodes} = this;
		for (let at = nodes.root, i = 0; this.kind === 'plain' && at !== NONE && i < 40; at = nodes.child[at], i++) {
			this.open.add(at);
			if (nodes.child[at] !== NONE && nodes.total[nodes.child[at]] < nodes.total[at] * 0.6)
				return;
		}
	}

	// Opens the way to a stack.
	reveal(frames) {
		const {nodes} = this, at = nodeOf(nodes, this.kind === 'plain' ? [...frames].reverse() : frames);
		if (at === NONE)
			return;
		for (let up = nodes.parent[at]; up !== NONE; up = nodes.parent[up])
			this.open.add(up);
		this.list();
		this.draw();
		this.grid.move(this.visible.indexOf(at));
	}

	addList(into, first) {
		const stack = [first];
		while (stack.length) {
			const at = stack.pop();
			if (at === NONE)
				continue;
			into.push(at);
			stack.push(this.nodes.next[at]);
			if (this.open.has(at))
				stack.push(this.nodes.child[at]);
		}
	}

	list() {
		this.visible = [];
		this.addList(this.visible, this.nodes.root);
	}

	toggle(at) {
		if (this.open.has(at))
			this.open.delete(at);
		else
			this.open.add(at);
		const list = [];
		this.addList(list, this.nodes.root);
		this.visible.length = 0;
		for (const row of list)
			this.visible.push(row);
	}

	// Opens everything below the row, as far as it can be read.
	openAll() {
		const {nodes} = this, from = this.grid.row;
		let count = 0;
		for (const stack = from === null ? [] : [nodes.child[from]]; stack.length && count < 5000; count++) {
			const at = stack.pop();
			if (at === NONE)
				continue;
			this.open.add(at);
			stack.push(nodes.next[at], nodes.child[at]);
		}
		if (from !== null && !this.open.has(from))
			this.toggle(from);
		else
			this.list();
		this.draw();
	}

	text() {
		const {engine} = this.app;
		return this.visible.map((at) => `${'  '.repeat(this.nodes.depth[at])}${functionName(engine.key(BY.function, this.nodes.key[at]))} ` +
			`${engine.amount(this.nodes.total[at])} ${percent(this.nodes.total[at], engine.weight)} (self ${engine.amount(this.nodes.self[at])} ${percent(this.nodes.self[at], engine.weight)})`).join('\n');
	}

	nextFound(step) {
		this.grid.nextFound(step);
	}
}
