// SPDX-License-Identifier: MIT
// The instructions of a function with their weights, from the file or the server of prof view.
import {make, safeText} from './dom.mjs';
import {codeLine} from './source.mjs';
import {askAssembly} from './server.mjs';

const INSTRUCTIONS_MAX = 20000;

export class AssemblyView {
	constructor(app) {
		this.app = app;
		this.title = make('div', {class: 'bar'});
		this.code = make('div', {class: 'source', tabindex: 0, role: 'region', 'aria-label': 'Instructions'});
		this.element = make('section', {id: 'assembly', 'aria-label': 'Assembly'}, this.title, this.code);
	}

	say(text) {
		this.code.replaceChildren(make('p', {class: 'none'}, text));
	}

	draw() {
		const {state, version} = this.app, name = state.lines ?? this.app.chosenRaw ?? this.app.heaviest;
		this.title.textContent = name ? `Assembly of ${name.slice(0, 200)}` : 'Assembly';
		if (!name)
			this.say('No sample is selected.');
		else
			this.show(name, version);
	}

	// Builds of a program, and callers that a function is inlined into, each have code of their own.
	show(name, version) {
		const wanted = `${version} ${name}`;
		if (this.wanted !== wanted)
			Object.assign(this, {wanted, found: this.app.engine.codeFunctions(name), at: 0, shown: null});
		const {found, at} = this;
		if (!found.length) {
			this.say('No sample says where its instructions are.');
			return;
		}
		if (found.length > 1)
			this.title.append(make('span', {class: 'kinds', role: 'group', 'aria-label': 'Functions'}, ...found.map((row, i) =>
				make('button', {type: 'button', 'aria-pressed': String(i === at), click: () => { this.at = i; this.draw(); }}, safeText(`${row.name} in ${row.module} ${row.buildId.slice(0, 8)}`)))));
		else if (found[0].name !== name)
			this.title.append(` inlined into ${found[0].name.slice(0, 200)}`);
		this.ask(found[at]);
	}

	ask(row) {
		const answer = askAssembly({lib: row.module, buildId: row.buildId, startAddress: row.start, size: row.size}, () => this.app.draw());
		if (!answer)
			this.say('Looking for them …');
		else if (answer.error || !Array.isArray(answer.instructions))
			this.say(String(answer.error ?? 'There is no answer.'));
		else if (this.shown !== row)
			this.list(row, answer.instructions.slice(0, INSTRUCTIONS_MAX));
		if (answer)
			this.shown = row;
	}

	// Counts places within an instruction for it, as calls that have not returned.
	weights({start, size, places}, instructions) {
		const first = Number(start), ends = instructions.map((row, i) => first + (instructions[i + 1]?.[0] ?? Number(size)));
		let next = 0;
		return ends.map((end) => {
			const sum = {self: 0, total: 0};
			for (; next < places.length && places[next].address < end; next++) {
				sum.self += places[next].self;
				sum.total += places[next].total;
			}
			return sum;
		});
	}

	list(row, instructions) {
		const {engine} = this.app, sums = this.weights(row, instructions), heaviest = sums.reduce((most, {self}) => Math.max(most, self), 1);
		const lines = instructions.map(([offset, text], i) => codeLine(engine, sums[i].total ? sums[i] : null, heaviest, offset.toString(16), [String(text)]));
		this.code.replaceChildren(make('div', {class: 'line file', 'aria-hidden': 'true'}, ...['Self', 'Total', 'Amount', 'Offset'].map((head) => make('span', {class: 'number'}, head)),
			make('span', {}, 'Instruction')), ...lines);
		lines[sums.findIndex(({self}) => self === heaviest)]?.scrollIntoView({block: 'center'});
	}

	text() {
		return this.code.innerText;
	}
}
