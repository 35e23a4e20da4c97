// SPDX-License-Identifier: MIT
// The instructions of a function with their weights, from the server of prof view.
import {BY} from './engine.mjs';
import {make, percent} from './dom.mjs';
import {askServer, hasServer} from './server.mjs';

const INSTRUCTIONS_MAX = 20000;

export class AssemblyView {
	constructor(app) {
		this.app = app;
		this.title = make('div', {class: 'bar'});
		this.code = make('div', {class: 'source', tabindex: 0, role: 'region', 'aria-label': 'Instructions'});
		this.element = make('section', {id: 'assembly', 'aria-label': 'Assembly'}, this.title, this.code);
	}

	// Addresses of the function that have samples, by number, and the heaviest.
	find(name) {
		const {engine} = this.app, rows = engine.table(BY.address), found = [];
		for (let i = 0; i < rows.count; i++) {
			if (engine.rawFunction(BY.address, rows.key[i]) === name) {
				const key = engine.key(BY.address, rows.key[i]);
				found.push({module: key.module, address: key.address, self: rows.self[i], total: rows.total[i]});
			}
		}
		return found;
	}

	say(text) {
		this.code.replaceChildren(make('p', {class: 'none'}, text));
	}

	draw() {
		const {state} = this.app, name = state.lines ?? this.app.chosenRaw;
		this.title.textContent = name ? `Assembly of ${name.slice(0, 200)}` : 'Assembly';
		if (!hasServer())
			this.say('Instructions are not in the file: prof view shows them with it, and prof report --annotate NAME --asm.');
		else if (!name)
			this.say('Choose a function in another view first.');
		else
			this.ask(this.find(name));
	}

	ask(found) {
		const [first] = found.filter(({module}) => module);
		if (!first) {
			this.say('No sample says where its instructions are.');
			return;
		}
		const answer = askServer('asm/v1', {lib: first.module, within: `0x${first.address.toString(16)}`}, () => this.app.draw());
		if (!answer)
			this.say('Asking prof view …');
		else if (answer.error || !Array.isArray(answer.instructions))
			this.say(String(answer.error ?? 'There is no answer.'));
		else
			this.list(answer, new Map(found.filter(({module}) => module === first.module).map((row) => [row.address, row])));
	}

	list({startAddress, instructions}, weights) {
		const {engine} = this.app, start = BigInt(startAddress), heaviest = Math.max(1, ...[...weights.values()].map(({self}) => self));
		let hottest = null;
		const lines = instructions.slice(0, INSTRUCTIONS_MAX).map(([offset, text]) => {
			const sum = weights.get(start + BigInt(offset)), heat = make('i', {class: 'heat', 'aria-hidden': 'true'});
			heat.style.opacity = sum ? String(0.08 + 0.6 * sum.self / heaviest) : '0';
			const line = make('div', {class: 'line'}, heat, make('span', {class: 'number'}, sum?.self ? percent(sum.self, engine.weight) : ''),
				make('span', {class: 'number'}, sum && sum.total > sum.self ? percent(sum.total, engine.weight) : ''),
				make('span', {class: 'number'}, offset.toString(16)), make('code', {}, String(text)));
			if (sum?.self === heaviest)
				hottest ??= line;
			return line;
		});
		this.code.replaceChildren(...lines);
		hottest?.scrollIntoView({block: 'center'});
	}

	text() {
		return this.code.innerText;
	}
}
