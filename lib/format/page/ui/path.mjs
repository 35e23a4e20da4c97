// SPDX-License-Identifier: MIT
// The critical path of a command: its threads in order of time, and the predicted effects of
// changes. The event of that name shows the functions on it.
import {make, percent, seconds, shortSeconds} from './dom.mjs';
import {Grid} from './grid.mjs';

export const PATH_EVENT = 'critical path', PATH_MARKER = 'Critical path';

// Steps of everything, whatever is selected: the engine must have selected that.
export function readPath(engine) {
	const columns = engine.markerColumns(), steps = [], forecasts = [];
	for (let i = 0; i < columns.count; i++) {
		const name = columns.names.get(columns.name[i]);
		if (name === PATH_MARKER) {
			const fields = engine.marker(i).fields, does = /^[^:]*: ([^,]*)/.exec(fields)?.[1] ?? '', end = columns.start[i] + columns.duration[i];
			// Steps of one kind in a row are joined, with what other threads and kinds have in between.
			const time = Math.min(Number(/Time on the path: (\S+) ms/.exec(fields)?.[1] ?? Infinity) * 1e6, columns.duration[i]);
			steps.push({thread: columns.thread[i], start: columns.start[i], end, time, does, fields, runs: does === 'running'});
		} else if (name === 'Forecast') {
			forecasts.push(forecastText(engine.marker(i).fields));
		}
	}
	return {steps, forecasts, turns: turnsOf(steps)};
}

// A forecast as a sentence; other fields than those known stay as they are.
export function forecastText(fields) {
	const [, change, time, unchanged, path] = /^If: (.*), Time of the command, alone on the machine: (\S+) ms, Unchanged: (\S+) ms(?:, If the path alone got shorter: (\S+) ms)?$/.exec(fields) ?? [];
	return time === undefined ? fields : `If ${change}: alone on the machine, the command takes ${shortSeconds(time * 1e6)} instead of ${shortSeconds(unchanged * 1e6)}${path === undefined ? '' : `; ${shortSeconds(path * 1e6)} if only the path gets shorter`}`;
}

// Steps in a row of one thread, with the time of each thing that it did.
export function turnsOf(steps) {
	const turns = [];
	for (const {thread, start, end, time, does} of steps) {
		let turn = turns.at(-1);
		if (turn?.thread !== thread)
			turns.push(turn = {thread, start, end, time: 0, times: new Map()});
		turn.end = Math.max(turn.end, end);
		turn.time += time;
		turn.times.set(does, (turn.times.get(does) ?? 0) + time);
	}
	for (const turn of turns)
		turn.text = [...turn.times].sort((a, b) => b[1] - a[1]).map(([does, time]) => `${does} ${seconds(time)}`).join(', ');
	return turns;
}

export class PathView {
	constructor(app) {
		this.app = app;
		const {engine, path} = app;
		this.grid = new Grid('Critical path', [
			{title: 'Start', width: '7em', isNumber: true, fill: (cell, step) => cell.append(seconds(step.start))},
			{title: 'On the path', width: '8em', isNumber: true, fill: (cell, step) => cell.append(seconds(step.time))},
			{title: 'Share', width: '5em', isNumber: true, fill: (cell, step) => cell.append(percent(step.time, this.all))},
			{title: 'Thread', width: 'minmax(8em, 1fr)', fill: (cell, step) => cell.append(engine.threads[step.thread].whole)},
			{title: 'The thread', width: 'minmax(8em, 2fr)', fill: (cell, step) => cell.append(step.text)},
		], {
			choose: (step) => app.say(`${engine.threads[step.thread].whole} · ${seconds(step.start)} to ${seconds(step.end)} · ${step.text}`),
			enter: (step) => step && app.change({threads: new Set([step.thread]), from: Math.floor(step.start), until: Math.ceil(step.end)}),
		});
		this.all = path.turns.reduce((sum, step) => sum + step.time, 0);
		this.element = make('section', {id: 'path'}, make('div', {class: 'bar'},
			make('button', {type: 'button', click: () => app.change({event: PATH_EVENT, includeIdle: true, view: 'flame'})}, 'functions on it'),
			make('span', {class: 'hint'}, 'what made the command take so long; Enter selects the thread and time of a row')),
		path.forecasts.length ? make('ul', {class: 'forecasts'}, ...path.forecasts.map((text) => make('li', {}, text))) : '', this.grid.element);
	}

	// The steps that are in the selected time and threads.
	draw() {
		const {state, path} = this.app, rows = path.turns.filter((step) => step.end > state.from && step.start < state.until && (!state.threads || state.threads.has(step.thread)));
		this.grid.show({count: rows.length, row: (i) => rows[i], none: 'The critical path is not in the selected time and threads.'}, {at: this.grid.at, top: this.grid.element.scrollTop});
	}

	text() {
		const {engine, path} = this.app;
		return ['start\tend\ttid\tdoes', ...path.turns.map((step) => [step.start / 1e9, step.end / 1e9, engine.threads[step.thread].tid, step.text].join('\t'))].join('\n');
	}
}
