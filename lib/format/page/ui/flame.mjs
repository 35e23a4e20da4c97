// SPDX-License-Identifier: MIT
// The flame graph: the root above, the heaviest first. A click zooms.
import {BY, NONE, TREE} from './engine.mjs';
import {fitCanvas, fitText, functionName, make, percent, place} from './dom.mjs';
import {categoryColor, textOn, themeColor} from './colors.mjs';
import {changeColor, changeMark} from './compare.mjs';
import {LETTERS} from './grid.mjs';
import {SvgContext} from './svg.mjs';

const FLAME_ROW = 20, PIXELS_MIN = 0.4, TEXT_MIN = 28;
// Trees from the leaf outwards may have the square of the samples.
export const INVERTED_SHARE = 0.0005;

// The deepest node on the way of these frames, from the root on.
export function nodeOf(nodes, frames) {
	let found = NONE;
	for (const {key} of frames) {
		let at = found === NONE ? nodes.root : nodes.child[found];
		while (at !== NONE && nodes.key[at] !== key)
			at = nodes.next[at];
		if (at === NONE)
			break;
		found = at;
	}
	return found;
}

export class Flame {
	constructor(app) {
		this.app = app;
		this.canvas = make('canvas', {role: 'img', tabindex: 0, 'aria-label': 'Flame graph',
			click: (event) => this.click(event), dblclick: () => this.app.showLines(),
			pointermove: (event) => this.hover(event), pointerleave: () => this.leave(),
			keydown: (event) => this.key(event)});
		this.scroller = make('div', {class: 'scroller', tabindex: -1}, this.canvas);
		this.kinds = make('div', {class: 'kinds', role: 'group', 'aria-label': 'Direction'},
			...[['plain', 'From the outermost function'], ['inverted', 'From the function that ran']].map(([kind, title]) =>
				make('button', {type: 'button', 'data-kind': kind, title,
					click: () => app.change({flame: kind, callersOf: null, zoom: ''}, {isView: true})},
				kind === 'plain' ? 'Callees below' : 'Callers below')));
		this.legend = make('span', {class: 'legend'});
		this.element = make('section', {id: 'flame', 'aria-label': 'Flame graph'},
			make('div', {class: 'bar'}, this.kinds, this.legend), this.scroller);
		this.selected = this.zoomed = NONE;
		app.menuOf(this.canvas, (event) => { const at = this.nodeAt(event); this.select(at); this.draw(); return at !== NONE; });
	}

	// The tree of the present selection, made when it is first drawn.
	get tree() {
		const {state, engine} = this.app, kind = state.callersOf ? state.flame : state.flame === 'inverted' ? 'inverted' : 'plain';
		// Nodes narrower than half a pixel are not requested until a zoom widens them.
		if (state.zoom)
			this.fineVersion = this.app.version;
		const isCoarse = kind === 'plain' && this.fineVersion !== this.app.version && !this.app.comparison;
		const key = `${this.app.version} ${kind} ${state.callersOf} ${isCoarse}`, chosen = this.selected === NONE || kind !== 'plain' ? '' : String(state.at);
		if (this.treeKey === key)
			return this.nodes;
		this.treeKey = key;
		const outwards = kind === 'inverted' || kind === 'callers';
		const options = {name: state.callersOf, minShare: outwards ? INVERTED_SHARE : PIXELS_MIN / (isCoarse ? Math.max(320, this.scroller.clientWidth) : 4000)};
		this.nodes = this.app.comparison ? this.app.comparison.tree(this.app, BY.function, TREE[kind], options)
			: engine.tree(BY.function, TREE[kind], options);
		this.layOut(engine);
		this.selected = this.nodeOn(chosen);
		return this.nodes;
	}

	// A node in links: its stack or, in trees that begin elsewhere, the keys from the root on.
	wayTo(at) {
		const {nodes} = this, keys = [];
		if (at === NONE || nodes.kind === TREE.plain)
			return at === NONE ? '' : String(nodes.stack[at]);
		for (; at !== NONE; at = nodes.parent[at])
			keys.unshift(nodes.key[at]);
		return `.${keys.join('.')}`;
	}

	nodeOn(way) {
		const {nodes} = this, isStack = !way.startsWith('.');
		if (!way || isStack !== (nodes.kind === TREE.plain))
			return NONE;
		const frames = isStack ? this.app.engine.frames(Number(way)).reverse() : way.slice(1).split('.').map((key) => ({key: Number(key)})), at = nodeOf(nodes, frames);
		return at !== NONE && nodes.depth[at] + 1 === frames.length ? at : NONE;
	}

	// Computes the start of each node, in weight: siblings lie side by side below their parent.
	layOut(engine) {
		const nodes = this.nodes, lefts = this.lefts = new Float64Array(nodes.count);
		this.isDrawn = new Uint8Array(nodes.count);
		this.all = 0;
		this.rows = 1;
		const place = (at, left) => {
			for (; at !== NONE; at = nodes.next[at]) {
				lefts[at] = left;
				left += nodes.total[at];
				this.isDrawn[at] = 1;
				this.rows = Math.max(this.rows, nodes.depth[at] + 2);
			}
			return left;
		};
		// Children have higher numbers than their parents.
		this.all = place(nodes.root, 0);
		for (let at = 0; at < nodes.count; at++) {
			if (this.isDrawn[at])
				place(nodes.child[at], lefts[at]);
		}
		// The full width is the weight of the selection, including nodes too light to be drawn.
		this.all = this.app.state.callersOf ? this.all : Math.max(this.all, engine.weight);
	}

	get span() {
		return this.zoomed === NONE ? [0, this.all || 1] : [this.lefts[this.zoomed], this.nodes.total[this.zoomed]];
	}

	draw() {
		const nodes = this.tree, {engine, state} = this.app;
		this.zoomed = this.nodeOn(state.zoom);
		for (const button of this.kinds.children)
			button.setAttribute('aria-pressed', String(!state.callersOf && button.dataset.kind === state.flame));
		this.width = this.scroller.clientWidth;
		this.canvas.setAttribute('aria-label', `Flame graph of ${engine.samples} samples; the call tree has the same as a table`);
		const context = fitCanvas(this.canvas, this.width, this.height);
		context.font = '12px system-ui, sans-serif';
		context.textBaseline = 'middle';
		this.paint(context, nodes);
		this.drawLegend();
		if (this.zoomed !== NONE && this.shownZoom !== state.zoom)
			this.scroller.scrollTop = Math.max(0, Math.min(this.scroller.scrollTop, nodes.depth[this.zoomed] * FLAME_ROW));
		this.shownZoom = state.zoom;
	}

	get height() {
		return Math.max(this.rows * FLAME_ROW, 60);
	}

	// Returns a file with what is seen.
	file() {
		const svg = new SvgContext(this.canvas.getContext('2d'));
		this.paint(svg, this.tree);
		return svg.file('flame graph', this.width, this.height);
	}

	paint(context, nodes) {
		const {engine, state} = this.app;
		this.seen = new Set();
		this.colors = new Map();
		this.painted = [];
		this.foundColor = themeColor('found');
		this.faintColor = themeColor('faint');
		const word = state.callersOf ? `${state.flame} of ${state.callersOf}` : 'all';
		this.box(context, 0, 0, this.width, themeColor('line'), `${word}`, {});
		const [from, size] = this.span, scale = this.width / size;
		this.chain = new Set();
		for (let at = this.zoomed; at !== NONE; at = nodes.parent[at])
			this.chain.add(at);
		this.drawList(context, nodes.root, from, scale);
		if (!this.all || nodes.root === NONE) {
			context.fillStyle = themeColor('faint');
			context.fillText(engine.weight ? 'Nothing is heavy enough to be shown here.' : 'No sample is selected.', 8, FLAME_ROW * 2);
		}
	}

	drawList(context, first, from, scale) {
		const nodes = this.nodes, stack = [first];
		while (stack.length) {
			for (let at = stack.pop(); at !== NONE; at = nodes.next[at]) {
				const isAbove = this.chain.has(at) && at !== this.zoomed;
				const left = isAbove ? 0 : (this.lefts[at] - from) * scale;
				const width = isAbove ? this.width : nodes.total[at] * scale;
				if (left > this.width || left + width < 0 || width < PIXELS_MIN)
					continue;
				this.drawNode(context, at, left, width, isAbove);
				if (nodes.child[at] !== NONE)
					stack.push(nodes.child[at]);
			}
		}
	}

	drawNode(context, at, left, width, isAbove) {
		const {engine, marks} = this.app, nodes = this.nodes, depth = nodes.depth[at], top = (depth + 1) * FLAME_ROW;
		const isFound = marks && marks[nodes.key[at]];
		// Draw one of those narrower than a pixel in each pixel.
		if (width < 1 && !isFound) {
			const pixel = Math.floor(left);
			if (this.painted[depth] === pixel)
				return;
			this.painted[depth] = pixel;
			context.fillStyle = this.colorOf(at, null);
			context.fillRect(left, top, width, FLAME_ROW - 1);
			return;
		}
		const key = width >= 3 ? engine.key(BY.function, nodes.key[at]) : null;
		const begin = Math.max(0, left), end = Math.min(this.width, left + width);
		context.globalAlpha = isAbove ? 0.6 : 1;
		this.box(context, begin, top, end - begin, isFound ? this.foundColor : this.colorOf(at, key), key ? this.nameOf(at, key) : '',
			width > 8 ? engine.look(nodes.stack[at]) : {}, at === this.selected);
		context.globalAlpha = 1;
	}

	// A mark beside the colour.
	nameOf(at, key) {
		const {engine, comparison} = this.app;
		return (comparison ? changeMark(comparison.change(engine, this.nodes.by, this.nodes.key[at])) : '') + functionName(key);
	}

	// The colour of a node, kept by what it follows from.
	colorOf(at, key) {
		const {engine, comparison} = this.app;
		if (comparison)
			return changeColor(comparison.change(engine, this.nodes.by, this.nodes.key[at]));
		const marks = engine.marksOf(this.nodes.stack[at]), category = marks & 0xff;
		const name = (key ? this.nodes.key[at] + 1 : 0) * 0x800 + marks;
		let color = this.colors.get(name);
		if (!color) {
			color = categoryColor(engine.categories[category]?.color, key ? key.function : '', (marks & 0x400) !== 0);
			this.colors.set(name, color);
			this.seen.add(category);
		}
		return color;
	}

	box(context, left, top, width, color, text, how, isSelected = false) {
		const gap = width > 3 ? 0.75 : 0;
		context.fillStyle = color;
		context.fillRect(left, top, width - gap, FLAME_ROW - 1);
		if (width > 8 && (how.isGuessed || how.isUnnamed)) {
			// Dashes mark nodes that have no name, or may be wrong.
			context.strokeStyle = this.faintColor;
			context.setLineDash(how.isGuessed ? [2, 3] : [6, 3]);
			context.strokeRect(left + 0.5, top + 0.5, width - gap - 1, FLAME_ROW - 2);
			context.setLineDash([]);
		}
		if (isSelected) {
			context.strokeStyle = themeColor('text');
			context.lineWidth = 2;
			context.strokeRect(left + 1, top + 1, Math.max(1, width - gap - 2), FLAME_ROW - 3);
			context.lineWidth = 1;
		}
		if (width > TEXT_MIN && text) {
			context.fillStyle = textOn(color);
			context.fillText(fitText(context, text, width - 8), left + 4, top + FLAME_ROW / 2);
		}
	}

	drawLegend() {
		const {engine, comparison} = this.app;
		if (comparison) {
			this.legend.replaceChildren(...[[1, 'takes more in B'], [-1, 'takes less in B'], [0, 'not shown to differ']].map(([change, text]) => {
				const square = make('i', {class: 'square'});
				square.style.background = changeColor(change);
				return make('span', {class: 'key'}, square, changeMark(change), text);
			}), make('span', {class: 'hint'}, 'width: mean of both shares'));
			return;
		}
		this.legend.replaceChildren(...[...this.seen].sort((a, b) => a - b).map((category) => {
			const row = engine.categories[category], square = make('i', {class: 'square'});
			square.style.background = categoryColor(row?.color);
			return make('button', {type: 'button', class: 'key', title: 'Only this category',
				click: () => this.app.change({category: this.app.state.category ? null : row.name})}, square, row?.name ?? '');
		}), make('span', {class: 'hint'}, this.nodes.isCut ? 'cut off below 256 frames, or where there are too many' : ''));
	}

	nodeAt(event) {
		const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left;
		const depth = Math.floor((event.clientY - box.top) / FLAME_ROW) - 1, [from, size] = this.span, nodes = this.nodes;
		if (depth < 0)
			return NONE;
		const weight = from + x / this.width * size;
		let at = nodes.root;
		for (let level = 0; at !== NONE; level++) {
			while (at !== NONE && !(weight >= this.lefts[at] && weight < this.lefts[at] + nodes.total[at]))
				at = nodes.next[at];
			if (at === NONE || level === depth)
				return at;
			at = nodes.child[at];
		}
		return NONE;
	}

	hover(event) {
		const at = this.nodeAt(event);
		this.canvas.style.cursor = at === NONE ? 'default' : 'pointer';
		if (at !== NONE)
			this.app.tip.show(event, this.words(at));
		else
			this.leave();
	}

	// Returns the text of the tooltip.
	words(at) {
		const {app, nodes} = this, {engine} = app, key = engine.key(BY.function, nodes.key[at]), how = engine.look(nodes.stack[at]);
		const share = (weight) => `${engine.amount(weight)}, ${percent(weight, engine.weight)}`;
		if (nodes.shares)
			return [functionName(key), nodes.shares[at].map((part, side) => `${'AB'[side]} ${(100 * part).toFixed(1)} %`).join(', '), key.module];
		return [functionName(key), `total ${share(nodes.total[at])}`, `self ${share(nodes.self[at])}`, this.zoomed !== NONE && `${percent(nodes.total[at], nodes.total[this.zoomed])} of what is seen`,
			[engine.categories[how.category]?.name, how.isInlined && 'inlined', how.isGuessed && 'guessed', how.isUnnamed && 'without a name'].filter(Boolean).join(', '), [key.module, place(key)].filter(Boolean).join(' · ')];
	}

	leave() {
		this.app.tip.hide();
		if (this.selected !== NONE)
			this.app.describe(this.nodes, this.selected);
	}

	click(event) {
		const at = this.nodeAt(event);
		if (event.altKey && at !== NONE) {
			this.select(at);
			this.app.drop();
			return;
		}
		this.select(at);
		this.zoomTo(at);
	}

	zoomTo(at) {
		if (at === this.zoomed)
			this.draw();
		else
			this.app.change({zoom: this.wayTo(at)}, {isView: true});
	}

	select(at) {
		this.selected = at;
		if (at === NONE) {
			this.app.choose(null);
			return;
		}
		this.app.choose({by: BY.function, key: this.nodes.key[at], stack: this.nodes.stack[at]});
		this.app.describe(this.nodes, at);
	}

	// True: Escape did something here.
	back() {
		if (this.zoomed === NONE)
			return false;
		this.zoomTo(this.nodes.parent[this.zoomed]);
		return true;
	}

	key(event) {
		const nodes = this.nodes, at = this.selected;
		const before = (of) => {
			let sibling = nodes.parent[of] === NONE ? nodes.root : nodes.child[nodes.parent[of]];
			while (sibling !== NONE && nodes.next[sibling] !== of)
				sibling = nodes.next[sibling];
			return sibling;
		};
		const next = {
			ArrowDown: () => at === NONE ? nodes.root : nodes.child[at], ArrowUp: () => at === NONE ? NONE : nodes.parent[at],
			ArrowRight: () => at === NONE ? nodes.root : nodes.next[at], ArrowLeft: () => at === NONE ? NONE : before(at),
			Home: () => nodes.root,
		}[LETTERS[event.key] ?? event.key];
		if (event.key === 'Enter' && at !== NONE)
			this.zoomTo(this.zoomed === at ? NONE : at);
		else if (!next || event.ctrlKey || event.altKey)
			return;
		else
			this.step(next());
		event.preventDefault();
		event.stopPropagation();
	}

	step(to) {
		if (to === NONE)
			return;
		this.select(to);
		const [from, size] = this.span;
		if (this.lefts[to] < from || this.lefts[to] + this.nodes.total[to] > from + size * 1.0001)
			this.app.keep({zoom: ''});
		this.draw();
		const top = (this.nodes.depth[to] + 1) * FLAME_ROW, {scrollTop, clientHeight} = this.scroller;
		if (top - FLAME_ROW < scrollTop || top + FLAME_ROW > scrollTop + clientHeight)
			this.scroller.scrollTop = top - clientHeight / 2;
	}

	// Selects the node of a stack.
	reveal(frames) {
		const nodes = this.tree, {flame, callersOf} = this.app.state;
		const at = callersOf ? NONE : nodeOf(nodes, flame === 'plain' ? [...frames].reverse() : frames);
		if (at !== NONE)
			this.step(at);
	}

	// The next node whose name was searched for.
	nextFound(step) {
		const {marks} = this.app, nodes = this.nodes;
		for (let i = 1; marks && i <= nodes.count; i++) {
			const at = ((this.selected === NONE ? -1 : this.selected) + step * i + 2 * nodes.count) % nodes.count;
			if (this.isDrawn[at] && marks[nodes.key[at]]) {
				this.step(at);
				return;
			}
		}
	}
}
