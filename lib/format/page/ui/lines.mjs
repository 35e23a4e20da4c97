// SPDX-License-Identifier: MIT
// Lines with their weights, and the source beside them if the profile has it.
import {BY} from './engine.mjs';
import {make} from './dom.mjs';
import {Source} from './source.mjs';
import {TableView} from './tables.mjs';

export class LinesView extends TableView {
	constructor(app) {
		super(app, BY.line);
		this.title = make('div', {class: 'bar'});
		this.source = new Source(app);
		this.element.replaceChildren(this.title, make('div', {class: 'beside'}, this.grid.element, this.source.element));
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
		const {state} = this.app, {row} = this.grid;
		this.title.replaceChildren(state.lines ? make('span', {}, `Lines of ${state.lines.slice(0, 200)} `) : make('span', {}, 'Lines of all functions '),
			...(state.lines ? [make('button', {type: 'button', click: () => this.app.change({lines: null}, {isView: true})}, 'all functions')] : []));
		this.source.show(row === null ? null : this.keyOf(row));
	}

	describe(i) {
		super.describe(i);
		this.source.show(this.keyOf(i));
	}

	keyOf(i) {
		return this.app.engine.key(BY.line, this.rows.key[i]);
	}
}
