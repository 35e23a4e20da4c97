// SPDX-License-Identifier: MIT
// Lines with their weights, and the source beside them if the profile has it.
import {BY} from './engine.mjs';
import {baseName, make, percent} from './dom.mjs';
import {askSource, hasServer} from './server.mjs';
import {TableView} from './tables.mjs';

// More lines would be slow to lay out; the heavy ones are in the middle.
const SHOWN_MAX = 4000;

// A line of code with its weights, and heat behind it. sum: null if it has none.
export function codeLine(engine, sum, heaviest, number, text) {
	const heat = make('i', {class: 'heat', 'aria-hidden': 'true'}), share = (weight) => percent(weight, engine.weight);
	heat.style.opacity = sum?.self ? String(0.08 + 0.6 * sum.self / heaviest) : '0';
	return make('div', {class: sum?.self ? 'line hot' : 'line'}, heat, make('span', {class: 'number'}, sum ? share(sum.self) : ''),
		make('span', {class: 'number'}, sum ? share(sum.total) : ''), make('span', {class: 'number'}, sum?.self ? engine.amount(sum.self) : ''), make('span', {class: 'number'}, number), make('code', {}, text || ' '));
}

export class LinesView extends TableView {
	constructor(app) {
		super(app, BY.line);
		this.title = make('div', {class: 'bar'});
		this.source = make('div', {class: 'source', tabindex: 0, role: 'region', 'aria-label': 'Source'});
		this.element.replaceChildren(this.title, make('div', {class: 'beside'}, this.grid.element, this.source));
	}

	kindOf() {
		return BY.line;
	}

	isShown(i) {
		const {state, engine} = this.app;
		return !state.lines || engine.rawFunction(BY.line, this.rows.key[i]) === state.lines;
	}

	draw() {
		super.draw();
		const {state} = this.app;
		this.title.replaceChildren(state.lines ? make('span', {}, `Lines of ${state.lines.slice(0, 200)} `) : make('span', {}, 'Lines of all functions '),
			...(state.lines ? [make('button', {type: 'button', click: () => this.app.change({lines: null}, {isView: true})}, 'all functions')] : []));
		const row = this.grid.row;
		if (row !== null && row !== undefined)
			this.showSource(row);
		else
			this.source.replaceChildren();
	}

	describe(i) {
		super.describe(i);
		this.showSource(i);
	}

	showSource(i) {
		const {engine} = this.app, {rows} = this, key = engine.key(BY.line, rows.key[i]);
		let text = key.file ? engine.source(key.file) : null, why = key.file
			? `The profile does not have the text of ${key.file} (prof record --sources keeps it).` : 'No source file is known.';
		if (key.file && text === null && hasServer()) {
			const answer = askSource({lib: key.module ?? '', file: key.file}, () => this.app.draw());
			text = answer?.source ?? null;
			why = answer ? String(answer.error) : 'Asking prof view …';
		}
		if (text === null) {
			this.source.replaceChildren(make('p', {class: 'none'}, why));
			this.shownFile = null;
			return;
		}
		if (this.shownFile !== key.file || this.shownVersion !== this.app.version)
			this.listSource(key.file, text);
		this.source.querySelector('.at')?.classList.remove('at');
		const line = this.source.querySelector(`[data-line="${key.line}"]`);
		line?.classList.add('at');
		line?.scrollIntoView({block: 'center'});
	}

	listSource(file, text) {
		const {engine} = this.app, {rows} = this, weights = new Map();
		for (let i = 0; i < rows.count; i++) {
			const key = engine.key(BY.line, rows.key[i]);
			if (key.file === file && key.line) {
				const sum = weights.get(key.line) ?? {self: 0, total: 0};
				weights.set(key.line, {self: sum.self + rows.self[i], total: sum.total + rows.total[i]});
			}
		}
		const heaviest = Math.max(1, ...[...weights.values()].map((sum) => sum.self)), lines = text.split('\n');
		const first = lines.length > SHOWN_MAX ? Math.max(0, Math.min(...weights.keys()) - 100) : 0;
		const list = lines.slice(first, first + SHOWN_MAX).map((line, k) => {
			const row = codeLine(engine, weights.get(first + k + 1), heaviest, String(first + k + 1), line);
			row.dataset.line = first + k + 1;
			return row;
		});
		this.source.replaceChildren(make('div', {class: 'file', title: file}, baseName(file)), ...list);
		this.shownFile = file;
		this.shownVersion = this.app.version;
	}
}
