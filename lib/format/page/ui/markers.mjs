// SPDX-License-Identifier: MIT
// Markers of the selected time and threads.
import {make, seconds} from './dom.mjs';
import {Grid} from './grid.mjs';

export class MarkersView {
	constructor(app) {
		this.app = app;
		this.grid = new Grid('Markers', [
			{title: 'Start', width: '7em', isNumber: true, fill: (cell, row) => cell.append(seconds(row.start))},
			{title: 'Duration', width: '7em', isNumber: true, fill: (cell, row) => cell.append(row.duration ? seconds(row.duration) : '')},
			{title: 'Marker', width: 'minmax(7em, 1fr)', fill: (cell, row) => cell.append(row.name)},
			{title: 'Thread', width: 'minmax(6em, 1fr)', fill: (cell, row) => cell.append(row.thread.whole)},
			{title: 'Fields', width: 'minmax(8em, 3fr)', fill: (cell, row) => { cell.append(row.fields.slice(0, 500)); cell.title = row.fields; }},
		], {
			choose: (row) => app.say(`${row.name} · ${seconds(row.start)} · ${row.fields}`),
			// Selects the marker's time.
			enter: (row) => row && row.duration && app.change({from: Math.floor(row.start), until: Math.ceil(row.start + row.duration)}),
		});
		this.filter = make('input', {type: 'search', placeholder: 'only markers with this text', 'aria-label': 'Only markers with this text',
			input: () => this.app.change({marker: this.filter.value}, {isView: true})});
		this.element = make('section', {id: 'markers'}, make('div', {class: 'bar'}, this.filter), this.grid.element);
	}

	draw() {
		const {engine, state} = this.app, all = engine.markers(), wanted = state.marker.toLowerCase();
		if (document.activeElement !== this.filter)
			this.filter.value = state.marker;
		let list = null;
		if (wanted) {
			list = [];
			for (let i = 0; i < all; i++) {
				const row = engine.marker(i);
				if (row.name.toLowerCase().includes(wanted) || row.fields.toLowerCase().includes(wanted))
					list.push(i);
			}
		}
		this.grid.show({count: list ? list.length : all, row: (i) => engine.marker(list ? list[i] : i), none: 'No marker is in the selected time and threads.'});
	}

	text() {
		const lines = ['start\tduration\tmarker\ttid\tfields'];
		for (let i = 0; i < this.grid.source.count; i++) {
			const row = this.grid.source.row(i);
			lines.push([row.start / 1e9, row.duration / 1e9, row.name, row.thread.tid, row.fields].join('\t'));
		}
		return lines.join('\n');
	}
}
